"""The format's strings: a length and the bytes, or one of the special encodings (integers, LZF).

| first byte | what follows |
|---|---|
| a length | that many bytes |
| 0xC0, 0xC1, 0xC2 | a signed integer of 1, 2, 4 bytes, least significant first: the string is its decimal text |
| 0xC3 | LZF: compressed length, plain length, compressed bytes |
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from pyrepl.rdb import lzf
from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import ENCODED, encode_length

INT8: Final = 0xC0
INT16: Final = 0xC1
INT32: Final = 0xC2
LZF: Final = 0xC3

MIN_COMPRESSED_BYTES: Final = 21
"""Redis compresses strings of more than 20 bytes."""

MAX_INTEGER_BYTES: Final = 11
"""`-2147483648`: nothing longer can be one of the integer encodings."""

_PACK8: Final = Struct("<Bb")
_PACK16: Final = Struct("<Bh")
_PACK32: Final = Struct("<Bi")
_ZERO: Final = 0x30
_NINE: Final = 0x39
_MINUS: Final = 0x2D


def decode_string(cursor: Cursor) -> bytes:
    """The string at the cursor. Raises ShortInput, Malformed (a length above the cursor's limit included)."""
    pos = cursor.pos
    if pos < cursor.end:
        # Most strings are short and all there; for them this does what the rest would, at half the cost.
        first = cursor.buf[pos]
        stop = pos + 1 + first
        if first < 0x40 and stop <= cursor.end:
            cursor.pos = stop
            return cursor.buf[pos + 1 : stop]
    first = cursor.byte()
    if first >= ENCODED:
        return _decode_special(cursor, first)
    return cursor.take(first if first < 0x40 else _long_length(cursor, first))


def _long_length(cursor: Cursor, first: int) -> int:
    if first < 0x80:
        size = (first & 0x3F) << 8 | cursor.byte()
    elif first == 0x80:
        size = cursor.u32_be()
    elif first == 0x81:
        size = cursor.u64_be()
    else:
        raise Malformed(f"Unknown length encoding {first:#04x}")
    if size > cursor.max_string_bytes:
        raise Malformed(f"a string of {size} bytes, the limit is {cursor.max_string_bytes}")
    return size


def _string_length(cursor: Cursor) -> int:
    first = cursor.byte()
    return first if first < 0x40 else _long_length(cursor, first)


def _decode_special(cursor: Cursor, first: int) -> bytes:
    if first == LZF:
        packed_size = _string_length(cursor)
        size = _string_length(cursor)
        return lzf.decompress(cursor.take(packed_size), size)
    if first > LZF:
        raise Malformed(f"Unknown RDB string encoding type {first & 0x3F}")
    number = int.from_bytes(cursor.take(1 << (first - INT8)), "little", signed=True)
    return b"%d" % number


def skip_string(cursor: Cursor) -> None:
    """Step over a string without building it."""
    first = cursor.byte()
    if first < ENCODED:
        cursor.advance(first if first < 0x40 else _long_length(cursor, first))
    elif first == LZF:
        packed_size = _string_length(cursor)
        _string_length(cursor)
        cursor.advance(packed_size)
    elif first < LZF:
        cursor.advance(1 << (first - INT8))
    else:
        raise Malformed(f"Unknown RDB string encoding type {first & 0x3F}")


def encode_string(text: bytes) -> bytes:
    """`text` as an integer where it is the text of one of at most 32 bits, else as length and bytes."""
    size = len(text)
    if size <= MAX_INTEGER_BYTES:
        packed = encode_integer(text)
        if packed is not None:
            return packed
    return encode_length(size) + text


def encode_compressed(text: bytes) -> bytes:
    """As encode_string, compressed with LZF where Redis would: more than 20 bytes, and at least 4 saved."""
    if len(text) < MIN_COMPRESSED_BYTES:
        return encode_string(text)
    packed = lzf.compress(text)
    if packed is None:
        return encode_length(len(text)) + text
    return b"".join((b"\xc3", encode_length(len(packed)), encode_length(len(text)), packed))


def encode_integer(text: bytes) -> bytes | None:
    """The integer encoding of `text`, or None unless it is the shortest decimal text of a signed 32-bit number."""
    if not text:
        return None
    first = text[0]
    if (first < _ZERO or first > _NINE) and first != _MINUS:
        return None
    if not text[1:].isdigit() and len(text) > 1:
        return None
    if first == _MINUS and len(text) == 1:
        return None
    value = int(text)
    if b"%d" % value != text:
        return None
    if -0x80 <= value <= 0x7F:
        return _PACK8.pack(INT8, value)
    if -0x8000 <= value <= 0x7FFF:
        return _PACK16.pack(INT16, value)
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return _PACK32.pack(INT32, value)
    return None
