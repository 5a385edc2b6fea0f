"""A stream of this node alone whose newest rows are kept in memory: `sync`, the node's own events, and `mailboxes`,
what becomes of the mailboxes that it keeps.

Not here: what a row holds (observability/event.py, mailbox/told.py).

Rows count up by one from the Unix time in ms at which the node started, so those of an earlier run are always smaller:
they are answered as too old, never taken for others. Behind that number a token has the digits of the node's name
(history_digits.py), as another node may have started at the same time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import islice
from typing import final

from pyrepl.changes.block import Block
from pyrepl.changes.history_digits import digits_of, split_token, token_at
from pyrepl.changes.unavailable import Unavailable

_ROWS_AT_ONCE = 1000


@final
class RecentSource:
    """Invariants: `_rows` has the tokens (current - len(_rows), current], at most `capacity` of them."""

    def __init__(self, stream: str, writer: str, first: int, capacity: int) -> None:
        """`first` is the place to begin behind; `capacity` counts rows; `writer` names the node."""
        assert capacity > 0 and first >= 0
        self._digits = digits_of(writer)
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
        """The oldest place one can go on from."""
        return self.current - len(self._rows)

    def streams(self) -> list[str]:
        return [self.stream]

    def writers(self, stream: str) -> list[str]:
        return [self.writer]

    def head(self, stream: str, writer: str | None) -> int | None:
        return self.current if stream == self.stream and writer in (None, self.writer) else None

    def token_at(self, at: int) -> int:
        return token_at(at, self._digits)

    def at(self, token: int) -> int:
        return split_token(token)[0]

    def why_not(self, stream: str, writer: str | None, token: int | None, replid: str) -> str | None:
        if token is None:
            return None
        at, digits = split_token(token)
        if token and (digits != self._digits or at > self.current):
            return (
                f"FORKED token {token} is not of this node, which is at {self.token_at(self.current)}: {stream} is each"
                " node's own"
            )
        return self._too_old(at)

    def _too_old(self, at: int) -> str | None:
        if at >= self.oldest:
            return None
        oldest = self.token_at(self.oldest)
        return f"TOOOLD {oldest} token {self.token_at(at)} is too old: the oldest token available is {oldest}"

    def read(self, stream: str, writer: str | None, after: int, want_bytes: int) -> Block:
        reason = self._too_old(after)
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
        return Block(self.stream, self.writer, after, after + len(rows), facts, self._digits)
