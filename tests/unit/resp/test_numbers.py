"""Integers as Redis reads them."""

from __future__ import annotations

import pytest

from pyrepl.resp.numbers import parse_integer, parse_unsigned


@pytest.mark.parametrize("text", [b"0", b"-1", b"9223372036854775807", b"-9223372036854775808"])
def test_canonical_integers(text: bytes) -> None:
    assert parse_integer(text) == int(text)


@pytest.mark.parametrize(
    "text",
    [b"", b"-", b"+1", b"01", b"-0", b"-01", b" 1", b"1 ", b"1_0", b"1.0", b"0x1", b"1" * 21, "١".encode()],
)
def test_everything_else_is_none(text: bytes) -> None:
    assert parse_integer(text) is None


def test_out_of_64_bits_is_none() -> None:
    assert parse_integer(b"9223372036854775808") is None
    assert parse_integer(b"-9223372036854775809") is None


def test_unsigned() -> None:
    assert parse_unsigned(b"18446744073709551615") == 2**64 - 1
    assert parse_unsigned(b"0") == 0
    for text in (b"18446744073709551616", b"-1", b"", b"00", b"x", b"1" * 30):
        assert parse_unsigned(text) is None
