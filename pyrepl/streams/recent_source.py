"""A stream of this node alone whose newest rows are kept in memory: `sync`, the node's own events.

Not here: what an event's record holds (observability/event.py).

Tokens begin beyond the Unix time in ms at which the node started and count up by one, so those of an earlier run are
always smaller: they are answered as too old, never taken for others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import islice
from typing import final

from pyrepl.streams.block import Block
from pyrepl.streams.unavailable import Unavailable

_ROWS_AT_ONCE = 1000


@final
class RecentSource:
    """Invariants: `_rows` has the tokens (current - len(_rows), current], at most `capacity` of them."""

    def __init__(self, stream: str, writer: str, first: int, capacity: int) -> None:
        """`first` is the token to begin behind; `capacity` counts rows."""
        assert capacity > 0 and first >= 0
        self.stream = stream
        self.writer = writer
        self.capacity = capacity
        self.current = first
        self._rows: deque[str] = deque()

    def append(self, row: str) -> None:
        """A row, as JSON text."""
        self._rows.append(row)
        self.current += 1
        while len(self._rows) > self.capacity:
            self._rows.popleft()

    @property
    def oldest(self) -> int:
        """The oldest token one can go on from."""
        return self.current - len(self._rows)

    def streams(self) -> list[str]:
        return [self.stream]

    def writers(self, stream: str) -> list[str]:
        return [self.writer]

    def head(self, stream: str, writer: str | None) -> int | None:
        return self.current if stream == self.stream and writer in (None, self.writer) else None

    def why_not(self, stream: str, writer: str | None, token: int | None, replid: str) -> str | None:
        if token is None:
            return None
        if token > self.current:
            return f"FORKED token {token} is not of this node, which is at {self.current}: {stream} is each node's own"
        if token < self.oldest:
            return f"TOOOLD {self.oldest} token {token} is too old: the oldest token available is {self.oldest}"
        return None

    def read(self, stream: str, writer: str | None, after: int, want_bytes: int) -> Block:
        reason = self.why_not(stream, writer, after, "")
        if reason is not None:
            raise Unavailable(reason)
        first = after - self.oldest
        rows = list(islice(self._rows, first, first + _ROWS_AT_ONCE))
        sizes: list[int] = []
        total = 0
        for row in rows:
            total += len(row)
            sizes.append(total)
        rows = rows[: max(1, bisect_right(sizes, want_bytes))]
        facts = [(after + index, [row]) for index, row in enumerate(rows, 1)]
        return Block(self.stream, self.writer, after, after + len(rows), facts)
