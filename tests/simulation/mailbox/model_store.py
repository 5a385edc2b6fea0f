"""A store of messages as clients see it: works are done at once, each is idempotent, and a crash may come between two.

It checks what a client would notice: new messages below what it has seen (I2), a UID with two meanings (I1), a message
without its text (I3).
"""

from __future__ import annotations

from pyrepl.mailbox.store import (
    AddMessage,
    MakeBox,
    MoveMessage,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    Stored,
    StoredBox,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import Dot
from tests.simulation.mailbox.violation import Violation


class Uids:
    """All meanings that UIDs ever had, on any node (I1)."""

    def __init__(self) -> None:
        self._guids: dict[tuple[str, int], str] = {}

    def shown(self, box: str, uid: int, guid: str) -> None:
        before = self._guids.setdefault((box, uid), guid)
        if before != guid:
            raise Violation("I1", f"UID {uid} of {box[:6]} named {before}, and names {guid}")


class ModelStore:
    """One node's messages: box -> GUID -> (UID, flags)."""

    def __init__(self, uids: Uids) -> None:
        self._uids = uids
        self.boxes: dict[str, dict[str, tuple[int, tuple[str, ...]]]] = {}
        self.names: dict[str, str] = {}
        self.subscribed: set[str] = set()
        self._new: dict[tuple[str, str], Dot] = {}
        """Messages whose rows may not be committed, as their drop files tell."""
        self._new_boxes: set[str] = set()
        self.seen: dict[str, int] = {}
        """box -> the highest UID that was ever shown here; outlives the mailbox."""

    def has_text(self, guid: str) -> bool:
        return any(guid in box for box in self.boxes.values())

    def listing(self) -> dict[str, StoredBox]:
        """What it has."""
        return {
            guid: StoredBox(
                self.names[guid],
                self.names[guid] in self.subscribed,
                {message: Stored(*has, self._new.get((guid, message))) for message, has in box.items()},
                guid in self._new_boxes,
            )
            for guid, box in self.boxes.items()
        }

    def forget_ops(self) -> None:
        """The rows are committed."""
        self._new.clear()
        self._new_boxes.clear()

    def do(self, work: Work) -> None:
        if isinstance(work, MakeBox):
            if work.box not in self.boxes:
                self._new_boxes.add(work.box)
            self.boxes.setdefault(work.box, {})
            self.names[work.box] = work.name
        elif isinstance(work, RenameBox):
            self.names[work.box] = work.name
        elif isinstance(work, RemoveBox):
            self.boxes.pop(work.box, None)
            self.names.pop(work.box, None)
        elif isinstance(work, SubscribeBox):
            (self.subscribed.add if work.is_subscribed else self.subscribed.discard)(work.name)
        elif isinstance(work, AddMessage):
            self._add(work)
        elif isinstance(work, MoveMessage):
            _, flags = self.boxes[work.box][work.guid]
            self._show(work.box, work.guid, work.uid, flags)
        elif isinstance(work, SetFlags):
            uid, _ = self.boxes[work.box][work.guid]
            self.boxes[work.box][work.guid] = (uid, work.flags)
        elif isinstance(work, RemoveMessage):
            self.boxes.get(work.box, {}).pop(work.guid, None)
        else:
            assert isinstance(work, RaiseNext)

    def _add(self, work: AddMessage) -> None:
        if not work.text and not self.has_text(work.guid):
            raise Violation("I3", f"no text for {work}")
        if work.guid not in self.boxes[work.box]:
            assert work.at is not None
            self._new[work.box, work.guid] = work.at
        before = self.boxes[work.box].get(work.guid)
        self._show(work.box, work.guid, work.uid or (before[0] if before else 0), work.flags)

    def _show(self, box: str, guid: str, uid: int, flags: tuple[str, ...]) -> None:
        before = self.boxes[box].get(guid)
        if uid and (before is None or before[0] != uid):
            if uid <= self.seen.get(box, 0):
                raise Violation("I2", f"{guid} came as UID {uid} below {self.seen[box]}")
            self._uids.shown(box, uid, guid)
            self.seen[box] = uid
        self.boxes[box][guid] = (uid, flags)
