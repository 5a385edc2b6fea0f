"""A user's list of mailboxes: which are there and what they are called, from rows that nodes wrote at the same time.

A mailbox is its GUID; its name, its subscription and that it was deleted are registers. What clients see follows from
them, on each node alike, so nobody has to agree on anything:

- a deleted mailbox with a message that its deleter did not know lives on, with just these messages;
- of several mailboxes that want one name, the older one has it, then the one with the smaller GUID; the others are
  called `name (2)`, `name (3)`, ... in the same order.

Not here: ops (merging.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from pyrepl.mailbox.rows import BoxRow, Rows
from pyrepl.mailbox.store import MakeBox, RemoveBox, RenameBox, SubscribeBox, Work


def is_visible(rows: Rows, box: BoxRow) -> bool:
    """Do clients see it?"""
    return not box.deleted or next(iter(rows.messages(box.guid)), None) is not None


def _age(box: BoxRow) -> tuple[object, str]:
    return (box.created_stamp, box.guid)


def shown_names(boxes: Iterable[BoxRow]) -> dict[str, str]:
    """GUID -> what clients call it, of boxes that are visible."""
    ordered = sorted(boxes, key=_age)
    taken = {box.name for box in ordered}
    found: dict[str, str] = {}
    used: set[str] = set()
    for box in ordered:
        name = box.name
        if name in used:
            name = next(each for number in count(2) if (each := f"{box.name} ({number})") not in taken | used)
        used.add(name)
        found[box.guid] = name
    return found


def view(rows: Rows, user: str) -> dict[str, tuple[str, bool]]:
    """GUID -> (shown name, is it subscribed), of a user's visible mailboxes."""
    boxes = {box.guid: box for box in rows.boxes(user) if is_visible(rows, box)}
    return {guid: (name, boxes[guid].subscribed) for guid, name in shown_names(boxes.values()).items()}


def names(rows: Rows, user: str) -> dict[str, str]:
    """GUID -> shown name, of a user's visible mailboxes."""
    return shown_names(box for box in rows.boxes(user) if is_visible(rows, box))


def works_between(
    rows: Rows, user: str, before: dict[str, tuple[str, bool]], after: dict[str, tuple[str, bool]]
) -> list[Work]:
    """What the store has to do, so that it shows `after` instead of `before`."""
    works: list[Work] = [RemoveBox(user, guid) for guid in before if guid not in after]
    for guid, (name, subscribed) in after.items():
        old_name, was_subscribed = before.get(guid, ("", False))
        if guid not in before:
            box = rows.box(guid)
            assert box is not None
            works.append(MakeBox(user, guid, name, box.uidvalidity, box.uidnext))
        elif name != old_name:
            works.append(RenameBox(user, guid, name))
        if subscribed != was_subscribed or (subscribed and name != old_name):
            if was_subscribed and old_name:
                works.append(SubscribeBox(user, guid, old_name, False))
            if subscribed:
                works.append(SubscribeBox(user, guid, name, True))
    return works
