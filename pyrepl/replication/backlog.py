"""The newest bytes of our replication stream: one copy, for every replica and for partial resync.

Not here: what the bytes mean (feed.py writes them, link.py's Apply brings them) and who may continue (psync.py).

Shape: sealed blocks of at least BLOCK_SIZE bytes, and a tail of the pieces appended since. A replica in step reads
the last piece itself; one that lags reads whole blocks. Nothing is copied for a reader, but the tail is joined once
when somebody reads from its middle.

Theory of the pins (Redis 7.0, "shared replication buffer"): each attached replica has a Cursor, and bytes that it has
not been handed yet stay, whatever the capacity says. The output-buffer limit of its session bounds that.

    start                 cursor               end
      | <- dropped when ->  | <- pinned ------> |
      |    over capacity    |                   |
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Final, final

from pyrepl.units import Offset

BLOCK_SIZE: Final = 32 * 1024
"""Small appends are gathered into blocks of at least so many bytes."""

_BLOCK_OVERHEAD: Final = 64
"""What CPython spends on a block besides its bytes: object header and two deque slots, rounded up."""


@final
class Cursor:
    """One replica's place: it was handed everything left of `at`. Made by Backlog.attach, ended by Backlog.detach."""

    __slots__ = ("at",)

    def __init__(self, at: Offset) -> None:
        self.at = at

    def advance(self, size: int) -> None:
        """`size` more bytes were handed to the replica's connection."""
        assert size >= 0
        self.at = Offset(self.at + size)


