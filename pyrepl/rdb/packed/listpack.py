"""listpack: small strings and integers one behind the other, each followed by its own size (from Redis 5 on).

A listpack is its total bytes (4, least significant first), the number of elements (2; 65535: they must be counted), the
elements, and 0xFF. An element is a first byte as below, its data, and its back length: the size of both in 1 to 5 bytes
of 7 bits, written so that a listpack can be walked from its end. Source: Redis's listpack.c.

| first byte | element |
|---|---|
| 0xxxxxxx | integer 0 to 127 |
| 10xxxxxx | string of up to 63 bytes |
| 110xxxxx + 1 | signed integer of 13 bits |
| 1110xxxx + 1 | string of up to 4095 bytes |
| 0xF0 + 4 | string, its length least significant byte first |
| 0xF1 + 2, 0xF2 + 3, 0xF3 + 4, 0xF4 + 8 | signed integer, least significant byte first |
| 0xFF | end |

A string that is the shortest decimal text of a signed 64-bit integer is stored as that integer. Whoever decodes gets
the text in either case.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from pyrepl.rdb.cursor import Malformed

HEADER_BYTES: Final = 6
TERMINATOR: Final = 0xFF
COUNT_UNKNOWN: Final = 0xFFFF

_HEADER: Final = Struct("<IH")
_U32: Final = Struct("<I")
_MAX_INTEGER_BYTES: Final = 20
_ZERO: Final = 0x30
_NINE: Final = 0x39
_MINUS: Final = 0x2D

_SMALL: Final[tuple[bytes, ...]] = tuple(b"%d" % n for n in range(128))
_SMALL_ENTRIES: Final[tuple[bytes, ...]] = tuple(bytes((n, 1)) for n in range(128))
_SHORT_HEADS: Final[tuple[bytes, ...]] = tuple(bytes((0x80 | n,)) for n in range(64))
_SHORT_ENDS: Final[tuple[bytes, ...]] = tuple(bytes((n + 1,)) for n in range(64))


def decode_listpack(packed: bytes) -> list[bytes]:
    """All elements, integers as decimal text. Raises Malformed."""
    size = len(packed)
    if size < HEADER_BYTES + 1:
        raise Malformed(f"listpack of {size} bytes, an empty one has {HEADER_BYTES + 1}")
    declared, count = _HEADER.unpack_from(packed)
    if declared != size:
        raise Malformed(f"listpack of {size} bytes declares {declared}")
    if packed[size - 1] != TERMINATOR:
        raise Malformed(f"listpack ends in {packed[size - 1]:#04x}, expected 0xff")
    elements = _decode_elements(packed, size - 1)
    if count != COUNT_UNKNOWN and count != len(elements):
        raise Malformed(f"listpack of {len(elements)} elements declares {count}")
    return elements


def _decode_elements(packed: bytes, end: int) -> list[bytes]:
    elements: list[bytes] = []
    pos = HEADER_BYTES
    while pos < end:
        first = packed[pos]
        if first < 0x80:
            elements.append(_SMALL[first])
            stop = pos + 1
        elif first < 0xC0:
            stop = pos + 1 + (first & 0x3F)
            elements.append(packed[pos + 1 : stop])
        else:
            stop = _decode_wide(packed, pos, end, elements)
        if stop >= end:
            raise Malformed(f"listpack: the element at {pos} runs past the end")
        size = stop - pos
        if size < 128:
            if packed[stop] != size:
                raise Malformed(f"listpack: the element at {pos} has {size} bytes, its back length says otherwise")
            pos = stop + 1
        else:
            back = encode_back_length(size)
            pos = stop + len(back)
            if packed[stop:pos] != back or pos > end:
                raise Malformed(f"listpack: the element at {pos} has {size} bytes, its back length says otherwise")
    return elements


def _decode_wide(packed: bytes, pos: int, end: int, elements: list[bytes]) -> int:
    """Append the element at `pos`, whose first byte is 0xC0 or above, to `elements`; returns where its data ends, which
    may lie past `end`. Raises Malformed."""
    first = packed[pos]
    if pos + 9 > end and pos + _fixed_size(first) > end:
        raise Malformed(f"listpack: the element at {pos} runs past the end")
    if first < 0xE0:
        number = (first & 0x1F) << 8 | packed[pos + 1]
        elements.append(b"%d" % (number - 0x2000 if number >= 0x1000 else number))
        return pos + 2
    if first < 0xF0:
        start = pos + 2
        stop = start + ((first & 0x0F) << 8 | packed[pos + 1])
    elif first == 0xF0:
        start = pos + 5
        stop = start + _U32.unpack_from(packed, pos + 1)[0]
    elif first <= 0xF4:
        stop = pos + _fixed_size(first)
        elements.append(b"%d" % int.from_bytes(packed[pos + 1 : stop], "little", signed=True))
        return stop
    else:
        raise Malformed(f"listpack: unknown element encoding {first:#04x} at {pos}")
    elements.append(packed[start:stop])
    return stop


def _fixed_size(first: int) -> int:
    """Bytes of an element before its string data, by its first byte (0xC0 or above)."""
    if first < 0xF0:
        return 2
    if first == 0xF0 or first == 0xF3:
        return 5
    if first == 0xF1:
        return 3
    return 4 if first == 0xF2 else 9


def encode_listpack(elements: list[bytes]) -> bytes:
    """A listpack of `elements`; those that are integers in their shortest text are stored as integers."""
    return join_entries([encode_entry(element) for element in elements])


def join_entries(entries: list[bytes]) -> bytes:
    """A listpack of entries that encode_entry or encode_integer_entry made."""
    body = b"".join(entries)
    count = min(len(entries), COUNT_UNKNOWN)
    return b"".join((_HEADER.pack(HEADER_BYTES + len(body) + 1, count), body, b"\xff"))


def encode_entry(element: bytes) -> bytes:
    """One element with its back length."""
    size = len(element)
    # Only text that begins with a digit or a minus needs a closer look.
    if 0 < size <= _MAX_INTEGER_BYTES and element[0] <= _NINE:
        number = parse_integer(element)
        if number is not None:
            return encode_integer_entry(number)
    if size < 64:
        return _SHORT_HEADS[size] + element + _SHORT_ENDS[size]
    if size < 4096:
        head = bytes((0xE0 | size >> 8, size & 0xFF))
    else:
        head = b"\xf0" + _U32.pack(size)
    return b"".join((head, element, encode_back_length(len(head) + size)))


def encode_integer_entry(number: int) -> bytes:
    """One signed 64-bit integer with its back length."""
    if 0 <= number <= 127:
        return _SMALL_ENTRIES[number]
    if -0x1000 <= number < 0x1000:
        bits = number & 0x1FFF
        return bytes((0xC0 | bits >> 8, bits & 0xFF, 2))
    if -0x8000 <= number < 0x8000:
        return b"\xf1" + number.to_bytes(2, "little", signed=True) + b"\x03"
    if -0x800000 <= number < 0x800000:
        return b"\xf2" + number.to_bytes(3, "little", signed=True) + b"\x04"
    if -0x80000000 <= number < 0x80000000:
        return b"\xf3" + number.to_bytes(4, "little", signed=True) + b"\x05"
    return b"\xf4" + number.to_bytes(8, "little", signed=True) + b"\x09"


def parse_integer(text: bytes) -> int | None:
    """The signed 64-bit integer whose shortest decimal text `text` is, or None."""
    if not text:
        return None
    first = text[0]
    if (first < _ZERO or first > _NINE) and first != _MINUS:
        return None
    size = len(text)
    if size > _MAX_INTEGER_BYTES:
        return None
    if size > 1:
        if not text[1:].isdigit():
            return None
    elif first == _MINUS:
        return None
    number = int(text)
    if number < -0x8000000000000000 or number > 0x7FFFFFFFFFFFFFFF or b"%d" % number != text:
        return None
    return number


def encode_back_length(size: int) -> bytes:
    """`size` in groups of 7 bits, most significant first; all but the first have their top bit set.

    The limits are Redis's, which takes one byte more than needed for 16383, 2097151 and 268435455.
    """
    if size <= 127:
        return bytes((size,))
    if size < 16383:
        return bytes((size >> 7, size & 127 | 128))
    if size < 2097151:
        return bytes((size >> 14, size >> 7 & 127 | 128, size & 127 | 128))
    if size < 268435455:
        return bytes((size >> 21, size >> 14 & 127 | 128, size >> 7 & 127 | 128, size & 127 | 128))
    return bytes((size >> 28, size >> 21 & 127 | 128, size >> 14 & 127 | 128, size >> 7 & 127 | 128, size & 127 | 128))
