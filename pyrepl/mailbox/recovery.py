"""What a crash left between the store and the rows, found when a node starts.

Only what a work of ours put there is taken away, and only what a row says is gone: an absence may be an accident (an
unmounted disk, a new database beside full Maildirs), and must neither remove mail here nor empty the other nodes.

| in the store | in the rows | then |
|---|---|---|
| a message | none, brought by an op of another node | it stays: the op comes again |
| a message | none, brought by an op of our own | nobody was told of the op: it goes, and its UID is passed over |
| a message | none, brought by no op | it stays, and is told as unknown; with gates a mail program saved it |
| a message | expunged under this UID | it goes |
| a message | under a lower UID | clients have seen the higher one: it moves everywhere; with gates as if saved again |
| a message kept aside | under a UID | it gets it; one that clients have seen here is changed for another |
| a mailbox | deleted, or none and made by a work | as its messages: it goes, stays, or is told as unknown |
| a deleted mailbox that lived again | and a message by an op of our own | the UID is passed over there too |
| a higher next UID | none that explains it | it is passed over |
| a mailbox | none, made by nobody we know | it stays, and is told as unknown |
| a mailbox, a message with a UID | none in the store | told as missing; a mailbox that is empty is made |
| another name, another subscription | so | as the rows say; with gates a mail program did it (folders.py) |
| other flags, and a work of ours was changing just these | so | as the rows say |
| other flags | so | a mail program changed them while we were away: they are changed everywhere |
| other flags of very many messages | so | an accident, perhaps: told, and nothing is done until an operator says so |
"""

from __future__ import annotations

from typing import NamedTuple

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.flag_changes import FlagChanges
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.rows import UNPLACED, BoxRow, MessageRow, Rows
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import (
    MakeBox,
    MoveMessage,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    Stored,
    StoredBox,
    SubscribeBox,
    Unsure,
    Work,
)
from pyrepl.mailbox.verbs import Renumber, Store
from pyrepl.mailbox.words import Dot


class Recovery(NamedTuple):
    """What follows from a comparison."""

    works: list[Work]
    """They make the store what the rows say."""
    passed: dict[str, int]
    """Mailbox -> the last UID that was shown and is to be passed."""
    notices: list[Notice]
    """What is unknown or missing, for people."""
    kept: dict[str, dict[str, Stored]]
    """Mailbox -> message, of those that stay as their ops come again."""
    floors: dict[str, int]
    """Such a mailbox -> the next UID that its clients have seen."""
    stores: list[Store]
    """What mail programs did to flags."""
    moves: list[Renumber]
    """Messages that the store has moved, in the order of their UIDs."""
    aside: list[MessageRow]
    """Messages that are aside in the store, and cannot have their UID any more."""
    doubts: dict[str, FlagChanges]
    """Mailbox -> what very many messages have otherwise."""


def works_at_start(
    rows: Rows, user: str, origin: str, stored: dict[str, StoredBox], *, has_gates: bool = False
) -> Recovery:
    """`stored`: GUID -> mailbox, of one user whose Maildir is there; `origin` is our name in dots. `has_gates`: what
    was made, renamed, deleted and subscribed is left to whoever compares folders."""
    found = Recovery([], {}, [], {}, {}, [], [], [], {})
    held = rows.held()
    stored = {guid: _without_committed(rows, user, origin, there, held) for guid, there in stored.items()}
    shown = view(rows, user)
    for guid in sorted(stored.keys() - shown.keys()):
        _compare_unshown(rows, user, origin, guid, stored[guid], found, has_gates)
    for guid, (name, subscribed) in shown.items():
        box, there = rows.box(guid), stored.get(guid)
        assert box is not None
        if there is not None:
            if there.name != name and not has_gates:
                found.works.append(RenameBox(user, guid, name))
            if (there.is_subscribed != subscribed or there.name != name) and not has_gates:
                found.works.append(SubscribeBox(user, guid, name, subscribed))
            _compare_messages(rows, origin, box, there, found, has_gates)
        elif has_gates:
            continue
        elif next(iter(rows.messages(guid)), None) is None:
            found.works.append(MakeBox(user, guid, name, box.uidvalidity, box.uidnext))
            found.works.append(SubscribeBox(user, guid, name, subscribed))
        else:
            found.notices.append(Notice("mailbox_missing", f"{user} {name}"))
    for guid, there in stored.items():
        _pass_seen(rows, guid, there, found, has_gates)
    return found