@final
class Backlog:
    """The newest bytes of our replication stream, kept for partial resync.

    Holds the half-open range [start, end). Offsets are cuts: how many stream bytes lie to the left.
    While inactive (no replica came yet, or it was freed) it holds nothing, and `end` only remembers our offset.

    Invariants: 0 <= start <= end; end - start <= capacity unless a cursor lies at `start` or left of end - capacity;
    start <= cursor.at <= end for each cursor.
    INFO prints start + 1, as Redis numbers bytes from 1 (repl_backlog_first_byte_offset), and end - start as histlen.
    """

    __slots__ = ("_block_starts", "_blocks", "_cursors", "_tail", "_tail_start", "active", "capacity", "end", "start")

    def __init__(self, capacity: int) -> None:
        assert capacity > 0
        self.capacity = capacity
        self.active = False
        self.start: int = 0
        self.end: int = 0
        self._blocks: deque[bytes] = deque()
        self._block_starts: deque[int] = deque()
        self._tail: list[bytes] = []
        self._tail_start: int = 0
        self._cursors: list[Cursor] = []

    def create(self) -> None:
        """Begin to keep bytes, from the present `end` on. Redis does so with the first replica, and on replicas."""
        assert not self.active
        assert not self._cursors
        self.active = True
        self._clear()

    def free(self) -> None:
        """Hold nothing any more; `end` stays. No cursor may be attached."""
        assert not self._cursors
        self.active = False
        self._clear()

    def restart(self, at: Offset) -> None:
        """Hold nothing, at the cut `at` of another stream: a full resync was loaded. No cursor may be attached."""
        assert not self._cursors
        assert at >= 0
        self.end = at
        self._clear()

    def refill(self, data: bytes) -> None:
        """Take back the bytes left of `end` from the append-only file, after a restart, so that replicas that hold less
        can be continued. Only while nothing is held; of `data` the newest bytes are taken, up to the capacity."""
        assert self.active and self.start == self.end and not self._tail
        data = data[max(0, len(data) - self.capacity) :]
        assert len(data) <= self.end
        if data:
            self.start = self.end - len(data)
            self._blocks.append(data)
            self._block_starts.append(self.start)

    def append(self, data: bytes) -> None:
        """Add bytes at `end`. Called once per batch of writes, or with a master's bytes as they came."""
        assert self.active
        size = len(data)
        if size == 0:
            return
        self._tail.append(data)
        self.end += size
        if self.end - self._tail_start >= BLOCK_SIZE:
            self._seal_tail()
        if self.end - self.start > self.capacity:
            self._trim()

    def covers(self, held: int) -> bool:
        """Can a replica that holds exactly `held` bytes be continued? At `end` nothing is missing: the link resumes."""
        return self.active and self.start <= held <= self.end

    def read(self, at: int, max_bytes: int) -> list[bytes | memoryview]:
        """The bytes from the cut `at` on, at most `max_bytes`, in pieces fit for a scatter write; [] at `end`.

        Raises ValueError if the backlog no longer holds, or not yet, the bytes from `at`.
        """
        if not self.start <= at <= self.end:
            raise ValueError(f"asked for stream bytes from {at}, held is [{self.start}, {self.end})")
        tail = self._tail
        if tail:
            last = tail[-1]
            if at + len(last) == self.end and len(last) <= max_bytes:
                return [last]
        pieces: list[bytes | memoryview] = []
        room = max_bytes
        if at < self._tail_start:
            room = self._read_blocks(at, room, pieces)
            at = self._tail_start
        if room > 0 and at < self.end:
            joined = self._join_tail()
            pieces.append(_part(joined, at - self._tail_start, room))
        return pieces

    def attach(self, at: Offset) -> Cursor:
        """Pin the bytes from the cut `at` on for one replica. Raises ValueError if they are not held."""
        if not self.covers(at):
            raise ValueError(f"cannot attach at {at}, held is [{self.start}, {self.end})")
        cursor = Cursor(at)
        self._cursors.append(cursor)
        return cursor

    def detach(self, cursor: Cursor) -> None:
        """The replica of `cursor` is gone: what only it needed may go. Raises ValueError if it was not attached."""
        self._cursors.remove(cursor)
        self._trim()

    def resize(self, capacity: int) -> None:
        """Change the capacity, in bytes, at once (repl-backlog-size). Growing brings nothing back."""
        assert capacity > 0
        self.capacity = capacity
        self._trim()

    @property
    def held_bytes(self) -> int:
        """Stream bytes one can ask for: repl_backlog_histlen."""
        return self.end - self.start

    @property
    def memory_bytes(self) -> int:
        """About what the blocks cost, those parts included that are already cut off: mem_replication_backlog."""
        first = self._block_starts[0] if self._block_starts else self._tail_start
        return self.end - first + _BLOCK_OVERHEAD * (len(self._blocks) + len(self._tail))

    @property
    def lowest_pin(self) -> Offset | None:
        """The cut of the replica that lags most, None without replicas."""
        return min((cursor.at for cursor in self._cursors), default=None)

    def _clear(self) -> None:
        self.start = self.end
        self._blocks.clear()
        self._block_starts.clear()
        self._tail = []
        self._tail_start = self.end

    def _seal_tail(self) -> None:
        """Make the tail a block; a single big piece becomes one without being copied."""
        tail = self._tail
        self._blocks.append(tail[0] if len(tail) == 1 else b"".join(tail))
        self._block_starts.append(self._tail_start)
        self._tail = []
        self._tail_start = self.end

    def _join_tail(self) -> bytes:
        tail = self._tail
        if len(tail) != 1:
            tail = self._tail = [b"".join(tail)]
        return tail[0]

    def _trim(self) -> None:
        """Move `start` up to what capacity and cursors allow, and drop the blocks that lie left of it."""
        cut = self.end - self.capacity
        for cursor in self._cursors:
            if cursor.at < cut:
                cut = cursor.at
        if cut <= self.start:
            return
        self.start = cut
        blocks = self._blocks
        starts = self._block_starts
        while blocks and starts[0] + len(blocks[0]) <= cut:
            blocks.popleft()
            starts.popleft()

    def _read_blocks(self, at: int, room: int, pieces: list[bytes | memoryview]) -> int:
        """Add the sealed bytes from `at` on to `pieces`; how much of `room` is left."""
        index = bisect_right(self._block_starts, at) - 1
        skip = at - self._block_starts[index]
        while room > 0 and index < len(self._blocks):
            piece = _part(self._blocks[index], skip, room)
            pieces.append(piece)
            room -= len(piece)
            skip = 0
            index += 1
        return room


def _part(block: bytes, skip: int, max_bytes: int) -> bytes | memoryview:
    """`block[skip : skip + max_bytes]` without a copy."""
    if skip == 0 and len(block) <= max_bytes:
        return block
    return memoryview(block)[skip : skip + max_bytes]
