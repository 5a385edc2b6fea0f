"""What is counted of a message's text while it passes: its size, and a CRC32C of every 64 KiB of it, unless it is very
large.

Not here: where the sums are kept, and what is done when they differ (the database's and the worker's).
"""

from __future__ import annotations

from typing import Final, final

from anycrc import Model

BLOCK_BYTES: Final = 64 * 1024
MOST_SUMMED_BYTES: Final = 256 * 1024 * 1024
"""A larger text has no sums, as they would not fit into a line. Inclusive."""


@final
class TextSums:
    """Fed with a text in pieces of any size; what it says is of all it was fed.

    Invariant: `_open_bytes` < BLOCK_BYTES; `_open` is the CRC32C of that many bytes at the end. Both and `_closed` are
    those of a text of MOST_SUMMED_BYTES at most.
    """

    __slots__ = ("_closed", "_crc32c", "_open", "_open_bytes", "size")

    def __init__(self) -> None:
        self._crc32c = Model("CRC32C")
        self._closed: list[int] = []
        self._open = 0
        self._open_bytes = 0
        self.size = 0
        """Bytes so far."""

    @property
    def sums(self) -> tuple[int, ...]:
        """The CRC32C of each block, the last one of what is left; empty for an empty text, and for one that is too
        large."""
        if self.size > MOST_SUMMED_BYTES:
            return ()
        return (*self._closed, self._open) if self._open_bytes else tuple(self._closed)

    def feed(self, data: bytes) -> None:
        """The next piece."""
        self.size += len(data)
        if self.size > MOST_SUMMED_BYTES:
            self._closed.clear()
            return
        view = memoryview(data)
        while view:
            taken = view[: BLOCK_BYTES - self._open_bytes]
            self._open = self._crc32c.calc(bytes(taken), self._open)
            self._open_bytes += len(taken)
            view = view[len(taken) :]
            if self._open_bytes == BLOCK_BYTES:
                self._closed.append(self._open)
                self._open = self._open_bytes = 0


def sums_of(data: bytes) -> tuple[int, ...]:
    """Of a whole text."""
    counted = TextSums()
    counted.feed(data)
    return counted.sums


def first_difference(stored: tuple[int, ...], read: tuple[int, ...]) -> int | None:
    """The byte at which the first block begins that is not as stored; None if all are."""
    if stored == read:
        return None
    blocks = zip(stored, read)
    same = next((index for index, (left, right) in enumerate(blocks) if left != right), min(len(stored), len(read)))
    return same * BLOCK_BYTES
