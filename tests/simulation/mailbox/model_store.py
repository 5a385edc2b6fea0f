"""A store of messages as clients see it: works are done at once, each is idempotent, and a crash may come between two.

It checks what a client would notice: a UID with two meanings (I1), and in `do` what no node may tell a store beside
which nobody gives out UIDs: a message below what clients have seen (I2), or without its text (I3).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.scrubbing import NOT_THERE, SAME, ScrubOrder, TextRead, Verdict
from pyrepl.mailbox.store import (
    DONE,
    AddMessage,
    Ended,
    MakeBox,
    MendMessage,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    Result,
    SetFlags,
    Stored,
    StoredBox,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import Dot
from tests.simulation.mailbox.violation import Violation

UNNAMED = "text"
"""A text that a Dovecot has stored."""


class Uids:
    """All meanings that UIDs ever had, on any node (I1)."""

    def __init__(self) -> None:
        self._guids: dict[tuple[str, int], str] = {}
        self.may_burn = False
        """A gate may fail: then a UID may name two messages, for a while."""
        self.burned: set[tuple[str, int]] = set()
        """(mailbox, UID) that named two messages."""

    def shown(self, box: str, uid: int, guid: str) -> None:
        before = self._guids.setdefault((box, uid), guid)
        if before != guid and not self.may_burn:
            raise Violation("I1", f"UID {uid} of {box[:6]} named {before}, and names {guid}")
        if before != guid:
            self.burned.add((box, uid))


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
        self._flagged: dict[str, dict[str, frozenset[str] | None]] = {}
        """Mailbox -> messages, and those of their flags, whose rows may not be committed; None for all."""
        self.texts: dict[tuple[str, str], str] = {}
        """(mailbox, message) -> its text, of messages that works brought."""
        self.damaged: set[tuple[str, str]] = set()
        """(mailbox, message) whose text is not what it was."""
        self.seen: dict[str, int] = {}
        """box -> the highest UID that was ever shown here, or passed over; outlives the mailbox."""
        self._had: dict[str, dict[str, int]] = {}
        """Mailbox that was deleted -> its messages and their UIDs: what comes back with it may have its UID again."""

    def has_text(self, user: str, guid: str) -> bool:
        return any(guid in box for box in self.boxes.values())

    def has_good_text(self, guid: str, sums: tuple[int, ...] = ()) -> bool:
        """Is the text that would be sent what it was, and has it these checksums?"""
        homes = self._homes(guid)
        is_good = bool(homes) and (homes[0], guid) not in self.damaged
        return is_good and (not sums or self.text(guid) in (f"text{sums[0]}", UNNAMED))

    def text(self, guid: str) -> str:
        """What is sent; one that a Dovecot has stored is like any other."""
        return self.texts.get((self._homes(guid)[0], guid), UNNAMED)

    def _homes(self, guid: str) -> list[str]:
        return [box for box, messages in self.boxes.items() if guid in messages]

    def forget(self, lost: set[Dot], boxes: set[str]) -> None:
        """What a crash left here of ops that nobody has any more: an operator has taken it away. `boxes`: the mailboxes
        that such ops made."""
        for box in boxes & self._new_boxes:
            self._new_boxes.discard(box)
            self.boxes.pop(box, None)
            self.names.pop(box, None)
        for (box, guid), at in list(self._new.items()):
            if at in lost:
                del self._new[box, guid]
                self.boxes.get(box, {}).pop(guid, None)

    def scrub(self, order: ScrubOrder) -> tuple[TextRead, ...]:
        """What reading finds."""
        found = self.boxes.get(order.box, {})
        return tuple(
            NOT_THERE
            if piece.guid not in found
            else TextRead(Verdict.DAMAGED, "rotten")
            if (order.box, piece.guid) in self.damaged
            else SAME
            for piece in order.pieces
        )

    def stored(self, user: str) -> dict[str, StoredBox]:
        return {
            guid: StoredBox(
                self.names[guid],
                self.names[guid] in self.subscribed,
                {message: Stored(*has, self._new.get((guid, message))) for message, has in box.items()},
                guid in self._new_boxes,
                dict(self._flagged.get(guid, {})),
                next_uid=self.seen.get(guid, 0) + 1,
            )
            for guid, box in self.boxes.items()
        }

    def settle(self, works: Sequence[Work]) -> None:
        for work in works:
            if isinstance(work, AddMessage):
                self._new.pop((work.box, work.guid), None)
            elif isinstance(work, MakeBox):
                self._new_boxes.discard(work.box)
            elif isinstance(work, SetFlags | MoveMessage):
                self._flagged.pop(work.box, None)

    def perform(self, works: Sequence[Work]) -> list[Result]:
        return list(map(self._do, works))

    def do(self, works: Sequence[Work]) -> list[Ended]:
        """Works after which nobody else gave out a UID, or took a message away; how they ended."""
        ended = [Ended(work, result) for work, result in zip(works, self.perform(works))]
        for work, result in ended:
            if result.outcome is not Outcome.DONE:
                raise Violation("I2" if result.outcome is Outcome.TOO_LOW else "I3", f"{result} of {work}")
        return ended

    def _do(self, work: Work) -> Result:
        if isinstance(work, MakeBox):
            if work.box not in self.boxes:
                self._new_boxes.add(work.box)
            self.boxes.setdefault(work.box, {})
            self.names[work.box] = work.name
            self._pass(work.box, work.uidnext)
        elif isinstance(work, RenameBox):
            self.names[work.box] = work.name
        elif isinstance(work, RemoveBox):
            gone = self.boxes.pop(work.box, {})
            self._had[work.box] = {guid: uid for guid, (uid, _) in gone.items()}
            self.damaged -= {(work.box, guid) for guid in gone}
            self.names.pop(work.box, None)
        elif isinstance(work, SubscribeBox):
            (self.subscribed.add if work.is_subscribed else self.subscribed.discard)(work.name)
        elif isinstance(work, RaiseNext):
            self._pass(work.box, work.uidnext)
        else:
            return self._do_to_message(work)
        return DONE

    def _do_to_message(self, work: AddMessage | MoveMessage | SetFlags | MendMessage | RemoveMessage) -> Result:
        box = self.boxes.get(work.box, {})
        known = box.get(work.guid)
        if isinstance(work, SetFlags | MoveMessage):
            changing = None if isinstance(work, MoveMessage) or work.before is None else {*work.flags} ^ {*work.before}
            flagged = self._flagged.setdefault(work.box, {})
            before = flagged.get(work.guid, frozenset())
            lower = None if changing is None else frozenset(flag.lower() for flag in changing)
            flagged[work.guid] = None if lower is None or before is None else before | lower
        if isinstance(work, AddMessage):
            if known is None or work.uid not in (known[0], UNPLACED):
                return self._add(work)
            box[work.guid] = (known[0], self._flags_of(work, known[1]) if known[0] else ())
        if isinstance(work, MoveMessage) and known is None:
            return Result(Outcome.NO_TEXT)
        if isinstance(work, MoveMessage) and known is not None and known[0] != work.uid:
            flags = work.flags if known[0] == UNPLACED else known[1]
            return self._show(work.box, work.guid, work.uid, flags)
        if isinstance(work, SetFlags) and known is not None and known[0] != UNPLACED:
            box[work.guid] = (known[0], self._flags_of(work, known[1]))
        elif isinstance(work, MendMessage):
            self.damaged.discard((work.box, work.guid))
            self.texts[work.box, work.guid] = work.text
        elif isinstance(work, RemoveMessage):
            box.pop(work.guid, None)
            self.damaged.discard((work.box, work.guid))
        return DONE

    def _flags_of(self, work: SetFlags | AddMessage, known: tuple[str, ...]) -> tuple[str, ...]:
        """Of a message that has the flags `known`."""
        return work.flags

    def _add(self, work: AddMessage) -> Result:
        if not work.text and not self.has_text(work.user, work.guid):
            return Result(Outcome.NO_TEXT)
        if work.guid not in self.boxes[work.box]:
            if work.at is not None:
                self._new[work.box, work.guid] = work.at
            if not work.text and not self.has_good_text(work.guid):
                # It is linked, and the file is one.
                self.damaged.add((work.box, work.guid))
            self.texts[work.box, work.guid] = work.text or self.text(work.guid)
        return self._show(work.box, work.guid, work.uid, work.flags)

    def _pass(self, box: str, uidnext: int) -> None:
        self.seen[box] = max(self.seen.get(box, 0), uidnext - 1)

    def _show(self, box: str, guid: str, uid: int, flags: tuple[str, ...]) -> Result:
        seen = self.seen.get(box, 0)
        if uid <= seen and (uid == UNPLACED or self._had.get(box, {}).get(guid) != uid):
            self.boxes[box][guid] = (UNPLACED, ())
            return DONE if uid == UNPLACED else Result(Outcome.TOO_LOW, next_uid=seen + 1)
        self._uids.shown(box, uid, guid)
        self.seen[box] = max(seen, uid)
        self.boxes[box][guid] = (uid, flags)
        return DONE
