"""Texts are read again at leisure, and compared with the checksums of their rows; what is damaged is fetched anew.

A pass goes through all mailboxes by GUID, and through the messages of each by GUID, a few at a time:

    order    so many pieces of texts of one mailbox are to be read, as much as the pace allows for a tenth of a second
    done     what was read; the next order is due when the pace allows it, and at the earliest after three times as long
             as the reading took, so that it never has more than a quarter of a worker's time

With `mailbox-scrub` a pass begins each day; MAILBOX SCRUB begins one at once. A text that is not there is none of ours:
gates and the start look after those.

Not here: reading (the daemon's), fetching (mending.py), and the exchange of the file (the store).
"""

from __future__ import annotations

import enum
from collections.abc import Container
from typing import Final, NamedTuple, final

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.maildir.text_sums import BLOCK_BYTES
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.sending import Counted

EVERY_S: Final = 86_400.0
"""From the beginning of a pass to that of the next one, with `mailbox-scrub`."""
DEFAULT_PACE: Final = 4 * 1024 * 1024
"""Bytes a second of a pass that MAILBOX SCRUB began without `mailbox-scrub`."""
SLICE_S: Final = 0.1
"""An order is as much as the pace allows for so long."""
MOST_BYTES: Final = 1024 * 1024
"""Of one order."""
MOST_TEXTS: Final = 100
"""Of one order."""
TEXT_COSTS_BYTES: Final = 4096
"""What a text, and a mailbox, costs besides its own bytes, so that small ones are not read faster than a disk can."""
SHARE: Final = 0.25
"""Of a worker's time, at most."""
MOST_DAMAGED: Final = 1000
"""Texts that wait to be mended; beyond, none is read before some are. A disk may be going."""

CROWDED_S: Final = 1.0
"""After so long it is looked again whether some are."""


class Piece(NamedTuple):
    """A part of a text: blocks from the block `first` on, which have these checksums. `size`: the whole text's."""

    guid: str
    size: int
    first: int
    sums: tuple[int, ...]

    @property
    def start(self) -> int:
        """Its first byte."""
        return self.first * BLOCK_BYTES

    @property
    def length(self) -> int:
        """In bytes."""
        return max(0, min(len(self.sums) * BLOCK_BYTES, self.size - self.start))


class ScrubOrder(NamedTuple):
    """Read these, of one mailbox."""

    user: str
    box: str
    pieces: tuple[Piece, ...]


class Verdict(enum.Enum):
    """What was read."""

    SAME = "same"
    DAMAGED = "damaged"
    NOT_THERE = "not there"


class TextRead(NamedTuple):
    """Of one piece. `how`: in which way it is damaged, for people."""

    verdict: Verdict
    how: str = ""


NOT_THERE: Final = TextRead(Verdict.NOT_THERE)
SAME: Final = TextRead(Verdict.SAME)


@final
class Pass:
    """One time through all texts."""

    def __init__(self, at: float) -> None:
        self.at: Final = at
        self.texts = 0
        self.bytes = 0
        self.damaged = 0
        self.is_over = False
        self.box = ""
        """The mailbox that is read; with `is_read` the last one that was."""
        self.is_read = False
        self.after = ""
        """The message up to which it is read."""
        self.part = ("", 0)
        """The message that is read in part, and its next block."""


