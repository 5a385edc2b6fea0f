"""What mail programs did in a mailbox: the difference between what its files hold and what its rows say.

The files are right about what a mail program did, and the rows about everything else, so it is only compared while
every work that follows from the rows is done. Flags are compared with the row and not with an older listing: a change
that came from elsewhere is in both.

An absence may be an accident: when more than `guard` messages and more than half of a mailbox are missing, none of them
is taken for expunged until all are back or an operator says so, however much new mail comes meanwhile.

Not here: when it is compared (gates.py), and how ops are applied (merging.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import dropwhile
from types import MappingProxyType
from typing import Final, NamedTuple

from pyrepl.mailbox.bounds import fitting
from pyrepl.mailbox.flag_changes import NO_CHANGE, Change, change, without
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.rows import UNPLACED, BoxRow, MessageRow, Rows
from pyrepl.mailbox.verbs import Expunge, Save, Store
from pyrepl.mailbox.words import Token

NO_DOUBTS: Final[Mapping[str, Change]] = MappingProxyType({})


class Text(NamedTuple):
    """What is told of a message that may be new: its text's size and checksums, and its date in Unix seconds."""

    size: int
    received: int
    sums: tuple[int, ...]


class Found(NamedTuple):
    """A message as the files have it. `text` None: nobody asked for it."""

    uid: int
    guid: str
    flags: frozenset[str]
    text: Text | None = None


class FoundBox(NamedTuple):
    """A mailbox as its files have it, by UID. `keywords`: those that a file's name can show here; None for all.
    `unlisted`: so many messages have no UID. If not `is_whole`, `messages` are those that may have changed since it was
    told last, and `gone` those that went. `unsure`: something may be so only for a moment, and was not told: who looks
    again under the lock knows. `untold`: messages of which nothing is told, as works on them are under way. `next_uid`:
    clients of a mail program may have seen all UIDs below, those of messages too that went before it was looked; 0 if
    that is not known. `is_held`: a mail program had the lock when it was looked without it.

    What a mail program may show and nodes cannot tell each other: `unread`: GUID -> why, of messages whose text cannot
    be read, so that nothing is told of them; `nameless`: files whose name can be no message's; `has_own_keywords`:
    files show keywords that stay on this node."""

    messages: tuple[Found, ...]
    keywords: frozenset[str] | None = frozenset()
    unlisted: int = 0
    is_whole: bool = True
    gone: frozenset[str] = frozenset()
    unsure: bool = False
    untold: frozenset[str] = frozenset()
    next_uid: int = 0
    is_held: bool = False
    unread: Mapping[str, str] = MappingProxyType({})
    nameless: frozenset[str] = frozenset()
    has_own_keywords: bool = False


class Difference(NamedTuple):
    """Ops that make the rows what the files are, to be done in this order. `missing`: messages that may have been
    expunged, and are too many to believe it. `again`: so many messages have a higher UID than their rows say. `late`:
    new messages that wait until more is told of them, or of one with a lower UID, since they are told to others in the
    order of their UIDs."""

    expunges: list[Expunge]
    saves: list[Save]
    stores: list[Store]
    missing: int
    again: int
    late: frozenset[str]


def difference(
    rows: Rows,
    box: BoxRow,
    found: FoundBox,
    token: Token,
    guard: int,
    awaited: Collection[str] = (),
    doubts: Mapping[str, Change] = NO_DOUBTS,
    *,
    is_guarded: bool = False,
) -> Difference:
    """`token`: under which Dovecot gave out the UIDs that are new. `guard`: so many may be missing at once;
    `is_guarded`: none, as there were more when it was looked last. `awaited`: messages whose ops are to come again, or
    whose texts are on their way: none of them is compared. `doubts`: nor are these flags of messages (doubts.py)."""
    there = {each.guid: each for each in found.messages if each.guid not in awaited}
    unclear = {*found.untold, *awaited, *found.unread}
    known = {guid: row for guid, row in _known(rows, box, found).items() if guid not in unclear}
    new = sorted(each for each in there.values() if _is_new(rows, box, known.get(each.guid), each))
    late = frozenset(each.guid for each in dropwhile(lambda each: each.text is not None, new))
    there = {guid: each for guid, each in there.items() if guid not in late}
    known = {guid: row for guid, row in known.items() if guid not in late}
    again = [row for row in known.values() if row.guid in there and UNPLACED < row.uid < there[row.guid].uid]
    gone = [row for row in known.values() if row.guid not in there and row.uid != UNPLACED]
    missing = len(gone) if is_guarded or (len(gone) > guard and 2 * len(gone) > len(known)) else 0
    changes: dict[Change, list[str]] = {}
    for each in there.values():
        row = known.get(each.guid)
        if row is not None and not UNPLACED < row.uid < each.uid:
            doubt = doubts.get(each.guid, NO_CHANGE)
            added, removed = without(change(row.set_flags(), each.flags, found.keywords), doubt)
            if added or removed:
                changes.setdefault((added, removed), []).append(each.guid)
    return Difference(
        _expunges(box, again + ([] if missing else gone)),
        [_save(box, each, token) for each in new if each.guid not in late],
        [
            Store(user=box.user, box=by_guid(box), guids=tuple(part), add=added, remove=removed)
            for (added, removed), guids in sorted(changes.items())
            for part in portions(guids)
        ],
        missing,
        len(again),
        late,
    )


def _known(rows: Rows, box: BoxRow, found: FoundBox) -> dict[str, MessageRow]:
    """The rows that are compared, by GUID."""
    if found.is_whole:
        return {row.guid: row for row in rows.messages(box.guid)}
    named = (rows.message(box.guid, guid) for guid in sorted(found.gone | {each.guid for each in found.messages}))
    return {row.guid: row for row in named if row is not None}


def _is_new(rows: Rows, box: BoxRow, row: MessageRow | None, each: Found) -> bool:
    """Has a mail program saved it, or brought back what was expunged? A row without a UID is to be moved by us."""
    if row is not None:
        return UNPLACED < row.uid < each.uid
    gone = rows.gone(box.guid, each.guid)
    return gone is None or gone.uid < each.uid


def _save(box: BoxRow, each: Found, token: Token) -> Save:
    assert each.text is not None
    return Save(
        user=box.user,
        box=by_guid(box),
        uid=each.uid,
        guid=each.guid,
        size=each.text.size,
        received=each.text.received,
        flags=fitting(each.flags),
        sum=each.text.sums,
        token=token,
    )


def _expunges(box: BoxRow, gone: list[MessageRow]) -> list[Expunge]:
    dots = {row.guid: row.dots for row in gone}
    return [
        Expunge(
            user=box.user,
            box=by_guid(box),
            guids=tuple(part),
            kills=tuple(sorted({dot for guid in part for dot in dots[guid]})),
        )
        for part in portions(list(dots))
    ]
