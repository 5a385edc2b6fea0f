"""Strings: plain, integers, LZF; and what must be refused."""

from __future__ import annotations

import pytest

from pyrepl.rdb import lzf
from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput
from pyrepl.rdb.strings import decode_string, encode_compressed, encode_string, skip_string

LIMIT = 100_000


def at(data: bytes) -> Cursor:
    cursor = Cursor(LIMIT, 100)
    cursor.load(data)
    return cursor


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        (b"", "00"),
        (b"0", "c000"),
        (b"-128", "c080"),
        (b"127", "c07f"),
        (b"128", "c18000"),
        (b"-32768", "c10080"),
        (b"32768", "c200800000"),
        (b"2147483647", "c2ffffff7f"),
        (b"-2147483648", "c200000080"),
        (b"2147483648", "0a32313437343833363438"),
        (b"-2147483649", "0b2d32313437343833363439"),
        (b"-", "012d"),
        (b"-0", "022d30"),
        (b"01", "023031"),
        (b"+1", "022b31"),
        (b" 1", "022031"),
        (b"1\n", "02310a"),
        (b"1_0", "03315f30"),
        ("٣".encode(), "02d9a3"),
    ],
)
def test_integers_and_what_only_looks_like_one(text: bytes, encoded: str) -> None:
    assert encode_string(text).hex() == encoded
    assert encode_compressed(text).hex() == encoded
    assert decode_string(at(bytes.fromhex(encoded))) == text


@pytest.mark.parametrize("size", [1, 20, 21, 63, 64, 16383, 16384, LIMIT])
def test_sizes(size: int) -> None:
    for text in (b"x" * size, bytes((i * i + i * 7) % 253 for i in range(size))):
        for encode in (encode_string, encode_compressed):
            data = encode(text)
            assert decode_string(at(data)) == text
            cursor = at(data)
            skip_string(cursor)
            assert cursor.pos == len(data)
            for cut in (0, 1, len(data) // 2, len(data) - 1):
                for read in (decode_string, skip_string):
                    with pytest.raises(ShortInput):
                        read(at(data[:cut]))


def test_compression_only_where_it_saves_four_bytes() -> None:
    assert encode_compressed(b"ab" * 50)[0] == 0xC3
    assert encode_compressed(bytes(range(200)))[0] == 0x40
    assert encode_compressed(b"a" * 20)[0] == 20


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("82", "Unknown length encoding 0x82"),
        ("c4", "Unknown RDB string encoding type 4"),
        ("ff", "Unknown RDB string encoding type 63"),
        ("80000186a1", "100001 bytes, the limit is 100000"),
        ("81ffffffffffffffff", "the limit is 100000"),
        ("c380000186a105", "the limit is 100000"),
        ("c305" + "80000186a1" + "00" * 5, "the limit is 100000"),
        ("c3c0", "Unknown length encoding 0xc0"),
        ("c303" + "7fff" + "000000", "cannot expand to the 16383 declared"),
        ("c302" + "05" + "0041", "LZF"),
        ("c302" + "01" + "2000", "LZF"),
    ],
)
def test_refused(data: str, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        decode_string(at(bytes.fromhex(data)))


def test_a_captured_lzf_string() -> None:
    # "ab" * 100 as Redis 7.0 writes it.
    assert lzf.decompress_pure(bytes.fromhex("02616261e0ba01016162"), 200) == b"ab" * 100
