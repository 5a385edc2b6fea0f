"""The format's length encoding: 6, 14, 32 or 64 bits, or the mark of a specially encoded string.

| first byte | meaning |
|---|---|
| 00xxxxxx | length in 6 bits |
| 01xxxxxx | length in 14 bits, with the next byte |
| 10000000 | length in the next 4 bytes, most significant first |
| 10000001 | length in the next 8 bytes, most significant first (since RDB version 8) |
| 11xxxxxx | no length: the string encoding named by 6 bits, see strings.py |
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from pyrepl.rdb.cursor import Cursor, Malformed

LENGTH_32: Final = 0x80
LENGTH_64: Final = 0x81
ENCODED: Final = 0xC0

_U32: Final = Struct(">BI")
_U64: Final = Struct(">BQ")

SHORT_LENGTHS: Final[tuple[bytes, ...]] = tuple(
    bytes((n,)) if n < 64 else bytes((0x40 | n >> 8, n & 0xFF)) for n in range(2048)
)
"""The encodings of the lengths that most keys and values have."""


def encode_length(length: int) -> bytes:
    """The shortest encoding of `length`, 0 <= length < 2**64."""
    if length < 2048:
        return SHORT_LENGTHS[length]
    if length < 16384:
        return bytes((0x40 | length >> 8, length & 0xFF))
    if length < 1 << 32:
        return _U32.pack(LENGTH_32, length)
    return _U64.pack(LENGTH_64, length)


def decode_length(cursor: Cursor) -> int:
    """The number at the cursor, from 0 to 2**64 - 1. Raises ShortInput, Malformed."""
    first = cursor.byte()
    if first < 0x40:
        return first
    if first < 0x80:
        return (first & 0x3F) << 8 | cursor.byte()
    if first == LENGTH_32:
        return cursor.u32_be()
    if first == LENGTH_64:
        return cursor.u64_be()
    raise Malformed(f"Unknown length encoding {first:#04x}")


def decode_count(cursor: Cursor) -> int:
    """A length that counts elements of at least one byte each, refused when the input cannot hold so many."""
    count = decode_length(cursor)
    reason = cursor.why_not_count(count)
    if reason is not None:
        raise Malformed(reason)
    return count
