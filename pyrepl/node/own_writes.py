"""What clients have written to a writable replica and its append-only file does not hold yet.

Such a write is no part of the stream, which is our master's; but the file must have it, or a start would lose it
(Redis's rule). It stands in the file behind the bytes of the stream that were applied before it, in a block that says
how long it is, so that a place in the file stays a place in the stream (aof/own_block.py).

`propagation` adds the writes, and the tail of the append-only file takes them.
"""

from __future__ import annotations

from collections import deque
from typing import final

from pyrepl.replication.feed import Feed
from pyrepl.resp.encoder import encode_command


@final
class OwnBlock:
    """The writes behind one cut of the stream. They begin and end in the database `db`, which the stream has selected
    there."""

    __slots__ = ("_db", "_feed", "_parts", "cut")

    def __init__(self, cut: int, db: int) -> None:
        self.cut = cut
        self._db = db
        self._feed = Feed()
        self._feed.db = db
        self._parts: list[bytes] = []

    def add(self, unit: list[tuple[int, bytes]]) -> int:
        """Append (database, bytes of a command) that take effect together; how many bytes they are."""
        raw = self._feed.feed_unit(unit)
        self._parts.append(raw)
        return len(raw)

    def commands(self) -> bytes:
        """All commands, with those that select databases."""
        back = b"" if self._feed.db == self._db else encode_command([b"SELECT", b"%d" % self._db])
        return b"".join(self._parts) + back


@final
class OwnWrites:
    """The blocks in the order of their cuts. Invariant: without `is_kept` there are none: no file follows the data."""

    __slots__ = ("blocks", "is_kept", "waiting_bytes")

    def __init__(self) -> None:
        self.blocks: deque[OwnBlock] = deque()
        self.is_kept = False
        self.waiting_bytes = 0
        """About how many bytes wait for the file."""

    def keep(self, is_kept: bool) -> None:
        """A file follows the data from now on, which holds all that was written before; or no file does any more."""
        self.is_kept = is_kept
        self.blocks.clear()
        self.waiting_bytes = 0

    def add(self, cut: int, db: int, unit: list[tuple[int, bytes]]) -> None:
        """Clients have written `unit`, as `OwnBlock.add` takes it. `cut` is the end of the stream, `db` what the stream
        has selected there."""
        if not self.is_kept or not unit:
            return
        if not self.blocks or self.blocks[-1].cut != cut:
            self.blocks.append(OwnBlock(cut, db))
        self.waiting_bytes += self.blocks[-1].add(unit)

    def take(self, block: OwnBlock) -> None:
        """The first block is in the file."""
        assert self.blocks[0] is block
        self.blocks.popleft()
        if not self.blocks:
            self.waiting_bytes = 0
