"""What is counted of a message's text while it passes: its sizes, and a CRC32C of every 64 KiB of it.

Not here: where the sums are kept, and what is done when they differ (the database's and the worker's).
"""

from __future__ import annotations

from typing import Final, final

from anycrc import Model

from pyrepl.mailbox.maildir.filename import Sizes

BLOCK_BYTES: Final = 64 * 1024
_LF: Final = 0x0A


@final
class TextSums:
    """Fed with a text in pieces of any size; what it says is of all it was fed.

    Invariant: `_open_bytes` < BLOCK_BYTES; `_open` is the CRC32C of that many bytes at the end.
    """

    __slots__ = ("_closed", "_crc32c", "_last_was_cr", "_lone_lfs", "_open", "_open_bytes", "_size")

    def __init__(self) -> None:
        self._crc32c = Model("CRC32C")
        self._closed: list[int] = []
        self._open = 0
        self._open_bytes = 0
        self._size = 0
        self._lone_lfs = 0
        self._last_was_cr = False

    @property
    def sizes(self) -> Sizes:
        return Sizes(self._size, self._size + self._lone_lfs)

    @property
    def sums(self) -> tuple[int, ...]:
        """The CRC32C of each block, the last one of what is left; empty for an empty text."""
        return (*self._closed, self._open) if self._open_bytes else tuple(self._closed)

    def feed(self, data: bytes) -> None:
        """The next piece."""
        if not data:
            return
        self._count(data)
        view = memoryview(data)
        while view:
            taken = view[: BLOCK_BYTES - self._open_bytes]
            self._open = self._crc32c.calc(bytes(taken), self._open)
            self._open_bytes += len(taken)
            view = view[len(taken) :]
            if self._open_bytes == BLOCK_BYTES:
                self._closed.append(self._open)
                self._open = self._open_bytes = 0

    def _count(self, data: bytes) -> None:
        self._size += len(data)
        self._lone_lfs += data.count(b"\n") - data.count(b"\r\n")
        if self._last_was_cr and data[0] == _LF:
            self._lone_lfs -= 1
        self._last_was_cr = data.endswith(b"\r")


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