def _pass_seen(rows: Rows, guid: str, there: StoredBox, found: Recovery, has_gates: bool) -> None:
    """The store has given out UIDs of which the rows know nothing, unless ops that come again tell of them all; with
    gates its mail program did it. A message that had the highest of these may be aside by now."""
    box, next_uid = rows.box(guid), 0 if has_gates else there.next_uid
    kept, passed = found.kept.get(guid), found.passed.get(guid, 0)
    if kept:
        found.floors[guid] = max(next_uid, *(has.uid + 1 for has in kept.values()))
    if box is not None and next_uid > box.uidnext and (passed or not kept):
        found.passed[guid] = max(next_uid - 1, passed)


def _without_committed(rows: Rows, user: str, origin: str, there: StoredBox, held: dict[str, int]) -> StoredBox:
    """Ops whose rows are committed say nothing of what a crash left."""
    return there._replace(
        messages={
            guid: has._replace(at=None) if has.at and _is_committed(rows, user, origin, has.at, guid, held) else has
            for guid, has in there.messages.items()
        }
    )


def _is_committed(rows: Rows, user: str, origin: str, at: Dot, guid: str, held: dict[str, int]) -> bool:
    """Did this op bring this message? A number of our own that a crash forgot was taken again by another op; and a text
    of our own mail processes has a number that is no op's: where the journal does not tell, the rows do."""
    if held.get(at.origin, 0) < at.seq:
        return False
    ops = [op for op in rows.ops(at.origin, at.seq - 1, 1) if op.at == at]
    if not ops and at.origin == origin:
        boxes = [box.guid for box in rows.boxes(user)]
        return any(rows.message(box, guid) is not None or rows.gone(box, guid) is not None for box in boxes)
    return not ops or any(guid in (op.__dict__.get("guid"), *op.__dict__.get("guids", ())) for op in ops)


def _compare_unshown(
    rows: Rows, user: str, origin: str, guid: str, there: StoredBox, found: Recovery, has_gates: bool
) -> None:
    """A mailbox that the rows do not show: what a crash left of a CREATE or DELETE, or another's.

    Clients have seen the UIDs of messages whose ops come again, perhaps in another order: such must not go and come.
    """
    gone = [name for name, has in there.messages.items() if _is_gone(rows, guid, name, has)]
    brought = {name: has.at for name, has in there.messages.items() if has.at is not None and name not in gone}
    if has_gates:
        # A folder that holds mail stays, as a client may have saved it: what was expunged goes first.
        found.works.extend(RemoveMessage(user, guid, name) for name in gone)
    is_ours = there.is_new or rows.box(guid) is not None
    if not is_ours or len(gone) + len(brought) < len(there.messages):
        found.notices.append(Notice("mailbox_unknown", f"{user} {there.name}"))
    elif all(at.origin == origin for at in brought.values()):
        found.works.extend(RemoveMessage(user, guid, name) for name in brought if has_gates)
        found.works.append(RemoveBox(user, guid))
    else:
        went = [name for name in there.messages if name not in brought or brought[name].origin == origin]
        found.works.extend(RemoveMessage(user, guid, name) for name in went)
        found.kept[guid] = {name: _kept(there, name) for name in there.messages if name not in went}
    box = rows.box(guid)
    own = [there.messages[name].uid for name, at in brought.items() if at.origin == origin]
    if box is not None and own and max(own) >= box.uidnext:
        # It may live again.
        found.passed[guid] = max(own)


