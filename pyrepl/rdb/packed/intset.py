"""intset: a sorted array of 16, 32 or 64-bit integers, all of one width.

| bytes | meaning |
|---|---|
| 0-3 | width of an element: 2, 4 or 8, least significant byte first as all that follows |
| 4-7 | number of elements |
| 8- | the elements, signed, strictly ascending |
"""

from __future__ import annotations

import struct
from typing import Final

from pyrepl.rdb.cursor import Malformed

HEADER_BYTES: Final = 8

_HEADER: Final = struct.Struct("<II")
_CODES: Final[dict[int, str]] = {2: "h", 4: "i", 8: "q"}


def decode_intset(packed: bytes) -> list[bytes]:
    """The elements as decimal text, in ascending order. Raises Malformed."""
    if len(packed) < HEADER_BYTES:
        raise Malformed(f"intset of {len(packed)} bytes, its header alone has {HEADER_BYTES}")
    width, count = _HEADER.unpack_from(packed)
    code = _CODES.get(width)
    if code is None:
        raise Malformed(f"intset with elements of {width} bytes, expected 2, 4 or 8")
    if HEADER_BYTES + count * width != len(packed):
        raise Malformed(f"intset of {len(packed)} bytes declares {count} elements of {width} bytes")
    numbers = struct.unpack_from(f"<{count}{code}", packed, HEADER_BYTES)
    for at in range(1, count):
        if numbers[at - 1] >= numbers[at]:
            raise Malformed(f"intset not in ascending order at element {at}")
    return [b"%d" % number for number in numbers]


def encode_intset(numbers: list[int]) -> bytes:
    """The narrowest intset of `numbers`, distinct and within 64 bits, in any order."""
    ordered = sorted(numbers)
    low = ordered[0] if ordered else 0
    high = ordered[-1] if ordered else 0
    if low >= -0x8000 and high <= 0x7FFF:
        width = 2
    elif low >= -0x80000000 and high <= 0x7FFFFFFF:
        width = 4
    else:
        width = 8
    return _HEADER.pack(width, len(ordered)) + struct.pack(f"<{len(ordered)}{_CODES[width]}", *ordered)
