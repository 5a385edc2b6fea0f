"""Arrays of bulk strings in one piece: the bytes that the encoder would put together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.resp.bulks import encode_bulks
from pyrepl.resp.encoder import append_reply, encode_command, encode_reply


@given(st.lists(st.binary(max_size=30), max_size=30))
def test_any_strings(items: list[bytes]) -> None:
    assert encode_bulks(items) == encode_command(items)


@pytest.mark.parametrize("size", [0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 123_456])
def test_sizes_and_counts_of_any_length(size: int) -> None:
    small = [b""] * 20
    assert encode_bulks([b"x" * size, *small]) == b"*21\r\n$%d\r\n%b\r\n" % (size, b"x" * size) + b"$0\r\n\r\n" * 20
    if size < 20_000:
        assert encode_bulks([b""] * size) == b"*%d\r\n" % size + b"$0\r\n\r\n" * size


class Special(bytes):
    """What only looks like bytes."""


@pytest.mark.parametrize("item", [None, 1, "text", [b"nested"], Special(b"x")])
def test_anything_else_is_left_to_the_encoder(item: object) -> None:
    assert encode_bulks([b"a", item, b"b"]) is None


def test_large_items_are_not_copied() -> None:
    large = b"x" * 100_000
    assert encode_bulks([large] * 20) is None
    pieces: list[bytes] = []
    append_reply([large] * 20, 2, pieces)
    assert sum(piece is large for piece in pieces) == 20
    assert b"".join(pieces) == b"*20\r\n" + (b"$100000\r\n" + large + b"\r\n") * 20


def test_the_encoder_takes_what_is_left_to_it() -> None:
    items = [b"a", None, 7, *(b"x",) * 20]
    assert encode_reply(items, 2) == b"*23\r\n$1\r\na\r\n$-1\r\n:7\r\n" + b"$1\r\nx\r\n" * 20
    assert encode_reply([b"x"] * 20, 3) == b"*20\r\n" + b"$1\r\nx\r\n" * 20


@pytest.mark.parametrize("number", [0, 999, 1000, 1023, 1024, 1025, 9_999, 99_001, 999_999, 1_000_000, 12_345_678, -5])
def test_integers_by_thousands(number: int) -> None:
    assert encode_reply([number], 2) == b"*1\r\n:%d\r\n" % number
