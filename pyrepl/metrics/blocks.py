"""A stream of bytes as blocks of whole lines, whatever it holds: memory stays bounded.

What a block's lines mean is jsonlines.py's and textlines.py's; which part of which file is read, plan.py's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

BLOCK_BYTES: Final = 4 << 20
MAX_LINE_BYTES: Final = 1 << 20
"""A longer line is none of a log; it is told, and not read into memory as a whole. Inclusive."""
SHOWN_BYTES: Final = 2000
"""Of a line too long so much is kept to be shown."""


class Source(Protocol):
    """What can be read: a file, or what a packed one unpacks to."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


class Block(NamedTuple):
    """Whole lines, the last one ended; the first byte stands at `start` in the file."""

    start: int
    data: bytes


class TooLong(NamedTuple):
    """A line of more than MAX_LINE_BYTES: where it begins, how long it is, how it begins."""

    start: int
    size: int
    head: bytes


def blocks(source: Source, start: int, end: int | None, block_bytes: int = BLOCK_BYTES) -> Iterator[Block | TooLong]:
    """Cut what comes from `source`, which stands at `start`, into lines up to the offset `end` (None: all there is).

    A last line without an end is given one.
    """
    rest = b""
    at = start
    while True:
        wanted = block_bytes if end is None else min(block_bytes, end - at - len(rest))
        data = source.read(wanted) if wanted > 0 else b""
        if not data:
            break
        cut = data.rfind(b"\n") + 1
        if cut:
            # One copy: of a block's memory, to come by it is what takes time.
            whole = b"".join((rest, memoryview(data)[:cut])) if rest or cut < len(data) else data
            yield from _without_giants(at, whole)
            at += len(whole)
            rest = data[cut:]
            continue
        rest += data
        if len(rest) > MAX_LINE_BYTES:
            giant, rest, at = _giant(source, rest, at, end, block_bytes)
            yield giant
            # What came behind it may hold whole lines already.
            whole = rest[: rest.rfind(b"\n") + 1]
            if whole:
                yield from _without_giants(at, whole)
                at, rest = at + len(whole), rest[len(whole) :]
    if rest:
        yield from _without_giants(at, rest if rest.endswith(b"\n") else rest + b"\n")


def _giant(source: Source, rest: bytes, at: int, end: int | None, block_bytes: int) -> tuple[TooLong, bytes, int]:
    """Pass over the line that `rest` begins; returns it, what was read behind it, and where that begins."""
    head, size = rest[:SHOWN_BYTES], len(rest)
    while True:
        wanted = block_bytes if end is None else min(block_bytes, end - at - size)
        data = source.read(wanted) if wanted > 0 else b""
        cut = data.find(b"\n")
        if not data:
            return TooLong(at, size, head), b"", at + size
        if cut >= 0:
            size += cut
            return TooLong(at, size, head), data[cut + 1 :], at + size + 1
        size += len(data)


def _without_giants(at: int, data: bytes) -> Iterator[Block | TooLong]:
    """The lines as one block when none of them is too long, else in pieces."""
    if len(data) <= MAX_LINE_BYTES:
        yield Block(at, data)
        return
    begin = line = 0
    while line < len(data):
        end = data.index(b"\n", line)
        if end - line > MAX_LINE_BYTES:
            if line > begin:
                yield Block(at + begin, data[begin:line])
            yield TooLong(at + line, end - line, data[line : line + SHOWN_BYTES])
            begin = line = end + 1
            continue
        near = data.rfind(b"\n", line, line + MAX_LINE_BYTES + 1)
        line = max(near, end) + 1
    if begin < len(data):
        yield Block(at + begin, data[begin:])
