"""What a crash left between the store and the rows, found when a node starts.

Not here: what mail programs changed in the store meanwhile, which is compared by another rule.

| in the store | in the rows | then |
|---|---|---|
| a message | none, brought by an op of another node | it stays: the op comes again |
| a message | none, brought by an op of our own | nobody was told of the op: it goes, and its UID is passed over |
| a message | expunged | it goes |
| a mailbox | none, or deleted | it goes |
| no mailbox, another name, other flags | so | as the rows say |
"""

from __future__ import annotations

from typing import NamedTuple

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.rows import UNPLACED, Rows
from pyrepl.mailbox.store import (
    AddMessage,
    MakeBox,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    StoredBox,
    SubscribeBox,
    Work,
)


class Recovery(NamedTuple):
    """Works that make the store what the rows say, and mailbox -> the last UID that was shown and is to be passed."""

    works: list[Work]
    passed: dict[str, int]


def works_at_start(rows: Rows, user: str, origin: str, stored: dict[str, StoredBox]) -> Recovery:
    """`stored`: GUID -> mailbox, of one user; `origin` is our name in dots."""
    found = Recovery([], {})
    shown = view(rows, user)
    found.works.extend(RemoveBox(user, guid) for guid in sorted(stored.keys() - shown.keys()))
    for guid, (name, subscribed) in shown.items():
        box = rows.box(guid)
        assert box is not None
        there = stored.get(guid)
        if there is None:
            found.works.append(MakeBox(user, guid, name, box.uidvalidity, box.uidnext))
        elif there.name != name:
            found.works.append(RenameBox(user, guid, name))
        if there is None or there.is_subscribed != subscribed or there.name != name:
            found.works.append(SubscribeBox(user, guid, name, subscribed))
        _compare_messages(rows, user, origin, guid, there, found)
    return found


def _compare_messages(rows: Rows, user: str, origin: str, guid: str, there: StoredBox | None, found: Recovery) -> None:
    stored = {} if there is None else there.messages
    box = rows.box(guid)
    assert box is not None
    for message, has in sorted(stored.items()):
        row = rows.message(guid, message)
        if row is not None:
            if row.set_flags() != has.flags:
                found.works.append(SetFlags(user, guid, message, row.set_flags()))
            was_moved = has.uid not in (row.uid, UNPLACED)
        else:
            is_ours = has.at is None or has.at.origin == origin
            was_moved = is_ours
            if is_ours or rows.gone(guid, message) is not None:
                found.works.append(RemoveMessage(user, guid, message))
        if was_moved and has.uid >= box.uidnext:
            found.passed[guid] = max(has.uid, found.passed.get(guid, 0))
    for row in rows.messages(guid):
        if row.guid not in stored:
            found.works.append(
                AddMessage(user, guid, row.guid, row.uid, row.set_flags(), row.received, row.size, "", row.dots[0])
            )
