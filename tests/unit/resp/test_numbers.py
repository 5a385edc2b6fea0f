"""Integers as Redis reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.resp.numbers import (
    INT64_MAX,
    INT64_MIN,
    format_integer,
    is_int64,
    parse_digits,
    parse_integer,
    parse_unsigned,
)


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


@pytest.mark.parametrize(
    "number",
    [0, 7, 999, 1000, 1001, 12_005, 999_999, 1_000_000, 12_003_004, 999_999_999, 10**9, 2**63 - 1, -1, -(2**63)],
)
def test_format(number: int) -> None:
    assert format_integer(number) == str(number).encode()


@given(st.integers(-(2**64), 2**64))
def test_integers_there_and_back(number: int) -> None:
    text = format_integer(number)
    assert text == str(number).encode()
    assert parse_integer(text) == (number if -(2**63) <= number < 2**63 else None)


@given(st.one_of(st.binary(max_size=20), st.from_regex(rb"\A[0-9]{1,19}\Z")))
def test_digits_are_read_whatever_they_begin_with(text: bytes) -> None:
    assert parse_digits(text) == (int(text) if text.isdigit() and len(text) <= 18 else -1)
    canonical = text.isdigit() and b"%d" % int(text) == text and int(text) < 2**63
    if text.isdigit():
        assert parse_integer(text) == (int(text) if canonical else None)


@pytest.mark.parametrize("edge", [INT64_MIN, -(2**62), 0, 2**62 - 1, INT64_MAX])
def test_what_is_a_64_bit_integer(edge: int) -> None:
    for number in (edge - 1, edge, edge + 1):
        assert is_int64(number) == (-(2**63) <= number < 2**63)
