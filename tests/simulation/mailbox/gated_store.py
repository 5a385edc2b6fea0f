"""The store of a node beside a Dovecot: each mailbox has a lock, and a gate is a lock that is kept.

What it does itself takes no time; who finds a Dovecot at it waits until that is done.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

from pyrepl.mailbox.compare import Found, FoundBox, Text
from pyrepl.mailbox.folders import FolderOrder, FoundFolder, FoundFolders
from pyrepl.mailbox.gate_states import GateOrder, GateResult, GateWork
from pyrepl.mailbox.gatekeeping import Gatekeeping
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.store import (
    AddMessage,
    Ended,
    MakeBox,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    Result,
    SetFlags,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.uids import UidBlocks
from tests.simulation.mailbox.model_store import UNNAMED, ModelStore, Uids
from tests.simulation.mailbox.violation import Violation

DOVECOT = 0
"""Who has a lock, if not the keeper of this number."""
SIZE = 9
_BESIDE_A_DOVECOT = (Outcome.DONE, Outcome.TOO_LOW, Outcome.NO_TEXT, Outcome.HAS_MAIL)


def text_of(guid: str, text: str = UNNAMED) -> Text:
    """What a node finds that reads a message with this text."""
    number = guid.removeprefix("G") if text == UNNAMED else text.removeprefix("text")
    return Text(SIZE, 1, (int(number),))


class GatedStore(ModelStore):
    """One node's messages, and its gates."""

    def __init__(self, uids: Uids, blocks: UidBlocks) -> None:
        super().__init__(uids)
        self._blocks = blocks
        self.keeper: Gatekeeping | None = None
        """None once it is killed, or over."""
        self.keepers = DOVECOT
        """How many there were: each has its number in the locks that it keeps."""
        self.unlisted: dict[str, dict[str, tuple[str, ...]]] = {}
        """Mailbox -> messages without a UID, and their flags."""
        self.hurry: Callable[[str], None] = lambda box: None
        """Has the Dovecot that has a mailbox's lock finish at once."""
        self.freed: Callable[[str], None] = lambda box: None
        """Hears that nobody has a mailbox's lock any more."""
        self.unreadable: set[str] = set()
        """Mailboxes of which nothing can be told."""
        self._owners: dict[str, int] = {}
        self._touched: dict[str, set[str]] = {}
        """Mailbox that was told -> messages that a Dovecot has changed since."""
        self._uidvalidities: dict[str, int] = {}
        self._raised: dict[str, int] = {}

    # Locks

    def has_lock(self, box: str) -> bool:
        """Does anybody have it who is alive?"""
        owner = self._owners.get(box)
        return owner == DOVECOT or (owner == self.keepers and self.keeper is not None)

    def is_shut(self, box: str) -> bool:
        """Does the keeper have it?"""
        return self.has_lock(box) and self._owners[box] != DOVECOT

    def take(self, box: str) -> None:
        """A Dovecot does; a dead owner is overridden."""
        self._owners[box] = DOVECOT

    def release(self, box: str) -> None:
        """Whoever had it."""
        if self._owners.pop(box, None) is not None:
            self.freed(box)

    def keeper_died(self) -> None:
        self.keeper = None
        for box, owner in list(self._owners.items()):
            if owner != DOVECOT:
                self.freed(box)

    def new_keeper(self, keeper: Gatekeeping) -> None:
        self.keeper, self.keepers = keeper, self.keepers + 1

    # As GateFiles has it

    def shut(self, gate: bytes) -> bool:
        box = gate.decode()
        if box not in self.boxes:
            raise FileNotFoundError(2, "a mailbox was removed", box)
        if self._owners.get(box) == DOVECOT:
            return False
        self._owners[box] = self.keepers
        return True

    def open(self, gate: bytes) -> None:
        if self._owners.get(gate.decode()) == self.keepers:
            self.release(gate.decode())

    def part(self, gate: bytes, blocks: UidBlocks, place: int) -> bool:
        self._pass(gate.decode(), blocks.first(self.seen.get(gate.decode(), 0) + 1, place))
        return True

    # Gates

    def gate(self, order: GateOrder) -> GateResult:
        """Do what a gate needs."""
        box, gate = order.box, base64.b64encode(order.box.encode())
        if box not in self.boxes:
            return GateResult(why="it is not there")
        if self._owners.get(box) == DOVECOT:
            unsure = FoundBox((), is_whole=False, unsure=True)
            return GateResult(unsure) if order.work is GateWork.GLANCE else GateResult(is_busy=True)
        assert self.keeper is not None
        if box in self.unreadable and order.work is not GateWork.SHUT:
            return GateResult(why="it cannot be read")
        if order.work is GateWork.OPEN:
            self.keeper.hear(b"open " + gate)
            if self.seen.get(box, 0) + 1 < order.uidnext:
                self._pass(box, order.uidnext)
                self._raised[box] = order.uidnext
            self.open(box.encode())
            return GateResult()
        if order.work is GateWork.SHUT:
            self.shut(box.encode())
            self.keeper.hear(b"shut " + gate)
        if box in self.unreadable:
            return GateResult(why="it cannot be read", is_shut=True)
        return GateResult(self._found(order))

    def _found(self, order: GateOrder) -> FoundBox:
        box, is_glance = order.box, order.work is GateWork.GLANCE
        unlisted = self.unlisted.setdefault(box, {})
        if order.may_list and not is_glance:
            self.list_all(box)
        touched = None if order.is_whole else self._touched.get(box)
        here = self.boxes[box]
        there = {guid: has for guid, has in here.items() if has[0] != UNPLACED and (touched is None or guid in touched)}
        gone = frozenset() if touched is None else frozenset(touched - there.keys())
        next_uid = self.seen.get(box, 0) + 1
        is_unsure = is_glance and bool(gone or unlisted)
        if not is_unsure:
            self._touched[box] = set()
        return FoundBox(
            tuple(sorted(self._told(order, guid, *has) for guid, has in there.items())),
            None,
            len(unlisted),
            is_whole=touched is None,
            gone=frozenset() if is_glance else gone,
            unsure=is_unsure,
            next_uid=0 if is_unsure or next_uid == self._raised.get(box) else next_uid,
        )

    def _told(self, order: GateOrder, guid: str, uid: int, flags: tuple[str, ...]) -> Found:
        is_wanted = uid >= order.since or guid in order.wanted
        text = text_of(guid, self._text_in(order.box, guid)) if is_wanted else None
        return Found(uid, guid, frozenset(flags), text)

    def _text_in(self, box: str, guid: str) -> str:
        """A message that a Dovecot moved to another mailbox has the text that it had."""
        elsewhere = (text for (_, other), text in self.texts.items() if other == guid)
        return self.texts.get((box, guid)) or next(elsewhere, UNNAMED)

    def listing(self, order: FolderOrder) -> FoundFolders:
        """The user's mailboxes."""
        found = (
            FoundFolder(name, box, self._uidvalidities[box], self._has_mail(box))
            for box, name in sorted(self.names.items())
        )
        return FoundFolders(tuple(found), frozenset(self.subscribed & set(self.names.values())))

    def _shut_told(self, box: str) -> None:
        """A mailbox is made with its gate shut, and a Dovecot gives out no UID that is another node's."""
        if self.keeper is not None:
            self.shut(box.encode())
            self.keeper.hear(b"shut " + base64.b64encode(box.encode()))

    def _has_mail(self, box: str) -> bool:
        return bool(self.unlisted.get(box)) or any(uid != UNPLACED for uid, _ in self.boxes[box].values())

    # What a Dovecot does

    def list_all(self, box: str) -> None:
        """Messages without a UID get one, by whoever has the lock."""
        unlisted = self.unlisted.pop(box, {})
        for guid, flags in sorted(unlisted.items()):
            self.save(box, guid, flags)

    def save(self, box: str, guid: str, flags: tuple[str, ...]) -> int:
        """The next UID, which clients see."""
        uid = self.seen.get(box, 0) + 1
        self._show(box, guid, uid, flags)
        self.touch(box, guid)
        return uid

    def set_flags(self, box: str, guid: str, flags: frozenset[str]) -> None:
        self.boxes[box][guid] = (self.boxes[box][guid][0], tuple(sorted(flags)))
        self.touch(box, guid)

    def expunge(self, box: str, guid: str) -> None:
        del self.boxes[box][guid]
        self.touch(box, guid)

    def touch(self, box: str, guid: str) -> None:
        if box in self._touched:
            self._touched[box].add(guid)

    # Works

    def do(self, works: Sequence[Work]) -> list[Ended]:
        """A Dovecot may have given out the UID, or expunged what was to be copied."""
        ended = [Ended(work, result) for work, result in zip(works, self.perform(works))]
        for each in ended:
            if each.result.outcome not in _BESIDE_A_DOVECOT:
                raise Violation("I3", f"{each.result} of {each.work}")
        return ended

    def _do(self, work: Work) -> Result:
        if self._owners.get(work.box) == DOVECOT and not isinstance(work, SubscribeBox):
            self.hurry(work.box)
        if isinstance(work, RemoveBox):
            if work.box in self.boxes and self._has_mail(work.box):
                return Result(Outcome.HAS_MAIL)
            self.unlisted.pop(work.box, None)
            self._touched.pop(work.box, None)
            result = super()._do(work)
            self.release(work.box)
            return result
        if isinstance(work, RaiseNext) and work.uidnext > self.seen.get(work.box, 0) + 1:
            self._raised[work.box] = work.uidnext
        if isinstance(work, MakeBox):
            self._uidvalidities[work.box] = work.uidvalidity
        if isinstance(work, MakeBox) and work.box not in self.boxes:
            result = super()._do(work)
            self._shut_told(work.box)
            return result
        if isinstance(work, SetFlags | AddMessage | MoveMessage | RemoveMessage):
            self.touch(work.box, work.guid)
        before = self._next_place(work.box)
        result = super()._do(work)
        if self._next_place(work.box) != before and work.box in self.boxes:
            self._shut_told(work.box)
        return result

    def _next_place(self, box: str) -> int:
        """Whose is the next UID?"""
        return self._blocks.place(self.seen.get(box, 0) + 1)

    def _flags_of(self, work: SetFlags | AddMessage, known: tuple[str, ...]) -> tuple[str, ...]:
        """What a Dovecot changed of flags since stays changed."""
        if work.before is None:
            return work.flags
        flags, before = frozenset(work.flags), frozenset(work.before)
        return tuple(sorted((frozenset(known) - (before - flags)) | (flags - before)))
