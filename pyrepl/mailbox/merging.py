"""What an op changes: the same on every node, in whatever order ops arrive that did not know of each other.

Not here: when an op is due (causal.py), how ops are made (journal_ops.py), and single rules: flags.py, modseqs.py,
boxes.py, uids.py.

| what | which stands |
|---|---|
| flags | per flag the higher stamp |
| modseqs | the highest that anybody gave |
| a message and its EXPUNGE | EXPUNGE, of the SAVEs that its origin knew |
| two UIDs for one message | the one given under the higher token, then the higher one |
| DELETE of a mailbox | of the messages that its origin knew; others keep the mailbox alive |

An op of our own is applied by the same code as everybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.mailbox.boxes import is_visible, view, works_between
from pyrepl.mailbox.clashes import are_mails, are_two
from pyrepl.mailbox.flags import changed, from_set, merged
from pyrepl.mailbox.modseqs import Crossed, Landing, land
from pyrepl.mailbox.refusals import MOST_IN_OP
from pyrepl.mailbox.rows import UNPLACED, BoxRow, GoneRow, MessageRow, Rows
from pyrepl.mailbox.store import AddMessage, MakeBox, MoveMessage, RemoveBox, RemoveMessage, SetFlags, Stored, Work
from pyrepl.mailbox.verbs import (
    Copy,
    Create,
    Delete,
    Expunge,
    Modseqs,
    Op,
    Rename,
    Renumber,
    Save,
    Store,
    Subscribe,
    Unsubscribe,
)
from pyrepl.mailbox.words import Dot, Registers, Stamp, Token, walk


class Text(NamedTuple):
    """A text that came: its name in the drop folder, "" for none, and what a COPY does not say of it. `received`: Unix
    seconds."""

    name: str = ""
    size: int = 0
    received: int = 0
    sums: tuple[int, ...] = ()


Texts: TypeAlias = Mapping[str, Text | None]
"""GUID -> its text; None: the message was expunged before its text could be had."""
NO_TEXT: Final = Text()


@final
class Effects:
    """What follows from ops besides rows."""

    def __init__(self) -> None:
        self.works: Final[list[Work]] = []
        self.crossed: Final[list[Crossed]] = []
        self.unplaced: Final[set[str]] = set()
        """Mailboxes with messages that need another UID."""
        self.burned: Final[list[tuple[str, int]]] = []
        """(mailbox, UID) that was given to two messages."""
        self.behind: Final[list[tuple[MessageRow, int]]] = []
        """Messages that came under a lower UID than that under which clients saw them before a crash."""
        self.apart: Final[list[tuple[MessageRow, Text]]] = []
        """Mails that came, and whose GUID another one has: each needs a GUID of its own."""

    def taken(self) -> set[str]:
        """The names of texts that are needed."""
        works = {work.text for work in self.works if isinstance(work, AddMessage)}
        return works | {text.name for _, text in self.apart}


@final
class Merger:
    """Applies ops to rows. `name` is this node's, in its dots."""

    def __init__(self, rows: Rows, name: str) -> None:
        self.rows: Final = rows
        self.name: Final = name
        self.kept: Final[dict[str, dict[str, Stored]]] = {}
        """Mailbox -> message, where clients have seen it and the op that brought it is to come again."""
        self.floors: Final[dict[str, int]] = {}
        """Mailbox -> the next UID that clients have seen, where ops that are to come again gave out those below it."""
        self.going: Final[dict[tuple[str, str], tuple[int, ...]]] = {}
        """(mailbox, message) that went in this round -> its checksums: the store still has its text."""
        self.given_by: Final[dict[str, Token]] = {}
        """Mailbox -> under which token its highest UID was given out, of those that came since the mastership did."""

    def least_uid(self, box: BoxRow) -> int:
        """The lowest UID that no client has seen, nor one above."""
        return max(box.uidnext, self.floors.get(box.guid, 0))

    def is_kept(self, op: Save) -> bool:
        """Did this op bring its message before a crash, so that the store has the text? One of a mailbox that was
        deleted meanwhile went with it."""
        kept, box = self._left(op.box.text, op.guid), self.rows.box(op.box.text)
        return kept is not None and kept.at == op.at and (box is None or not box.deleted)

    def awaits(self, has: Callable[[Dot], bool]) -> bool:
        """Are there messages that a crash left, and whose ops have not come again? `has`: is an op applied?"""
        left = (has_left.at for kept in self.kept.values() for has_left in kept.values())
        return any(at is not None and not has(at) for at in left)

    def apply(self, op: Op, texts: Texts, effects: Effects) -> None:
        """Apply one op that is due. An op on nothing that we know changes nothing."""
        if isinstance(op, Create):
            self._create(op, effects)
            return
        box = self.rows.box(op.box.text)
        if box is None or box.user != op.user:
            return
        if isinstance(op, Save):
            self._save(box, op, texts, effects)
        elif isinstance(op, Copy):
            self._copy(op, texts, effects)
        elif isinstance(op, Store):
            self._store(box, op, effects)
        elif isinstance(op, Expunge):
            self._expunge(box, op, effects)
        elif isinstance(op, Modseqs):
            self._modseqs(box, op)
        elif isinstance(op, Renumber):
            self._renumber(box, op, effects)
        else:
            self._change_list(box, op, effects)

    # Messages

    def _save(self, box: BoxRow, op: Save, texts: Texts, effects: Effects) -> None:
        landing = self._land(box, op, self._new(box, op, (op.guid,)), effects)
        row = MessageRow(
            *(box.guid, op.guid, op.uid, op.token or Token(0, 0), (_dot(op),), op.size, op.received),
            flags=from_set(op.flags, _stamp(op)),
            modseq=landing.modseq,
            sums=op.sum,
        )
        self.arrive(op.user, row, texts.get(op.guid, NO_TEXT), effects, by_op=True)

    def _copy(self, op: Copy, texts: Texts, effects: Effects) -> None:
        box = self.rows.box(op.to.text)
        if box is None or box.user != op.user:
            return
        new = self._new(box, op, op.guids)
        landing = self._land(box, op, new, effects)
        for guid, uid in zip(op.guids, walk(op.touids, MOST_IN_OP)):
            what = self.rows.home(op.user, guid) or texts.get(guid) or NO_TEXT
            row = MessageRow(
                *(box.guid, guid, uid, op.token or Token(0, 0), (_dot(op),), what.size, what.received),
                flags=from_set(op.flags, _stamp(op)),
                modseq=landing.modseq if guid in new else op.modseq or 0,
                sums=what.sums,
            )
            self.arrive(op.user, row, texts.get(guid, NO_TEXT), effects, by_op=True)

    def _new(self, box: BoxRow, op: Op, guids: tuple[str, ...]) -> tuple[str, ...]:
        """Those messages that did not come by this op yet: their rows may have come by state."""
        rows = ((guid, self.rows.message(box.guid, guid)) for guid in guids)
        return tuple(guid for guid, row in rows if row is None or _dot(op) not in row.dots)

    def arrive(self, user: str, row: MessageRow, text: Text | None, effects: Effects, *, by_op: bool = False) -> None:
        """A message, or one more reason for one that is there. `text` None: it was expunged before it came. `by_op`: it
        has the flags that it came with everywhere."""
        box = self.rows.box(row.box)
        assert box is not None
        before, place = view(self.rows, user) if box.deleted else None, len(effects.works)
        known = self.rows.message(row.box, row.guid)
        if known is None and (text is None or not self.not_killed(row.box, row.guid, row.dots)):
            was_left = row.box in self.kept
            self._may_place(row.box, row.guid, row.uid, row.token, Effects())
            self._let_go(row.box, row.guid)
            self._bury(row)
            # A crash may have left it in the store, from when the op came for the first time.
            effects.works.append(RemoveMessage(user, row.box, row.guid))
            if was_left:
                effects.works.extend(self._unshown(box))
        elif known is not None:
            self._arrive_again(user, known, row, text, effects)
        elif self.is_other(None, row, text):
            self._set_apart(row, text, effects)
        else:
            self._add(user, row, text, effects, by_op=by_op)
        if before is not None:
            works = works_between(self.rows, user, before, view(self.rows, user))
            # A mailbox that lives again begins below the message for which it does.
            effects.works[place:place] = [
                MakeBox(user, box.guid, work.name, work.uidvalidity, box.uidnext)
                if isinstance(work, MakeBox) and work.box == box.guid
                else work
                for work in works
            ]

    def _arrive_again(self, user: str, known: MessageRow, row: MessageRow, text: Text | None, effects: Effects) -> None:
        """A GUID comes that is there: what was done to it, was done to both, be they two mails."""
        is_other = self.is_other(known, row, text)
        dots = known.dots if is_other else tuple(sorted({*known.dots, *row.dots}))
        both = known._replace(flags=merged(known.flags, row.flags), dots=dots, modseq=max(known.modseq, row.modseq))
        self.rows.put_message(both)
        self._set_flags(user, known, both, effects)
        if is_other:
            self._set_apart(row, text, effects)
        else:
            self._place(user, both, row.uid, row.token, effects)
            self._pass(row.box, row.uid)

    def is_other(self, known: MessageRow | None, row: MessageRow, text: Text | None) -> bool:
        """Does a message come whose GUID another mail has here, or had until now? One whose text is to be linked from
        elsewhere counts as the same. `text` None: it was expunged before it came."""
        if text is not None and not text.name:
            return False
        return are_two(self.going.get((row.box, row.guid), ()), row.sums) if known is None else are_mails(known, row)

    def _set_apart(self, row: MessageRow, text: Text | None, effects: Effects) -> None:
        """A message that comes is another mail than that which has its GUID."""
        dots = self.not_killed(row.box, row.guid, row.dots)
        self._bury(row)
        self._pass(row.box, row.uid)
        if dots and text is not None:
            effects.apart.append((row._replace(dots=dots), text))

    def not_killed(self, box: str, guid: str, dots: Iterable[Dot]) -> tuple[Dot, ...]:
        """Those SAVEs and COPYs of a message that are not known to be expunged: it may have come by state that they
        are, before they came themselves."""
        gone = self.rows.gone(box, guid)
        killed = {} if gone is None else dict(gone.dots)
        return tuple(dot for dot in dots if killed.get(dot.origin, 0) < dot.seq)

    def _bury(self, row: MessageRow) -> None:
        """A message is gone that never came; what is known of one that went before stands, the UID it was shown under
        too."""
        gone = self.rows.gone(row.box, row.guid) or GoneRow(row.box, row.uid, row.guid, (), 0)
        dots, flags = newest((*gone.dots, *row.dots)), merged(gone.flags, row.flags)
        self.rows.put_gone(gone._replace(dots=dots, flags=flags, modseq=max(gone.modseq, row.modseq)))

    def _add(self, user: str, row: MessageRow, text: Text | None, effects: Effects, *, by_op: bool) -> None:
        left = self._left(row.box, row.guid)
        before = row.set_flags() if by_op and left is not None and not left.is_unsure else None
        uid, shown = self._give(row.box, row.guid, row.uid, row.token, effects)
        gone = self.rows.gone(row.box, row.guid)
        if gone is not None:
            row = row._replace(flags=merged(gone.flags, row.flags), modseq=max(row.modseq, gone.modseq))
        self.rows.put_message(row._replace(uid=uid))
        if UNPLACED < uid < shown:
            effects.behind.append((row._replace(uid=uid), shown))
        what = (row.set_flags(), row.received, row.size, (text or NO_TEXT).name, row.dots[0], before)
        effects.works.append(AddMessage(user, row.box, row.guid, shown, *what))

    def _give(self, guid: str, message: str, uid: int, token: Token, effects: Effects) -> tuple[int, int]:
        """The UID that a message gets, and the one under which the store shows it: after a crash, an op that comes
        again does not move its message back from where clients have seen it. Both `UNPLACED` if it may not have it."""
        left = self._left(guid, message)
        if not self._may_place(guid, message, uid, token, effects):
            return UNPLACED, UNPLACED
        return uid, uid if left is None else max(uid, left.uid)

    def _left(self, guid: str, message: str) -> Stored | None:
        """Where a crash left a message of this mailbox, while the op that brought it is to come again."""
        return self.kept.get(guid, {}).get(message)

    def _may_place(self, guid: str, message: str, uid: int, token: Token, effects: Effects) -> bool:
        """May a message get this UID here, which was given out under this token? Not below one that clients may have
        seen."""
        box = self.rows.box(guid)
        assert box is not None
        was_seen = self._left(guid, message)
        if was_seen is not None and was_seen.uid <= uid:
            self._await_no_more(guid, message)
        is_its_own = was_seen is not None and was_seen.uid >= uid
        if uid >= (box.uidnext if is_its_own else self.least_uid(box)):
            self.rows.put_box(box._replace(uidnext=uid + 1))
            self._was_given_by(guid, token)
            return True
        effects.unplaced.add(guid)
        other = self.rows.message_at(guid, uid) if uid != UNPLACED else None
        if other is not None and other.guid != message:
            effects.burned.append((guid, uid))
        return False

    def _was_given_by(self, guid: str, token: Token) -> None:
        """The highest UID of a mailbox came under this token; none is of an epoch if it was only passed."""
        if token.epoch:
            self.given_by[guid] = token

    def let_go_passed(self, has: Callable[[Dot], bool]) -> list[Work]:
        """The ops of which `has` is true do not come again. A message that a crash left, and that one of them brought,
        has a row by now, or is gone."""
        works: list[Work] = []
        for guid in list(self.kept):
            box = self.rows.box(guid)
            passed = [(name, was.at) for name, was in self.kept[guid].items() if was.at is not None and has(was.at)]
            if box is None or not passed:
                continue
            for name, at in passed:
                uid = self._let_go(guid, name)
                if self.rows.message(guid, name) is None:
                    gone = self.rows.gone(guid, name) or GoneRow(guid, uid, name, (at,), box.highest)
                    self.rows.put_gone(gone._replace(uid=uid))
                    works.append(RemoveMessage(box.user, guid, name))
            works.extend(self._unshown(box))
        return works

    def _unshown(self, box: BoxRow) -> list[Work]:
        """A deleted mailbox that a crash left in the store for messages whose ops come again goes with the last one,
        if it does not live for any."""
        is_left = box.guid not in self.kept and not is_visible(self.rows, box)
        return [RemoveBox(box.user, box.guid)] if is_left else []

    def _let_go(self, guid: str, message: str) -> int:
        """A message that a crash left does not get its UID again. Nobody else gets it either, as clients have seen it.
        Returns this UID, or `UNPLACED` if no crash left the message."""
        was_seen = self._await_no_more(guid, message)
        if was_seen is None:
            return UNPLACED
        self._pass(guid, was_seen.uid)
        return was_seen.uid

    def _await_no_more(self, guid: str, message: str) -> Stored | None:
        """The op that brought a message does not come again. Returns where a crash left the message, if one did."""
        kept = self.kept.get(guid, {})
        was_seen = kept.pop(message, None)
        if guid in self.kept and not kept:
            del self.kept[guid]
        return was_seen

    def _pass(self, guid: str, uid: int) -> None:
        """Clients may have seen this UID, whether the message has it or not: nobody gets one below."""
        box = self.rows.box(guid)
        assert box is not None
        if uid >= box.uidnext:
            self.rows.put_box(box._replace(uidnext=uid + 1))

    def _place(self, user: str, row: MessageRow, uid: int, token: Token, effects: Effects) -> None:
        """Another UID for a message that is there: it has it, if the token says so and no client was ahead."""
        if token < row.token or (token == row.token and UNPLACED < uid <= row.uid):
            return
        if row.uid == uid:
            self.rows.put_message(row._replace(token=token))
            return
        placed, shown = self._give(row.box, row.guid, uid, token, effects)
        self.rows.put_message(row._replace(uid=placed, token=max(token, row.token)))
        if placed != row.uid:
            effects.works.append(MoveMessage(user, row.box, row.guid, shown, row.set_flags()))

    def _renumber(self, box: BoxRow, op: Renumber, effects: Effects) -> None:
        token = op.token or Token(0, 0)
        for guid, uid in zip(op.guids, walk(op.to, MOST_IN_OP)) if op.guids else ():
            row = self.rows.message(box.guid, guid)
            if row is not None:
                self._place(op.user, row, uid, token, effects)
        passed = self.rows.box(box.guid)
        assert passed is not None
        if op.to and op.to[-1][1] >= passed.uidnext:
            self.rows.put_box(passed._replace(uidnext=op.to[-1][1] + 1))
            self._was_given_by(box.guid, token)
        self._touch(box, op, op.guids, effects)

    def _store(self, box: BoxRow, op: Store, effects: Effects) -> None:
        landing = self._land(box, op, op.guids, effects)
        for guid in op.guids:
            row = self.rows.message(box.guid, guid)
            if row is not None:
                flags = changed(row.flags, op.add, op.remove, _stamp(op))
                new = row._replace(flags=flags, modseq=max(row.modseq, landing.modseq))
                self.rows.put_message(new)
                self._set_flags(op.user, row, new, effects)
            elif (gone := self.rows.gone(box.guid, guid)) is not None:
                # It may come again, and has the flags that it had then.
                self.rows.put_gone(gone._replace(flags=changed(gone.flags, op.add, op.remove, _stamp(op))))

    def _set_flags(self, user: str, old: MessageRow, new: MessageRow, effects: Effects) -> None:
        if old.set_flags() != new.set_flags():
            effects.works.append(SetFlags(user, new.box, new.guid, new.set_flags(), old.set_flags()))

    def take_flags(self, user: str, row: MessageRow, flags: Registers, modseq: int, effects: Effects) -> None:
        """FLAGS: what another node knows of a message that is here."""
        new = row._replace(flags=merged(row.flags, flags), modseq=max(row.modseq, modseq))
        self.rows.put_message(new)
        self._raise(row.box, modseq)
        self._set_flags(user, row, new, effects)

    def _expunge(self, box: BoxRow, op: Expunge, effects: Effects) -> None:
        landing = self._land(box, op, op.guids, effects)
        before = view(self.rows, op.user) if box.deleted else None
        for guid in op.guids:
            row = self.rows.message(box.guid, guid)
            gone = self.rows.gone(box.guid, guid)
            if row is not None:
                self.kill(op.user, row, op.kills, landing.modseq, effects)
            elif gone is not None:
                # Its text could not be had any more, so it never was here; clients of other nodes may have seen it.
                self.rows.put_gone(gone._replace(modseq=max(gone.modseq, landing.modseq)))
        if before is not None:
            effects.works.extend(works_between(self.rows, op.user, before, view(self.rows, op.user)))

    def kill(self, user: str, row: MessageRow, kills: Iterable[Dot], modseq: int, effects: Effects) -> None:
        """The message goes, unless somebody saved it as well who is not among `kills`. Then it gets a new UID: it may
        have that of the one that went, which nodes where this one came later never gave it."""
        left = tuple(dot for dot in row.dots if dot not in set(kills))
        if left:
            self.rows.put_message(row._replace(dots=left, uid=UNPLACED, modseq=max(row.modseq, modseq)))
            effects.unplaced.add(row.box)
            if row.uid != UNPLACED:
                effects.works.append(MoveMessage(user, row.box, row.guid, UNPLACED, row.set_flags()))
            return
        before = self.rows.gone(row.box, row.guid) or GoneRow(row.box, row.uid, row.guid, (), 0)
        dots, highest = newest((*before.dots, *row.dots)), max(before.modseq, row.modseq, modseq)
        self._let_go(row.box, row.guid)
        self.going[row.box, row.guid] = row.sums
        self.rows.drop_message(row.box, row.guid)
        self.rows.put_gone(GoneRow(row.box, row.uid, row.guid, dots, highest, row.flags))
        effects.works.append(RemoveMessage(user, row.box, row.guid))

    def _modseqs(self, box: BoxRow, op: Modseqs) -> None:
        modseq = op.modseq or 0
        self._raise(box.guid, modseq)
        for guid in op.guids:
            row = self.rows.message(box.guid, guid)
            gone = self.rows.gone(box.guid, guid)
            if row is not None:
                self.rows.put_message(row._replace(modseq=max(row.modseq, modseq)))
            elif gone is not None:
                self.rows.put_gone(gone._replace(modseq=max(gone.modseq, modseq)))

    def _touch(self, box: BoxRow, op: Op, guids: tuple[str, ...], effects: Effects) -> None:
        landing = self._land(box, op, guids, effects)
        for guid in guids:
            row = self.rows.message(box.guid, guid)
            if row is not None:
                self.rows.put_message(row._replace(modseq=max(row.modseq, landing.modseq)))

    def _raise(self, guid: str, modseq: int) -> None:
        box = self.rows.box(guid)
        if box is not None and box.highest < modseq:
            self.rows.put_box(box._replace(highest=modseq))

    def _land(self, box: BoxRow, op: Op, guids: str | tuple[str, ...], effects: Effects) -> Landing:
        named = (guids,) if isinstance(guids, str) else guids
        now = self.rows.box(box.guid)
        assert now is not None
        landing = land(now.highest, op.modseq or 0, is_own=_dot(op).origin == self.name, touches=bool(named))
        if landing.highest != now.highest:
            self.rows.put_box(now._replace(highest=landing.highest))
        if landing.crossed:
            effects.crossed.append(Crossed(now, named, landing.modseq))
        return landing

    # The list of mailboxes

    def _create(self, op: Create, effects: Effects) -> None:
        """Two nodes may find one mailbox beside their Dovecots, as after a crash or in a Maildir that was copied."""
        known = self.rows.box(op.id)
        if known is not None and known.user != op.user:
            return
        stamp = _stamp(op)
        made = BoxRow(op.id, op.user, op.box.text, stamp, op.uidvalidity or 1, created_stamp=stamp)
        self.list_box(made if known is None else with_creation(known, made), effects)

    def list_box(self, row: BoxRow, effects: Effects) -> None:
        """A mailbox is new in its user's list, or stands there otherwise."""
        known, before = self.rows.box(row.guid), view(self.rows, row.user)
        self.rows.put_box(row)
        after = view(self.rows, row.user)
        effects.works.extend(works_between(self.rows, row.user, before, after))
        if known is not None and known.uidvalidity != row.uidvalidity and row.guid in before.keys() & after.keys():
            name, _ = after[row.guid]
            effects.works.append(MakeBox(row.user, row.guid, name, row.uidvalidity, row.uidnext))

    def _change_list(self, box: BoxRow, op: Op, effects: Effects) -> None:
        before = view(self.rows, op.user)
        stamp = _stamp(op)
        if isinstance(op, Rename):
            self.rows.put_box(with_creation(box, box._replace(name=op.to.text, name_stamp=stamp)))
        elif isinstance(op, Subscribe | Unsubscribe) and stamp > box.subscribed_stamp:
            self.rows.put_box(box._replace(subscribed=isinstance(op, Subscribe), subscribed_stamp=stamp))
        elif isinstance(op, Delete):
            self._delete(box, op, effects)
        effects.works.extend(works_between(self.rows, op.user, before, view(self.rows, op.user)))

    def _delete(self, box: BoxRow, op: Delete, effects: Effects) -> None:
        """Its messages are expunged: if it lives on, its clients are told of each."""
        self.rows.put_box(box._replace(deleted=True))
        known = dict(op.known)
        rows = [(row, _covered(row.dots, known)) for row in self.rows.messages(box.guid)]
        found = [(row, dots) for row, dots in rows if dots]
        landing = self._land(box, op, tuple(row.guid for row, _ in found), effects)
        for row, dots in found:
            self.kill(op.user, row, dots, landing.modseq, effects)
        for gone in self.rows.gone_since(box.guid, 0):
            if gone.modseq < landing.modseq and _covered(gone.dots, known):
                # As for EXPUNGE: it may have been seen elsewhere.
                self.rows.put_gone(gone._replace(modseq=landing.modseq))


