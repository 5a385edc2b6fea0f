"""A read position in the bytes at hand, that knows the difference between "not yet" and "never".

What the bytes mean is decided by length.py, strings.py and types/. Running out of bytes raises ShortInput with the
position that must be reached first, so that the reader waits for it instead of trying again at every chunk; bytes
that cannot be right raise Malformed, which the reader turns into CorruptData with type, key and offset.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, final

_U32_BE: Final = Struct(">I")
_U64_BE: Final = Struct(">Q")
_I64_LE: Final = Struct("<q")

UNLIMITED: Final = 1 << 63
"""Stands for "the length of the input is not known" (a diskless transfer)."""


@final
class ShortInput(Exception):
    """The item to be read ends behind the bytes at hand: try again when more have come."""


@final
class Malformed(Exception):
    """The bytes cannot be what they claim to be; the text says what was expected and what came."""


@final
class Cursor:
    """A position in `buf`, which holds the input's bytes [base, base + end).

    `mark` is the position up to which everything is understood: bytes left of it are never looked at again.
    `need` is the position that `end` must reach before trying again can help. `input_end` is the input's length in
    bytes where it is known: a declared length that runs past it is Malformed at once.

    Invariants: 0 <= mark <= pos <= end == len(buf).
    """

    __slots__ = ("base", "buf", "end", "input_end", "mark", "max_count", "max_string_bytes", "need", "pos")

    def __init__(self, max_string_bytes: int, max_count: int, input_end: int = UNLIMITED) -> None:
        self.buf = b""
        self.pos = 0
        self.mark = 0
        self.end = 0
        self.need = 0
        self.base = 0
        self.max_string_bytes = max_string_bytes
        self.max_count = max_count
        self.input_end = input_end

    def load(self, buf: bytes) -> None:
        """Go on with `buf`, whose first byte is the one at the mark of before."""
        self.base += self.mark
        self.buf = buf
        self.end = len(buf)
        self.pos = 0
        self.mark = 0
        self.need = 0

    def commit(self) -> None:
        """Everything up to the present position is understood, and is not looked at again."""
        self.mark = self.pos

    def advance(self, size: int) -> int:
        """Step over `size` bytes; the position where they begin. Raises ShortInput, Malformed past the input's end."""
        start = self.pos
        stop = start + size
        if stop > self.end:
            if self.base + stop > self.input_end:
                left = self.input_end - self.base - start
                raise Malformed(f"{size} bytes declared, but only {left} are left of the input")
            self.need = stop
            raise ShortInput
        self.pos = stop
        return start

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        start = self.advance(size)
        return self.buf[start : self.pos]

    def byte(self) -> int:
        """The next byte as a number from 0 to 255."""
        pos = self.pos
        if pos >= self.end:
            self.advance(1)
        self.pos = pos + 1
        return self.buf[pos]

    def u32_be(self) -> int:
        """The next 4 bytes, unsigned, most significant first."""
        start = self.advance(4)
        value: int = _U32_BE.unpack_from(self.buf, start)[0]
        return value

    def u64_be(self) -> int:
        """The next 8 bytes, unsigned, most significant first."""
        start = self.advance(8)
        value: int = _U64_BE.unpack_from(self.buf, start)[0]
        return value

    def i64_le(self) -> int:
        """The next 8 bytes, signed, least significant first: the format's milliseconds."""
        start = self.advance(8)
        value: int = _I64_LE.unpack_from(self.buf, start)[0]
        return value

    def why_not_count(self, count: int) -> str | None:
        """Why an aggregate cannot have `count` elements of at least one byte each, or None."""
        if count > self.max_count:
            return f"{count} elements declared, the limit is {self.max_count}"
        if count > self.input_end - self.base - self.pos:
            return f"{count} elements declared, but only {self.input_end - self.base - self.pos} bytes are left"
        return None
