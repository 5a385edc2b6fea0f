"""Lengths: each form at its limits."""

from __future__ import annotations

import pytest

from pyrepl.rdb.cursor import Cursor, Malformed, ShortInput
from pyrepl.rdb.length import decode_count, decode_length, encode_length

FORMS = [
    (0, "00"),
    (63, "3f"),
    (64, "4040"),
    (2047, "47ff"),
    (2048, "4800"),
    (16383, "7fff"),
    (16384, "8000004000"),
    ((1 << 32) - 1, "80ffffffff"),
    (1 << 32, "810000000100000000"),
    ((1 << 64) - 1, "81ffffffffffffffff"),
]


def at(data: bytes, max_count: int = 1 << 40, input_end: int = 1 << 63) -> Cursor:
    cursor = Cursor(1 << 20, max_count, input_end)
    cursor.load(data)
    return cursor


@pytest.mark.parametrize(("length", "text"), FORMS)
def test_forms(length: int, text: str) -> None:
    data = bytes.fromhex(text)
    assert encode_length(length) == data
    cursor = at(data + b"rest")
    assert decode_length(cursor) == length
    assert cursor.pos == len(data)
    for cut in range(len(data)):
        with pytest.raises(ShortInput):
            decode_length(at(data[:cut]))


@pytest.mark.parametrize("first", [0x82, 0xBF, 0xC0, 0xC3, 0xFF])
def test_unknown_encoding(first: int) -> None:
    with pytest.raises(Malformed, match=f"{first:#04x}"):
        decode_length(at(bytes((first,)) + bytes(8)))


def test_count_is_bounded_by_the_limit_and_by_the_input() -> None:
    assert decode_count(at(b"\x05", max_count=5)) == 5
    with pytest.raises(Malformed, match="6 elements declared, the limit is 5"):
        decode_count(at(b"\x06", max_count=5))
    assert decode_count(at(b"\x06", input_end=7)) == 6
    with pytest.raises(Malformed, match="6 elements declared, but only 5 bytes are left"):
        decode_count(at(b"\x06", input_end=6))