def with_creation(box: BoxRow, other: BoxRow) -> BoxRow:
    """The row of a mailbox with what `other` says of how it came, and of its name: of two CREATEs the older stands,
    UIDVALIDITY and all; the newest RENAME stands above every CREATE."""
    is_older = other.created_stamp < box.created_stamp
    if _is_renamed(box) or _is_renamed(other):
        takes_name = (_is_renamed(other), other.name_stamp) > (_is_renamed(box), box.name_stamp)
    else:
        takes_name = is_older
    if is_older:
        box = box._replace(created_stamp=other.created_stamp, uidvalidity=other.uidvalidity)
    return box._replace(name=other.name, name_stamp=other.name_stamp) if takes_name else box


def _is_renamed(box: BoxRow) -> bool:
    return box.name_stamp != box.created_stamp


def newest(dots: Iterable[Dot]) -> tuple[Dot, ...]:
    """Of each origin the newest: who expunged that one knew all before it."""
    found: dict[str, int] = {}
    for origin, seq in dots:
        found[origin] = max(seq, found.get(origin, 0))
    return tuple(Dot(origin, seq) for origin, seq in sorted(found.items()))


def _covered(dots: Iterable[Dot], known: Mapping[str, int]) -> list[Dot]:
    """Those that a vector covers."""
    return [dot for dot in dots if known.get(dot.origin, 0) >= dot.seq]


def _dot(op: Op) -> Dot:
    assert op.at is not None
    return op.at


def _stamp(op: Op) -> Stamp:
    stated = op.__dict__.get("stamp")
    return stated if isinstance(stated, Stamp) else Stamp(op.modseq or 0, _dot(op).origin)


def guids_of_texts(op: Op) -> tuple[str, ...]:
    """The messages whose texts an op needs."""
    if isinstance(op, Save):
        return (op.guid,)
    return op.guids if isinstance(op, Copy) else ()
