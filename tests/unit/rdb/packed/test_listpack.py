"""listpack: every element encoding at its limits, and everything that must be refused."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.packed.listpack import (
    decode_listpack,
    encode_back_length,
    encode_entry,
    encode_integer_entry,
    encode_listpack,
    join_entries,
    parse_integer,
)

INTEGERS = (
    0, 127, 128, -1, -4096, 4095, 4096, -4097, 32767, -32768, 32768, -32769, 8388607, -8388608, 8388608, -8388609,
    (1 << 31) - 1, -(1 << 31), 1 << 31, -(1 << 31) - 1, (1 << 63) - 1, -(1 << 63),
)  # fmt: skip
SIZES = (0, 1, 62, 63, 64, 65, 126, 127, 128, 4095, 4096, 16379, 16380, 16384, 70000)


def test_bytes_of_a_real_one() -> None:
    # DUMP of RPUSH l a 1 -70000, Redis 7.0, without what is around the listpack.
    assert encode_listpack([b"a", b"1", b"-70000"]) == bytes.fromhex("1100000003008161020101f290eefe04ff")


@pytest.mark.parametrize("number", INTEGERS)
def test_integers(number: int) -> None:
    entry = encode_entry(b"%d" % number)
    assert entry == encode_integer_entry(number)
    assert decode_listpack(join_entries([entry, entry])) == [b"%d" % number] * 2


@pytest.mark.parametrize("size", SIZES)
def test_strings(size: int) -> None:
    elements = [b"x" * size, b"", b"\xff" * size]
    assert decode_listpack(encode_listpack(elements)) == elements


@pytest.mark.parametrize(
    "text", [b"", b"-", b"-0", b"00", b"+1", b" 1", b"1 ", b"1.0", b"9223372036854775808", b"1" * 21]
)
def test_text_that_is_no_integer_stays_as_it_is(text: bytes) -> None:
    assert parse_integer(text) is None
    assert decode_listpack(encode_listpack([text])) == [text]


def test_more_elements_than_the_header_can_count() -> None:
    elements = [b"7"] * 70000
    packed = encode_listpack(elements)
    assert packed[4:6] == b"\xff\xff"
    assert decode_listpack(packed) == elements


def test_back_length_takes_a_byte_more_at_redis_limits() -> None:
    lengths = [
        len(encode_back_length(size)) for size in (127, 128, 16382, 16383, 2097150, 2097151, 268435454, 268435455)
    ]
    assert lengths == [1, 2, 2, 3, 3, 4, 4, 5]


GOOD = encode_listpack([b"hello", b"42", b"x" * 200])


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (b"", "listpack of 0 bytes"),
        (GOOD[:-1], "declares"),
        (GOOD[:-1] + b"\x00", "ends in 0x00"),
        (GOOD[:4] + b"\x02\x00" + GOOD[6:], "3 elements declares 2"),
        (GOOD[:6] + b"\xbf" + GOOD[7:], "back length"),
        (GOOD[:6] + b"\xf0" + GOOD[7:], "past the end"),
        (GOOD[:6] + b"\xf5" + GOOD[7:], "unknown element encoding 0xf5"),
        (GOOD[:12] + b"\x07" + GOOD[13:], "back length"),
        (GOOD[:-2] + b"\x00" + GOOD[-1:], "back length"),
        (b"\x08\0\0\0\x01\0\xf4\xff", "past the end"),
        (b"\x08\0\0\0\x01\0\xc1\xff", "past the end"),
    ],
)
def test_refused(packed: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        decode_listpack(packed)
