"""ziplist, from bytes built by hand: every element encoding, and everything that must be refused."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Malformed
from pyrepl.rdb.packed.ziplist import decode_ziplist
from tests.unit.rdb.old_encodings import ziplist

INTEGERS: list[bytes | int] = [0, 12, 13, -1, 127, -128, 128, 32767, -32769, 1 << 22, 1 << 24, -(1 << 31), 1 << 40]


def test_a_ziplist_spelled_out() -> None:
    packed = bytes.fromhex("14000000 10000000 0300 00 02 6162 04 f6 02 fef6 ff".replace(" ", ""))
    assert decode_ziplist(packed) == [b"ab", b"5", b"-10"]


def test_integers() -> None:
    assert decode_ziplist(ziplist(INTEGERS)) == [b"%d" % n for n in INTEGERS if isinstance(n, int)]


@pytest.mark.parametrize("size", [0, 63, 64, 249, 250, 255, 16383, 16384, 70000])
def test_strings(size: int) -> None:
    elements: list[bytes | int] = [b"x" * size, b"after", b""]
    assert decode_ziplist(ziplist(elements)) == elements


def test_empty_and_too_many_to_count() -> None:
    assert decode_ziplist(ziplist([])) == []
    many: list[bytes | int] = [1] * 70000
    assert decode_ziplist(ziplist(many)) == [b"1"] * 70000


GOOD = ziplist([b"hello", 42, b"y" * 300, b"end"])


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (b"", "ziplist of 0 bytes"),
        (GOOD[:-1], "declares"),
        (GOOD[:-1] + b"\x00", "ends in 0x00"),
        (GOOD[:4] + b"\x0a\0\0\0" + GOOD[8:], "the header says 10"),
        (GOOD[:8] + b"\x05\x00" + GOOD[10:], "4 elements declares 5"),
        (GOOD[:10] + b"\x01" + GOOD[11:], "0 bytes, 1 are declared"),
        (GOOD[:10] + b"\xff" + GOOD[11:], "bad size"),
        (GOOD[:11] + b"\x3f" + GOOD[12:], "declared"),
        (GOOD[:11] + b"\x7f" + GOOD[12:], "past the end"),
        (GOOD[:11] + b"\x80" + GOOD[12:], "past the end"),
        (GOOD[:11] + b"\xf0" + GOOD[12:], "declared"),
        (GOOD[:11] + b"\x90" + GOOD[12:], "unknown element encoding"),
        (b"\x0d\0\0\0\x0a\0\0\0\x01\0\x00\xe0\xff", "past the end"),
        (b"\x0c\0\0\0\x0a\0\0\0\x01\0\x00\xff", "past the end"),
    ],
)
def test_refused(packed: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        decode_ziplist(packed)