@final
class Scrubbing:
    """The pass that is under way, or was last. At most one order is not done."""

    def __init__(self, core: Core) -> None:
        self._core: Final = core
        self.last: Pass | None = None
        self._is_wanted = False
        self._next_at = float("-inf")
        self._asked: ScrubOrder | None = None

    @property
    def is_under_way(self) -> bool:
        return self._is_wanted or (self.last is not None and not self.last.is_over)

    def begin(self) -> None:
        """An operator wants a pass from the beginning."""
        self._is_wanted = True

    def order(self, pace: int, standing: Container[str], now: float) -> ScrubOrder | None:
        """What is to be read now; it is to be told as done. `pace`: `mailbox-scrub`, bytes a second, 0 for off.
        `standing`: users whose disk refuses."""
        if self._asked is not None or now < self._next_at:
            return None
        if len(self._core.missing) >= MOST_DAMAGED:
            self._next_at = now + CROWDED_S
            return None
        passing = self._passing(pace, now)
        box = None if passing is None else self._box(passing)
        if passing is None or box is None:
            return None
        pace = pace or DEFAULT_PACE
        room = max(BLOCK_BYTES, min(MOST_BYTES, int(pace * SLICE_S)))
        pieces = [] if box.user in standing else self._pieces(passing, room)
        cost = TEXT_COSTS_BYTES * (1 + len(pieces)) + sum(piece.length for piece in pieces)
        self._next_at = now + cost / pace
        if pieces:
            self._asked = ScrubOrder(box.user, box.guid, tuple(pieces))
        elif box.user in standing:
            passing.is_read = True
        return self._asked

    def done(self, order: ScrubOrder, reads: tuple[TextRead, ...], took_s: float, now: float) -> None:
        """What was read; none if it could not be. `took_s`: how long that took."""
        if order is not self._asked or self.last is None:
            return
        self._asked = None
        self._next_at = max(self._next_at, now + took_s * (1 / SHARE - 1))
        for piece, read in zip(order.pieces, reads):
            row = self._core.rows.message(order.box, piece.guid)
            # Another text may have come under this GUID meanwhile.
            if row is not None and row.sums[piece.first : piece.first + len(piece.sums)] == piece.sums:
                self._take(order, piece, read, self.last)

    def next_deadline(self) -> float:
        """When an order may be due; the next day's pass waits for any other reason to look."""
        return self._next_at if self.is_under_way and self._asked is None else float("inf")

    # Inside

    def _take(self, order: ScrubOrder, piece: Piece, read: TextRead, passing: Pass) -> None:
        if read.verdict is Verdict.NOT_THERE:
            return
        passing.bytes += piece.length
        passing.texts += piece.first == 0
        self._core.count(Counted.SCRUBBED_BYTES, piece.length)
        if read.verdict is Verdict.DAMAGED:
            passing.damaged += 1
            self._core.damaged(order.user, order.box, piece.guid, read.how)

    def _passing(self, pace: int, now: float) -> Pass | None:
        """The pass that is under way; it may begin now."""
        is_due = self.last is None or (self.last.is_over and now >= self.last.at + EVERY_S)
        if self._is_wanted or (pace and is_due):
            self._is_wanted = False
            self.last = Pass(now)
        return None if self.last is None or self.last.is_over else self.last

    def _box(self, passing: Pass) -> BoxRow | None:
        """The mailbox that is read, or the next one; None behind the last one, where the pass is over."""
        found = None if passing.is_read else self._core.rows.box(passing.box)
        if found is None:
            found = next(iter(self._core.rows.boxes_after(passing.box, 1)), None)
            if found is None:
                passing.is_over = True
                told = f"{passing.texts} texts, {passing.bytes} bytes, {passing.damaged} damaged"
                self._core.note("scrub_done", told)
            else:
                passing.box, passing.is_read, passing.after, passing.part = found.guid, False, "", ("", 0)
        return found

    def _pieces(self, passing: Pass, room: int) -> list[Piece]:
        """Of the mailbox, `room` bytes about, at least a block; and go on behind them. A text without checksums is
        passed over."""
        pieces: list[Piece] = []
        rows = self._core.rows.messages_by_guid(passing.box, passing.after, "", MOST_TEXTS)
        passing.is_read = not rows
        for row in rows:
            if room <= 0:
                break
            if row.sums or not row.size:
                piece = _piece(row, passing.part, room)
                pieces.append(piece)
                room -= piece.length + TEXT_COSTS_BYTES
                end = piece.first + len(piece.sums)
                if end < len(row.sums):
                    passing.part = (row.guid, end)
                    break
            passing.after, passing.part = row.guid, ("", 0)
        return pieces


def _piece(row: MessageRow, part: tuple[str, int], room: int) -> Piece:
    first = part[1] if part[0] == row.guid else 0
    return Piece(row.guid, row.size, first, row.sums[first : first + max(1, room // BLOCK_BYTES)])
