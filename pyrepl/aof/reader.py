"""Commands of an append-only file in whole units: MULTI to EXEC together, never half of them.

Redis writes plain arrays and, with aof-timestamp-enabled, lines `#TS:<seconds>` between them, which mean nothing to a
load. What clients wrote to a writable replica stands in blocks, each of which is a unit (own_block.py).
A file that was cut (a crash) ends in the middle of a unit; `end` tells where the last whole one ends, and it is
cut there. Anything else that cannot be read is corrupt. Source: Redis 7.0 `loadSingleAppendOnlyFile`.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.aof.own_block import OWN, Aside
from pyrepl.errors import CorruptData
from pyrepl.resp.parser import UNLIMITED, Batch, Parser

_STAR: Final = 0x2A
_HASH: Final = 0x23
_OPENS: Final = frozenset({b"MULTI", b"multi"})
_CLOSES: Final = frozenset({b"EXEC", b"exec", b"DISCARD", b"discard"})


@final
class UnitReader:
    """Reads commands from byte `start` of a file on.

    Invariants: `start` <= `end` <= `read`; `_held` are the commands of a unit that is not closed yet, `_own` are the
    first byte of the own block that is being read and the byte behind it; (0, 0) outside of one.
    """

    __slots__ = ("_held", "_open", "_own", "_parser", "aside", "end", "read")

    def __init__(self, start: int = 0, aside: Aside | None = None) -> None:
        self.aside = Aside() if aside is None else aside
        """What of the whole units is no part of the stream."""
        self._own = (0, 0)
        self.end = start
        """The byte behind the last whole unit."""
        self.read = start
        """The byte behind what was fed."""
        self._held: list[list[bytes]] = []
        self._open = False
        self._parser = Parser(max_bulk_bytes=UNLIMITED, max_args=UNLIMITED, query_buffer_bytes=UNLIMITED)

    def feed(self, data: bytes) -> list[list[bytes]]:
        """The commands of the units that `data` completes. Raises CorruptData with the byte of the file."""
        whole: list[list[bytes]] = []
        base = self.read - self._parser.pending_bytes
        self.read += len(data)
        while True:
            batch = self._parser.feed(data)
            self._take(batch, base, whole)
            base += batch.size
            if batch.error is not None:
                raise CorruptData(f"bad file format: {batch.error.decode('utf-8', 'replace')}", base)
            if not batch.more:
                return whole
            data = b""

    def _take(self, batch: Batch, base: int, whole: list[list[bytes]]) -> None:
        raw = batch.raw
        at = 0
        for argv, end in zip(batch.commands, batch.ends, strict=True):
            first = raw[at]
            if first == _STAR:
                self._held.append(argv)
                if argv[0] in _OPENS:
                    self._open = True
                elif argv[0] in _CLOSES:
                    self._open = False
            elif first == _HASH:
                self._read_line(argv, base + at, base + end)
            else:
                raise CorruptData(f"bad file format: expected '*', found {raw[at : at + 1]!r}", base + at)
            if not self._open and not self._is_inside(base + end):
                whole += self._held
                self._held.clear()
                self.end = base + end
            at = end

    def _read_line(self, argv: list[bytes], start: int, end: int) -> None:
        """A line that is no command, [start, end) of the file."""
        own = OWN.fullmatch(argv[0]) if len(argv) == 1 and not self._open else None
        if self._own[1]:
            return
        if own is None or own[1] == b"0":
            self.aside.add(start, end)
        else:
            self._own = (start, end + int(own[1]))

    def _is_inside(self, end: int) -> bool:
        """Is the own block not over at byte `end`, where a command ends?"""
        start, own_end = self._own
        if end < own_end:
            return True
        if own_end:
            if end > own_end:
                raise CorruptData(f"bad file format: what clients wrote ends at byte {own_end}, inside a command", end)
            self.aside.add(start, end)
            self._own = (0, 0)
        return False
