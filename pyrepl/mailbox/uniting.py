"""MAILBOX JOIN of a user whose mail was in the Maildirs of two nodes: mailboxes of one name become one.

Two Maildirs that were never replicated are two mailboxes of each name, one of them called `name (2)`. Of these the one
with more messages stays, with its UIDs. The others' messages are looked for there: one with the same date, size and
checksums, hence with the same Message-ID, is the same message, and the flags of both are set. All other messages are
copied, in their order, under new UIDs; then the other mailbox is deleted. For each mailbox that goes, all of this is
one transaction, under the masterships of both, put together of ops that every node knows.

Not here: who may have masterships (tasks.py), and what is in Maildirs already (folders.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.portions import flag_portions, portions
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.saving import Saving
from pyrepl.mailbox.sayable import why_any_unsayable
from pyrepl.mailbox.uids import WHY_NO_UID
from pyrepl.mailbox.verbs import Command, Copy, Delete, Op, Store, Subscribe
from pyrepl.mailbox.words import APART, INBOX, Token, ranges

WHY_NOT_WHOLE: Final = "some changes of the mailbox that goes have not come yet"
_Key: TypeAlias = tuple[int, int, tuple[int, ...]]


class Pair(NamedTuple):
    """Mailboxes of one name, by GUID: the one that stays, and one that goes."""

    stays: str
    goes: str


class _Asked(NamedTuple):
    """Whose mailboxes, who is told, and which of them (`doubles`)."""

    user: str
    then: Callable[[Command], None]
    made_so: bool


@final
class Uniting:
    """Answers as a mail process is answered."""

    def __init__(self, core: Core, mastering: Mastering, saving: Saving) -> None:
        self._core: Final = core
        self._mastering: Final = mastering
        self._saving: Final = saving
        self._to_do: Final[list[_Asked]] = []
        """The first is under way; empty while nobody is within `_go_on`."""

    def doubles(self, user: str, *, made_so: bool = False) -> list[Pair]:
        """The user's mailboxes that want a name which another one has. `made_so`: of those that were made under it."""
        by_name: dict[str, list[BoxRow]] = {}
        for guid in view(self._core.rows, user):
            box = self._core.rows.box(guid)
            assert box is not None
            if not made_so or box.name == INBOX or box.name_stamp == box.created_stamp:
                by_name.setdefault(box.name, []).append(box)
        found = []
        for boxes in by_name.values():
            if len(boxes) > 1:
                counts = Counter({box.guid: sum(1 for _ in self._core.rows.messages(box.guid)) for box in boxes})
                boxes.sort(key=lambda box: (box.deleted, -counts[box.guid], box.created_stamp, box.guid))
                found += [Pair(boxes[0].guid, box.guid) for box in boxes[1:]]
        return found

    def unite(self, client: str, tag: str, user: str, now: float) -> None:
        """OK when no two mailboxes of the user want one name; NO if masterships cannot be had."""
        self.unite_then(user, lambda answer: self._core.reply(client, tag, answer), now)

    def unite_then(self, user: str, then: Callable[[Command], None], now: float, *, made_so: bool = False) -> None:
        """As `unite`, of mailboxes as `doubles` finds them; `then` is called with the answer."""
        self._go_on(_Asked(user, then, made_so), now)

    def _go_on(self, asked: _Asked, now: float) -> None:
        """One pair after the other, in a loop and not each within the one before: a user may have thousands."""
        self._to_do.append(asked)
        if len(self._to_do) > 1:
            return
        while self._to_do:
            self._unite_one(self._to_do[0], now)
            del self._to_do[0]

    def _unite_one(self, asked: _Asked, now: float) -> None:
        found = self.doubles(asked.user, made_so=asked.made_so)
        if not found:
            asked.then(Ok())
            return

        def run(tokens: dict[str, Token], now: float) -> None:
            why = self._refusal(found[0], tokens, asked.made_so)
            if why is not None:
                asked.then(why)
            else:
                self._go_on(asked, now)

        def fail(reason: Reason, now: float) -> None:
            asked.then(No(reason=reason))

        self._saving.tasks.add(set(found[0]), run, fail, now)

    def _refusal(self, pair: Pair, tokens: dict[str, Token], made_so: bool) -> No | None:
        """Make one mailbox of two; why that cannot be, if so."""
        if any(token.term == APART for token in tokens.values()):
            return No(reason=Reason.APART)
        stays, goes = (self._core.rows.box(guid) for guid in pair)
        assert stays is not None and goes is not None
        if pair not in self.doubles(stays.user, made_so=made_so):
            # Somebody else did something about it meanwhile.
            return None
        if not is_whole(self._core, goes):
            return No(reason=Reason.FAILED, why=WHY_NOT_WHOLE)
        ops = self._ops(stays, goes, tokens[stays.guid])
        if isinstance(ops, str):
            return No(reason=Reason.FAILED, why=ops)
        self._core.do(ops)
        self._core.note("united", f"{stays.user} {stays.name}")
        return None

    def _ops(self, stays: BoxRow, goes: BoxRow, token: Token) -> list[Op] | str:
        """The transaction, or why there can be none."""
        core = self._core
        lacking, added = _compared(core.rows.messages(stays.guid), core.rows.messages(goes.guid))
        uids = self._mastering.some_uids(stays, token, len(lacking))
        if len(uids) < len(lacking):
            return WHY_NO_UID
        ops: list[Op] = [*copies(goes, stays, lacking, uids, token), *stores(stays, added)]
        if goes.subscribed and not stays.subscribed:
            stamp = core.journal.next_stamp(stays.user)
            ops.append(Subscribe(user=stays.user, box=by_guid(stays), stamp=stamp))
        stamp = core.journal.next_stamp(goes.user)
        ops.append(Delete(user=goes.user, box=by_guid(goes), stamp=stamp, known=core.journal.vector()))
        why = why_any_unsayable(ops) or core.journal.why_too_large(ops)
        if why is not None:
            return why
        if lacking:
            self._saving.order(stays.guid).passed(uids[-1])
        return ops


