"""What mail processes ask of their node, besides LOCK, SAVE and UNLOCK (saving.py).

Not here: connections, and what other nodes ask (node.py).

STORE and EXPUNGE need no mastership. COPY gives out UIDs, and STORE unchangedsince compares modseqs that nobody may
change meanwhile, so both are tasks under it. A transaction is one task in all its mailboxes, and its ops are one
transaction everywhere. One STORE, EXPUNGE or COPY is an op for each portion of its messages, and each of these comes by
itself, as all of them could be too much to come whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, final

from pyrepl.mailbox.acks import WHY_ALONE
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.bounds import WHY_MANY_KEYWORDS, has_room
from pyrepl.mailbox.boxes import is_visible, view
from pyrepl.mailbox.causal import tx_cost
from pyrepl.mailbox.checks import Checks
from pyrepl.mailbox.codec import UNTAGGED, encode
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.excluded import EVERYTHING, WHY, Excluded
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.maildir.layout import Layout
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.modseqs import MOST_MODSEQ
from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.saving import Saving
from pyrepl.mailbox.sayable import why_unsayable
from pyrepl.mailbox.uids import WHY_NO_UID
from pyrepl.mailbox.verbs import (
    Check,
    Command,
    Copy,
    Create,
    Delete,
    Expunge,
    Fetch,
    Lock,
    Op,
    Ping,
    Rename,
    Save,
    Store,
    Subscribe,
    TxBegin,
    TxEnd,
    Unlock,
    Unsubscribe,
)
from pyrepl.mailbox.words import WHY_HIDDEN, Box, Stamp, Token, Uids, count, is_among, is_hidden, ranges, walk

MOST_IN_TX: Final = 1000
"""Commands of one transaction."""
MOST_BYTES_IN_TX: Final = 1024 * 1024
"""Of their lines."""
MOST_OPEN_TX: Final = 10
"""Transactions of one mail process that are not ended."""
_TOO_MANY_OPEN: Final = f"{MOST_OPEN_TX} transactions of this connection are open, which is as many as may be"
_NOT_OPEN: Final = f"TX-BEGIN is missing, or {MOST_OPEN_TX} transactions were open"
_IS_LEFT: Final = "a message of this GUID was here before a crash, and comes again from another node"
_IS_THERE: Final = "a mailbox has a message once: copy or move it to another mailbox"
MOST_LOOKED_UP: Final = 100
"""UIDs that are looked up one by one; where more are named, the whole mailbox is read."""


class _Tx:
    """An open transaction."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.size_bytes = 0
        self.refused = ""
        """Why it cannot be done: a part of it was refused."""


