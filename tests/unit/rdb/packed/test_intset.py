"""intset: widths, order, and everything a header can lie about."""

from __future__ import annotations

import struct

import pytest

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.packed.intset import decode_intset, encode_intset


@pytest.mark.parametrize(
    ("numbers", "width"),
    [
        ([], 2),
        ([-0x8000, 0x7FFF], 2),
        ([0x8000, -1], 4),
        ([-0x80000000, 5], 4),
        ([0x80000000, 1], 8),
        ([-(1 << 63)], 8),
    ],
)
def test_narrowest_width_in_order(numbers: list[int], width: int) -> None:
    packed = encode_intset(numbers)
    assert struct.unpack_from("<II", packed) == (width, len(numbers))
    assert len(packed) == 8 + width * len(numbers)
    assert decode_intset(packed) == [b"%d" % number for number in sorted(numbers)]


def test_bytes_of_a_real_one() -> None:
    # DUMP of SADD s 1 -2, Redis 7.0, without its string length.
    assert encode_intset([1, -2]) == bytes.fromhex("0200000002000000feff0100")


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x02\0\0\0\x01\0\0",
        b"\x03\0\0\0\x01\0\0\0\x01\0\0",
        b"\x02\0\0\0\x02\0\0\0\x01\0",
        b"\x02\0\0\0\x01\0\0\0\x01\0\x02",
        b"\x02\0\0\0\xff\xff\xff\xff\x01\0",
        b"\x02\0\0\0\x02\0\0\0\x02\0\x01\0",
        b"\x02\0\0\0\x02\0\0\0\x01\0\x01\0",
    ],
)
def test_refused(packed: bytes) -> None:
    with pytest.raises(Malformed, match="intset"):
        decode_intset(packed)
