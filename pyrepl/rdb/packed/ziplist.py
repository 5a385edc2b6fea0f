"""ziplist: the packed list of Redis up to 6.2, read only; we write listpacks or plain encodings.

Total bytes (4, least significant first as all lengths but two), offset of the last element (4), number of elements
(2; 65535: count them), the elements, 0xFF. An element is the size of the one before (1 byte, or 0xFE and 4), its
encoding, its data.

| encoding | element |
|---|---|
| 00xxxxxx | string of up to 63 bytes |
| 01xxxxxx + 1 | string, 14-bit length, most significant byte first |
| 0x80 + 4 | string, 32-bit length, most significant byte first |
| 0xC0, 0xD0, 0xE0, 0xF0, 0xFE | signed integer of 2, 4, 8, 3, 1 bytes |
| 0xF1 to 0xFD | integer 0 to 12 |
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from pyrepl.rdb.cursor import Malformed

HEADER_BYTES: Final = 10
TERMINATOR: Final = 0xFF
COUNT_UNKNOWN: Final = 0xFFFF

_HEADER: Final = Struct("<IIH")
_U32_LE: Final = Struct("<I")
_U32_BE: Final = Struct(">I")
_INTEGER_BYTES: Final[dict[int, int]] = {0xC0: 2, 0xD0: 4, 0xE0: 8, 0xF0: 3, 0xFE: 1}


def decode_ziplist(packed: bytes) -> list[bytes]:
    """All elements, integers as decimal text. Raises Malformed."""
    size = len(packed)
    if size < HEADER_BYTES + 1:
        raise Malformed(f"ziplist of {size} bytes, an empty one has {HEADER_BYTES + 1}")
    declared, tail, count = _HEADER.unpack_from(packed)
    if declared != size:
        raise Malformed(f"ziplist of {size} bytes declares {declared}")
    if packed[size - 1] != TERMINATOR:
        raise Malformed(f"ziplist ends in {packed[size - 1]:#04x}, expected 0xff")
    elements: list[bytes] = []
    last = _decode_elements(packed, size - 1, elements)
    if tail != last:
        raise Malformed(f"ziplist: the last element is at {last}, the header says {tail}")
    if count != COUNT_UNKNOWN and count != len(elements):
        raise Malformed(f"ziplist of {len(elements)} elements declares {count}")
    return elements


def _decode_elements(packed: bytes, end: int, elements: list[bytes]) -> int:
    """Append the elements to `elements`; returns where the last one begins, or the end of the header if there is none.

    Raises Malformed.
    """
    before = 0
    last = pos = HEADER_BYTES
    while pos < end:
        last = pos
        if packed[pos] < 0xFE:
            head = pos + 1
            said = packed[pos]
        else:
            head = pos + 5
            if packed[pos] != 0xFE or head >= end:
                raise Malformed(f"ziplist: bad size of the element before {pos}")
            said = _U32_LE.unpack_from(packed, pos + 1)[0]
        if said != before:
            raise Malformed(f"ziplist: the element before {pos} has {before} bytes, {said} are declared")
        if head >= end:
            raise Malformed(f"ziplist: the element at {pos} runs past the end")
        pos = _decode_element(packed, head, end, elements)
        if pos > end:
            raise Malformed(f"ziplist: the element at {last} runs past the end")
        before = pos - last
    return last


def _decode_element(packed: bytes, pos: int, end: int, elements: list[bytes]) -> int:
    """Append the element whose encoding byte is at `pos`; returns where it ends, which may lie past `end`.

    Raises Malformed for an unknown encoding.
    """
    first = packed[pos]
    if first < 0x40:
        start = pos + 1
        stop = start + first
    elif first < 0x80:
        # At worst this reads the terminator; the caller refuses such a stop.
        start = pos + 2
        stop = start + ((first & 0x3F) << 8 | packed[pos + 1])
    elif first == 0x80:
        start = pos + 5
        if start > end:
            return start
        stop = start + _U32_BE.unpack_from(packed, pos + 1)[0]
    elif 0xF1 <= first <= 0xFD:
        elements.append(b"%d" % (first - 0xF1))
        return pos + 1
    else:
        width = _INTEGER_BYTES.get(first)
        if width is None:
            raise Malformed(f"ziplist: unknown element encoding {first:#04x} at {pos}")
        stop = pos + 1 + width
        elements.append(b"%d" % int.from_bytes(packed[pos + 1 : stop], "little", signed=True))
        return stop
    elements.append(packed[start:stop])
    return stop