@final
class MailSide:
    """All mail processes of this node."""

    def __init__(
        self,
        core: Core,
        mastering: Mastering,
        saving: Saving,
        checks: Checks,
        unix_s: float,
        why_no_user: Callable[[str], str],
        excluded: Excluded = EVERYTHING,
        layout: Layout | None = None,
    ) -> None:
        """`unix_s`: Unix time when `now` was 0, for UIDVALIDITY. `why_no_user`: why the store can have no mailbox of a
        user, "" if it can. `excluded`: `mailbox-exclude`. `layout`: of the store; None if it can store any name."""
        self._why_no_user: Final = why_no_user
        self._excluded: Final = excluded
        self._layout: Final = layout
        self.core: Final = core
        self.mastering: Final = mastering
        self.saving: Final = saving
        self.checks: Final = checks
        self._unix_s: Final = unix_s
        self._open: Final[dict[tuple[str, str], _Tx]] = {}
        """(client, tx) -> what it holds so far."""
        self._flags: frozenset[str] = frozenset()
        """That the STOREs name which are done: each message of one has to have room for all."""
        self._stamped = 0
        """How many stamps the transaction has that is done."""

    def hear(self, client: str, tag: str, command: Command, text: str, now: float) -> None:
        """A command of a mail process; `text` names its text in the drop folder."""
        if tag != UNTAGGED and self.saving.acks.must_refuse and _changes(command):
            self.core.let_go(text)
            self.core.reply(client, tag, No(reason=Reason.APART, why=WHY_ALONE))
            return
        if isinstance(command, TxBegin):
            self._begin_tx(client, tag, command.tx)
        elif isinstance(command, TxEnd):
            self._end_tx(client, tag, command, now)
        elif isinstance(command, Fetch):
            self._fetch(client, tag, command)
        elif isinstance(command, Check):
            self.checks.ask(client, tag, command.user, now)
        elif isinstance(command, Ping):
            self.core.reply(client, tag, Ok())
        elif isinstance(command, Op) and command.tx:
            self._collect(client, tag, command)
            self.core.let_go(text)
        elif isinstance(command, Create):
            self._create(client, tag, command, now)
        elif isinstance(command, Lock | Unlock | Op):
            self._on_box(client, tag, command, text, now)

    def client_gone(self, client: str, now: float) -> None:
        for key in [key for key in self._open if key[0] == client]:
            del self._open[key]
        self.checks.client_gone(client)
        self.saving.client_gone(client, now)

    def _on_box(self, client: str, tag: str, command: Lock | Unlock | Op, text: str, now: float) -> None:
        locked = None if isinstance(command, Lock) else self.saving.locked(client, command.user, command.box)
        box = locked or self.find(command.user, command.box)
        if box is None:
            self.core.reply(client, tag, No(reason=Reason.NOBOX))
            self.core.let_go(text)
        elif isinstance(command, Lock):
            self.saving.lock(client, tag, box, command, now)
        elif isinstance(command, Unlock):
            self.saving.unlock(client, box.guid, now)
            self.core.reply(client, tag, Ok())
        elif isinstance(command, Save) and not text and self.core.rows.home(command.user, command.guid) is None:
            self.core.reply(client, tag, No(reason=Reason.NOUID, why="no mailbox of the user has this message"))
        elif isinstance(command, Save) and command.guid in self.core.merger.kept.get(box.guid, ()):
            # What a crash left in the store may be another mail of this GUID, and the store would keep that one.
            self.core.let_go(text)
            self.core.reply(client, tag, No(reason=Reason.BUSY, why=_IS_LEFT))
        elif isinstance(command, Save):
            self.saving.save(client, tag, box, command.replaced(box=by_guid(box)), text, now)
        else:
            self._run(client, tag, [command], now)

    def find(self, user: str, box: Box) -> BoxRow | None:
        """The mailbox that clients see under this name, or the visible one of this GUID."""
        rows = self.core.rows
        if box.is_guid:
            named = rows.box(box.text)
            return named if named is not None and named.user == user and is_visible(rows, named) else None
        found = (guid for guid, (name, _) in view(rows, user).items() if name == box.text)
        guid = next(found, None)
        return None if guid is None else rows.box(guid)

    def _fetch(self, client: str, tag: str, fetch: Fetch) -> None:
        home = self.core.rows.home(fetch.user, fetch.guid)
        if home is None:
            self.core.reply(client, tag, No(reason=Reason.NOUID))
            return
        answer = Ok(size=home.size, received=home.received, sum=home.sums)
        self.core.reply(client, tag, answer, (fetch.user, fetch.guid))

    # Transactions

    def _begin_tx(self, client: str, tag: str, name: str) -> None:
        """Whoever gives it no tag, and has too many open, is told so of each command."""
        self._open.pop((client, name), None)
        is_free = sum(key[0] == client for key in self._open) < MOST_OPEN_TX
        if is_free:
            self._open[client, name] = _Tx()
        self.core.reply(client, tag, Ok() if is_free else Bad(why=_TOO_MANY_OPEN))

    def _collect(self, client: str, tag: str, op: Op) -> None:
        tx = self._open.get((client, op.tx))
        if tx is None:
            self.core.reply(client, tag, Bad(why=_NOT_OPEN))
            return
        tx.size_bytes += len(encode(op))
        if isinstance(op, Save | Create) or len(tx.ops) >= MOST_IN_TX or tx.size_bytes > MOST_BYTES_IN_TX:
            # A part of it alone is not what was asked for.
            tx.ops.clear()
            tx.refused = f"a transaction has {MOST_IN_TX} commands, of a megabyte, at most, and no SAVE or CREATE"
        if tx.refused:
            self.core.reply(client, tag, Bad(why=tx.refused))
            return
        tx.ops.append(op)
        self.core.reply(client, tag, Ok())

    def _end_tx(self, client: str, tag: str, end: TxEnd, now: float) -> None:
        tx = self._open.pop((client, end.tx), None)
        if tx is None:
            self.core.reply(client, tag, Bad(why=_NOT_OPEN))
        elif tx.refused and not end.abort:
            self.core.reply(client, tag, Bad(why=tx.refused))
        elif end.abort or not tx.ops:
            self.core.reply(client, tag, Ok())
        else:
            self._run(client, tag, tx.ops, now)

    def _run(self, client: str, tag: str, commands: list[Op], now: float) -> None:
        """One command, or those of a transaction: at once, or as a task if it needs masterships."""
        needed: set[str] = set()
        for command in commands:
            target = self.find(command.user, command.to) if isinstance(command, Copy) else None
            if isinstance(command, Copy) and target is None:
                self.core.reply(client, tag, No(reason=Reason.NOBOX))
                return
            if target is not None:
                needed.add(target.guid)
            elif isinstance(command, Store) and command.unchangedsince is not None:
                box = self.find(command.user, command.box)
                needed |= {box.guid} if box is not None else set()

        def run(tokens: dict[str, Token], now: float) -> None:
            stores = (command for command in commands if isinstance(command, Store))
            self._flags = frozenset(flag for store in stores for flag in (*store.add, *store.remove))
            self._stamped = 0
            self._do(client, tag, commands, tokens, now)

        def fail(reason: Reason, now: float) -> None:
            self.core.reply(client, tag, No(reason=reason))

        if needed:
            self.saving.tasks.add(needed, run, fail, now, client)
        else:
            run({}, now)

    def _do(self, client: str, tag: str, commands: list[Op], tokens: dict[str, Token], now: float) -> None:
        ops: list[Op] = []
        next_uids: dict[str, int] = {}
        modified: list[int] = []
        # What was asked by one command about many messages need not come whole, and may be more than can.
        is_tx = bool(commands[0].tx) or not isinstance(commands[0], Store | Expunge | Copy)
        size = 0
        for command in commands:
            made = self._ops(command, tokens, next_uids, modified)
            size += tx_cost(made) if is_tx and not isinstance(made, No) else 0
            if size > self.core.journal.most_tx_bytes:
                made = No(reason=Reason.FAILED, why=self.core.journal.too_large(size))
            if isinstance(made, No):
                self.core.reply(client, tag, made)
                return
            ops += made
        why = next((why for op in ops if (why := why_unsayable(op)) is not None), None)
        if why is not None:
            self.core.reply(client, tag, No(reason=Reason.FAILED, why=why))
            return
        done = self.core.do(ops, tag=self.saving.acks.ask_tag(tag), is_tx=is_tx) if ops else []
        for guid, uidnext in next_uids.items():
            self.saving.order(guid).passed(uidnext - 1)
        if modified:
            self.core.reply(client, tag, No(reason=Reason.MODIFIED, uids=ranges(sorted(modified))))
        elif done:
            last = done[-1]
            answer = Ok(uids=_copied(ops), at=last.at, modseq=last.modseq)
            self.saving.acks.wait(client, tag, last.at, answer, now)
        else:
            self.core.reply(client, tag, Ok())

    def _ops(
        self, command: Op, tokens: dict[str, Token], next_uids: dict[str, int], modified: list[int]
    ) -> Sequence[Op] | No:
        """What a mail process asked, as nodes say it to each other."""
        box = self.find(command.user, command.box)
        if box is None:
            return No(reason=Reason.NOBOX)
        if isinstance(command, Store):
            return self._stores(box, command, modified)
        if isinstance(command, Expunge):
            return self._expunges(box, command)
        if isinstance(command, Copy):
            return self._copies(box, command, tokens, next_uids)
        return self._of_list(box, command)

    # Messages

    def _rows(self, box: BoxRow, uids: Uids, guids: tuple[str, ...] = ()) -> list[MessageRow]:
        """The messages that are named, by UID; an EXPUNGE that states GUIDs means these, whatever UID they have now."""
        rows = self.core.rows
        if not guids and count(uids) > MOST_LOOKED_UP:
            return [row for row in rows.messages(box.guid) if is_among(row.uid, uids)]
        found = [rows.message(box.guid, guid) for guid in guids]
        if not guids:
            found = [rows.message_at(box.guid, uid) for uid in walk(uids, MOST_LOOKED_UP)]
        return [row for row in found if row is not None]

    def _stores(self, box: BoxRow, store: Store, modified: list[int]) -> list[Op] | No:
        rows = self._rows(box, store.uids, store.guids)
        if store.unchangedsince is not None:
            modified += [row.uid for row in rows if row.modseq > store.unchangedsince]
            rows = [row for row in rows if row.modseq <= store.unchangedsince]
        if not all(has_room(row.flags, self._flags) for row in rows):
            return No(reason=Reason.FAILED, why=WHY_MANY_KEYWORDS)
        return [
            Store(
                user=box.user,
                box=by_guid(box),
                guids=tuple(row.guid for row in part),
                add=store.add,
                remove=store.remove,
            )
            for part in portions(rows)
        ]

    def _expunges(self, box: BoxRow, expunge: Expunge) -> list[Op]:
        return [
            Expunge(
                user=box.user,
                box=by_guid(box),
                guids=tuple(row.guid for row in part),
                kills=tuple(sorted({dot for row in part for dot in row.dots})),
            )
            for part in portions(self._rows(box, expunge.uids, expunge.guids))
        ]

    def _copies(self, box: BoxRow, copy: Copy, tokens: dict[str, Token], next_uids: dict[str, int]) -> list[Op] | No:
        target = self.find(copy.user, copy.to)
        if target is None or target.guid not in tokens:
            return No(reason=Reason.NOBOX)
        if target.guid == box.guid:
            # Nothing would be copied, and a move would remove what it names.
            return No(reason=Reason.FAILED, why=_IS_THERE)
        token = tokens[target.guid]
        ops: list[Op] = []
        named = self._rows(box, copy.uids, copy.guids)
        rows = [row for row in named if self.core.rows.message(target.guid, row.guid) is None]
        # In the order in which they stand there, as clients expect.
        for flags, alike in groupby(rows, MessageRow.set_flags):
            if not has_room((), flags):
                return No(reason=Reason.FAILED, why=WHY_MANY_KEYWORDS)
            for part in portions(list(alike)):
                uidnext = next_uids.get(target.guid, target.uidnext)
                uids = self.mastering.some_uids(target._replace(uidnext=uidnext), token, len(part))
                if len(uids) < len(part):
                    return No(reason=Reason.FAILED, why=WHY_NO_UID)
                next_uids[target.guid] = uids[-1] + 1
                ops.append(
                    Copy(
                        user=box.user,
                        box=by_guid(box),
                        to=by_guid(target),
                        touids=ranges(uids),
                        guids=tuple(row.guid for row in part),
                        flags=flags,
                        token=token,
                    )
                )
        return ops

    # The list of mailboxes

    def _create(self, client: str, tag: str, create: Create, now: float) -> None:
        is_known = bool(create.id) and self.core.rows.box(create.id) is not None
        if is_known or create.box.is_guid or self.find(create.user, create.box) is not None:
            self.core.reply(client, tag, No(reason=Reason.EXISTS))
            return
        why_no_user = WHY_HIDDEN if is_hidden(create.user) else self._why_no_user(create.user)
        why = why_no_user or self._why_denied(create.user, create.box.text)
        if why:
            self.core.reply(client, tag, No(reason=Reason.DENIED, why=why))
            return
        op = self.core.journal.creation(create.user, create.box.text, int(self._unix_s + now))
        own = {"id": create.id, "uidvalidity": create.uidvalidity}
        op = op.replaced(**{name: value for name, value in own.items() if value})
        [made] = self.core.do([op], tag=self.saving.acks.ask_tag(tag))
        self.saving.acks.wait(client, tag, made.at, Ok(at=made.at), now)

    def _of_list(self, box: BoxRow, command: Op) -> Sequence[Op] | No:
        if isinstance(command, Delete):
            known = self.core.journal.vector()
            return [Delete(user=box.user, box=by_guid(box), stamp=self._next_stamp(box.user), known=known)]
        if isinstance(command, Subscribe | Unsubscribe):
            return [type(command)(user=box.user, box=by_guid(box), stamp=self._next_stamp(box.user))]
        assert isinstance(command, Rename)
        if command.to.is_guid or self.find(box.user, command.to) is not None:
            return No(reason=Reason.EXISTS)
        renames = self._renames(box, command)
        why = next((why for each in renames if (why := self._why_denied(box.user, each.to.text))), "")
        return No(reason=Reason.DENIED, why=why) if why else renames

    def _next_stamp(self, user: str) -> Stamp:
        """Above those of the transaction's commands before, too, of which the rows know nothing yet."""
        stamp = self.core.journal.next_stamp(user)
        stamp = stamp._replace(modseq=min(stamp.modseq + self._stamped, MOST_MODSEQ))
        self._stamped += 1
        return stamp

    def _why_denied(self, user: str, name: str) -> str:
        """Why no mailbox gets this name by a mail process here; "" if one may. One that a node with another layout made
        is stored under another name (maildir.fitting); but who can be answered is not let into that."""
        if self._excluded.has(user, name):
            return WHY
        return (None if self._layout is None else self._layout.why_not(name)) or ""

    def _renames(self, box: BoxRow, rename: Rename) -> list[Rename]:
        """The mailbox and all below it, each as an op of its own."""
        stamp = self._next_stamp(box.user)
        names = view(self.core.rows, box.user)
        old = names[box.guid][0]
        moved = [(guid, name) for guid, (name, _) in names.items() if name == old or name.startswith(f"{old}/")]
        return [
            Rename(user=box.user, box=Box(guid, True), to=Box(rename.to.text + name.removeprefix(old)), stamp=stamp)
            for guid, name in sorted(moved, key=lambda pair: pair[1])
        ]


def _copied(ops: Sequence[Op]) -> Uids:
    """The UIDs in the mailbox that was copied to last."""
    copies = [op for op in ops if isinstance(op, Copy)]
    pairs = [pair for op in copies if op.to == copies[-1].to for pair in op.touids]
    return ranges(uid for first, last in pairs for uid in range(first, last + 1))


def _changes(command: Command) -> bool:
    """Is it one after which something is different? What a transaction holds is asked at its end."""
    return (isinstance(command, Op) and not command.tx) or (isinstance(command, TxEnd) and not command.abort)
