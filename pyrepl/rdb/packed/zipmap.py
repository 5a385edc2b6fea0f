"""zipmap: the packed hash of Redis up to 2.4, read only.

Number of pairs (1 byte; 254 or more: count them), then per pair: field length, field, value length, unused bytes
behind the value (1), value, those unused bytes; 0xFF ends it. A length is 1 byte below 254, or 254 and 4 bytes, least
significant first.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from pyrepl.rdb.cursor import Malformed

BIG_LENGTH: Final = 254
TERMINATOR: Final = 255

_U32: Final = Struct("<I")


def decode_zipmap(packed: bytes) -> list[bytes]:
    """Field, value, field, value, ... Raises Malformed."""
    if len(packed) < 2 or packed[-1] != TERMINATOR:
        raise Malformed("zipmap without its terminator")
    end = len(packed) - 1
    elements: list[bytes] = []
    pos = 1
    while pos < end:
        size, pos = _decode_length(packed, pos, end)
        stop = pos + size
        field = packed[pos:stop]
        size, pos = _decode_length(packed, stop, end)
        unused = packed[pos] if pos < end else 0
        start = pos + 1
        stop = start + size
        pos = stop + unused
        if pos > end:
            raise Malformed(f"zipmap: the value at {start} runs past the end")
        elements.append(field)
        elements.append(packed[start:stop])
    count = packed[0]
    if count < BIG_LENGTH and count * 2 != len(elements):
        raise Malformed(f"zipmap of {len(elements) // 2} pairs declares {count}")
    return elements


def _decode_length(packed: bytes, pos: int, end: int) -> tuple[int, int]:
    """The length at `pos` and where it ends."""
    if pos < end and packed[pos] < BIG_LENGTH:
        return packed[pos], pos + 1
    if pos + 5 > end or packed[pos] != BIG_LENGTH:
        raise Malformed(f"zipmap: no length at {pos}")
    size: int = _U32.unpack_from(packed, pos + 1)[0]
    return size, pos + 5