def is_whole(core: Core, box: BoxRow) -> bool:
    """Has every op come that brought a mailbox's messages? Those of a message that came by state may come later; until
    then a DELETE could not speak of it, and the mailbox would go on living."""
    held = core.causal.held
    return all(held.get(dot.origin, 0) >= dot.seq for row in core.rows.messages(box.guid) for dot in row.dots)


def copies(box: BoxRow, to: BoxRow, rows: Sequence[MessageRow], uids: Sequence[int], token: Token) -> Iterator[Copy]:
    """Messages under these UIDs, ascending, in another mailbox. Without flags: such with other flags stand between
    those that have the same."""
    place = 0
    for part in portions(rows):
        guids = tuple(row.guid for row in part)
        to_uids = ranges(uids[place : place + len(part)])
        yield Copy(user=box.user, box=by_guid(box), to=by_guid(to), touids=to_uids, guids=guids, token=token)
        place += len(part)


def stores(box: BoxRow, added: Mapping[tuple[str, ...], Sequence[str]]) -> Iterator[Store]:
    """`added`: flags -> the messages of a mailbox that get them."""
    for flags, guids in sorted(added.items()):
        for part in portions(guids):
            for some in flag_portions(flags):
                yield Store(user=box.user, box=by_guid(box), guids=tuple(part), add=tuple(some))


def _key(row: MessageRow) -> _Key:
    return row.received, row.size, row.sums


def _compared(
    stays: Iterable[MessageRow], goes: Iterable[MessageRow]
) -> tuple[list[MessageRow], dict[tuple[str, ...], list[str]]]:
    """The messages that only the other has, by UID, those without one last; and by flags the messages that get them."""
    there: dict[_Key, list[MessageRow]] = {}
    by_name = {row.guid: row for row in stays}
    for row in by_name.values():
        if row.sums:
            there.setdefault(_key(row), []).append(row)
    lacking: list[MessageRow] = []
    added: dict[tuple[str, ...], list[str]] = {}
    for row in sorted(goes, key=lambda row: (not row.uid, row.uid)):
        same = by_name.get(row.guid)
        alike = there.get(_key(row), [])
        if same is None and alike:
            # Each counts once: the same mail may have been delivered twice.
            same = alike.pop(0)
        if same is None:
            lacking.append(row)
        missing = tuple(sorted(set(row.set_flags()) - set(same.set_flags() if same is not None else ())))
        if missing:
            added.setdefault(missing, []).append(same.guid if same is not None else row.guid)
    return lacking, added
