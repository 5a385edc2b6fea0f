"""What the libraries struct and cmsgpack compute on bytes: the format strings of struct, and unpacking of MessagePack.

Results and errors are those of the C libraries that Redis has. Errors are given as text, as Lua raises them.
"""

from __future__ import annotations

import struct
from typing import Final

from pyrepl.scripting.numbers import as_number, kind_of
from pyrepl.scripting.values import Tokens

_SIZES: Final = {"b": 1, "B": 1, "h": 2, "H": 2, "l": 8, "L": 8, "T": 8, "i": 4, "I": 4, "f": 4, "d": 8}
_MOST_INTEGER: Final = 32
_NATIVE_ALIGNMENT: Final = 8


class PackingError(Exception):
    """The text of an error for the script."""


def pack_float(value: float) -> bytes:
    """A number that is no integer as MessagePack: 4 bytes where these lose nothing, else 8."""
    try:
        if struct.unpack(">f", struct.pack(">f", value))[0] == value:
            return b"\xca" + struct.pack(">f", value)
    except OverflowError:
        pass
    return b"\xcb" + struct.pack(">d", value)


class _Format:
    """The items of a format of struct: (letter, size in bytes, offset after its padding)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.little = True
        self._align = 1

    def next(self, offset: int) -> tuple[str, int, int] | None:
        """The next item, with the padding bytes before it; None at the end. Raises PackingError."""
        text = self._text
        while self._at < len(text):
            letter = text[self._at]
            self._at += 1
            if letter == " ":
                continue
            if letter == "<":
                self.little = True
            elif letter == ">":
                self.little = False
            elif letter == "!":
                self._align = self._number(_NATIVE_ALIGNMENT)
                if self._align & (self._align - 1):
                    raise PackingError("alignment is not a power of 2")
            else:
                size = self._size(letter)
                return letter, size, self._padding(letter, size, offset)
        return None

    def _size(self, letter: str) -> int:
        if letter in "iI":
            size = self._number(4)
            if size > _MOST_INTEGER:
                raise PackingError(f"integral size {size} is larger than limit of {_MOST_INTEGER}")
            return size
        if letter == "x":
            return 1
        if letter == "c":
            return self._number(1)
        if letter == "s":
            return 0
        if letter in _SIZES:
            return _SIZES[letter]
        raise PackingError(f"invalid format option '{letter}'")

    def _number(self, default: int) -> int:
        start = self._at
        while self._at < len(self._text) and self._text[self._at].isdigit():
            self._at += 1
        if start == self._at:
            return default
        number = int(self._text[start : self._at])
        if number > 0x7FFFFFFF:
            raise PackingError("integral size overflow")
        return number

    def _padding(self, letter: str, size: int, offset: int) -> int:
        if size == 0 or letter in "cx":
            return 0
        step = min(size, self._align)
        return 0 if step <= 1 else -offset % step


def struct_pack(form: str, values: list[object], most_bytes: int) -> bytes:
    """`values` (bytes, int and float) packed by a format. Raises PackingError, also beyond `most_bytes`."""
    out = bytearray()
    items = _Format(form)
    used = 0
    while (item := items.next(len(out))) is not None:
        letter, size, padding = item
        if len(out) + size + padding > most_bytes:
            raise PackingError("not enough memory")
        out += bytes(padding)
        if letter == "x":
            out += b"\0"
            continue
        if used >= len(values):
            kind = "string" if letter in "cs" else "number"
            raise PackingError(f"bad argument #{used + 2} to 'pack' ({kind} expected, got no value)")
        value = values[used]
        used += 1
        if letter in "cs":
            out += _text(value, letter, size, used)
        elif letter in "fd":
            code = ("<" if items.little else ">") + letter
            try:
                out += struct.pack(code, _number(value, used))
            except OverflowError:
                out += struct.pack(code, float("inf") if _number(value, used) > 0 else float("-inf"))
        else:
            number = _integer(_number(value, used))
            out += (number & ((1 << (8 * size)) - 1)).to_bytes(size, "little" if items.little else "big")
    return bytes(out)


def _number(value: object, used: int) -> float:
    number = as_number(value)
    if number is None:
        raise PackingError(f"bad argument #{used + 1} to 'pack' (number expected, got {kind_of(value)})")
    return number


def _text(value: object, letter: str, size: int, used: int) -> bytes:
    if isinstance(value, int | float):
        value = b"%.14g" % value
    if not isinstance(value, bytes):
        raise PackingError(f"bad argument #{used + 1} to 'pack' (string expected, got {kind_of(value)})")
    if letter == "s":
        return value + b"\0"
    size = size or len(value)
    if len(value) < size:
        raise PackingError(f"bad argument #{used + 1} to 'pack' (string too short)")
    return value[:size]


def _integer(value: float) -> int:
    """As C converts a double to a 64-bit integer."""
    if value != value or not -(2.0**63) <= value < 2.0**64:
        return -(1 << 63)
    return int(value)


def struct_size(form: str) -> int:
    """How many bytes a format takes. Raises PackingError where that depends on the values."""
    size = 0
    items = _Format(form)
    while (item := items.next(size)) is not None:
        letter, item_size, padding = item
        if letter == "s" or (letter == "c" and item_size == 0):
            raise PackingError(
                "bad argument #1 to 'size' (option 's' has no fixed size)"
                if letter == "s"
                else "bad argument #1 to 'size' (option 'c0' has no fixed size)"
            )
        size += item_size + padding
        if size > 0x7FFFFFFF:
            raise PackingError("integral size overflow")
    return size


def struct_unpack(form: str, data: bytes, position: int) -> Tokens:
    """The values in `data` from `position`, 1 the first, and at last the position behind them. Raises PackingError."""
    if position < 1:
        raise PackingError("bad argument #3 to 'unpack' (offset must be 1 or greater)")
    at = position - 1
    found: list[object] = []
    items = _Format(form)
    while (item := items.next(at)) is not None:
        letter, size, padding = item
        if at + padding + size > len(data):
            raise PackingError("bad argument #2 to 'unpack' (data string too short)")
        at += padding
        piece = data[at : at + size]
        at += size
        if letter == "s":
            end = data.find(b"\0", at)
            if end < 0:
                raise PackingError("unfinished string in data")
            found.append(data[at:end])
            at = end + 1
        elif letter == "c":
            if size == 0:
                previous = found.pop() if found else None
                if not isinstance(previous, int | float):
                    raise PackingError("format 'c0' needs a previous size")
                size = int(previous)
                if size < 0 or at + size > len(data):
                    raise PackingError("bad argument #2 to 'unpack' (data string too short)")
                piece = data[at : at + size]
                at += size
            found.append(piece)
        elif letter in "fd":
            found.append(struct.unpack(("<" if items.little else ">") + letter, piece)[0])
        elif letter != "x":
            found.append(_integer_of(piece, letter, little=items.little))
    return _list_of([*found, at + 1])


def _integer_of(piece: bytes, letter: str, *, little: bool) -> float | int:
    """The integer in a piece, of its lower 8 bytes; lower-case letters have a sign."""
    signed = letter.islower()
    if little:
        return _as_double(int.from_bytes(piece[:8], "little", signed=signed))
    return _as_double(int.from_bytes(piece[-8:], "big", signed=signed))


def _as_double(value: int) -> float | int:
    return value if -(1 << 63) <= value < 1 << 63 else float(value)


def _list_of(values: list[object]) -> Tokens:
    tokens = Tokens()
    tokens.add(b"a", len(values))
    for value in values:
        tokens.add(b"v", value)
    return tokens