def _kept(there: StoredBox, guid: str) -> Stored:
    """A message whose op comes again."""
    return there.messages[guid]._replace(is_unsure=there.unsure is None or guid in there.unsure)


def _is_gone(rows: Rows, box: str, guid: str, has: Stored) -> bool:
    """Was it expunged? A mail program may have brought the same message again since, under another UID."""
    gone = rows.gone(box, guid)
    return gone is not None and has.uid in (gone.uid, UNPLACED)


def _compare_messages(rows: Rows, origin: str, box: BoxRow, there: StoredBox, found: Recovery, has_gates: bool) -> None:
    unknown = 0
    changes = FlagChanges(there.carried)
    for guid, has in sorted(there.messages.items()):
        row = rows.message(box.guid, guid)
        if row is not None:
            if has.uid != UNPLACED:
                changes.note(row, _settled(box.user, row, has, there.unsure, found))
            elif UNPLACED < row.uid < there.next_uid:
                found.aside.append(row)
            elif row.uid != UNPLACED:
                found.works.append(MoveMessage(box.user, box.guid, guid, row.uid, row.set_flags()))
            is_passed = has.uid not in (row.uid, UNPLACED)
            if is_passed and UNPLACED < row.uid < has.uid and not has_gates:
                found.moves.append(moved(box, row, has.uid))
        else:
            is_passed = (has.at is None and not has_gates) or (has.at is not None and has.at.origin == origin)
            is_own = has.at is not None and has.at.origin == origin
            if is_own or _is_gone(rows, box.guid, guid, has):
                found.works.append(RemoveMessage(box.user, box.guid, guid))
            elif has.at is None:
                # Beside a gate its mail program has saved it, under a UID that it keeps.
                unknown += not has_gates
            else:
                found.kept.setdefault(box.guid, {})[guid] = _kept(there, guid)
        if is_passed and has.uid >= box.uidnext:
            found.passed[box.guid] = max(has.uid, found.passed.get(box.guid, 0))
    found.moves.sort(key=lambda move: (move.box.text, move.to))
    _compare_flags(box, there, changes, found)
    missing = sum(1 for row in rows.messages(box.guid) if row.uid != UNPLACED and row.guid not in there.messages)
    for what, count in (("mail_unknown", unknown), ("mail_missing", missing)):
        if count:
            found.notices.append(Notice(what, f"{box.user} {there.name} {count}"))


def moved(box: BoxRow, row: MessageRow, uid: int) -> Renumber:
    """An op of ours moved it, of which nobody was told; or another's, which comes again and says the same. Nobody else
    gave out this UID: a master gives out those behind a gap when it takes a mailbox over."""
    return Renumber(user=box.user, box=by_guid(box), to=((uid, uid),), guids=(row.guid,), token=row.token)


def _settled(user: str, row: MessageRow, has: Stored, unsure: Unsure | None, found: Recovery) -> tuple[str, ...]:
    """The flags that a message has when those which works of ours were changing are as its row says."""
    own, doubtful = row.set_flags(), None if unsure is None else unsure.get(row.guid, frozenset())
    if doubtful is None:
        settled = own
    else:
        kept = (flag for flag in has.flags if flag.lower() not in doubtful)
        settled = tuple(sorted({*kept, *(flag for flag in own if flag.lower() in doubtful)}))
    if sorted(settled) != sorted(has.flags):
        # A mail program may be changing others at this moment: those stay.
        found.works.append(SetFlags(user, row.box, row.guid, settled, has.flags))
    return settled


def _compare_flags(box: BoxRow, there: StoredBox, changes: FlagChanges, found: Recovery) -> None:
    """Other flags than the rows say: a mail program's, or an accident."""
    if changes.are_many(len(there.messages)):
        found.doubts[box.guid] = changes
        found.notices.append(Notice("flags_differ", f"{box.user} {there.name} {len(changes.rows)}"))
    else:
        for (add, remove), guids in changes.parts():
            found.stores.append(Store(user=box.user, box=by_guid(box), guids=guids, add=add, remove=remove))
