"""Floating point as Redis prints and reads it. Expected texts came from Redis 8.2.3 and 7.0.15."""

from __future__ import annotations

import math

import pytest

from pyrepl.resp.doubles import format_double, format_long_double, parse_double, parse_long_double

NOT_CLOSEST = [
    (5.3339615596010886e-05, b"5.3339615596010885e-5"),
    (970545243442757.2, b"970545243442757.3"),
    (-153903.48199321527, b"-1.5390348199321528e+5"),
    (2.6012334688932215e-18, b"2.6012334688932214e-18"),
    (721955099146276.8, b"721955099146276.7"),
    (991624718.73556, b"9.916247187355601e+8"),
]

PRINTED = [
    (0.0, b"0"),
    (-0.0, b"-0"),
    (3.0, b"3"),
    (-17.0, b"-17"),
    (0.1, b"0.1"),
    (1e-7, b"1e-7"),
    (0.0001, b"0.0001"),
    (123456789.12345679, b"1.2345678912345679e+8"),
    (1e17, b"100000000000000000"),
    (1e20, b"1e+20"),
    (1e21, b"1e+21"),
    (1.5e300, b"1.5e+300"),
    (5e-324, b"5e-324"),
    (math.inf, b"inf"),
    (-math.inf, b"-inf"),
    (math.nan, b"nan"),
]


@pytest.mark.parametrize(("number", "text"), PRINTED)
def test_prints_the_shortest_text(number: float, text: bytes) -> None:
    assert format_double(number) == text


@pytest.mark.parametrize(("number", "text"), NOT_CLOSEST)
def test_prints_the_digits_of_grisu_where_they_are_not_the_best(number: float, text: bytes) -> None:
    assert format_double(number) == text
    assert float(text) == number


@pytest.mark.parametrize("text", [b"1", b"-1.5", b"+2", b"1e3", b".5", b"5.", b"inf", b"-INF", b"Infinity", b"0x10"])
def test_reads_what_strtod_reads(text: bytes) -> None:
    number = parse_double(text)
    assert number is not None
    assert number == (float.fromhex(text.decode()) if b"x" in text else float(text))


@pytest.mark.parametrize(
    "text", [b"", b" 1", b"1 ", b"1_0", b"nan", b"abc", b"1e400", b"1e-400", b"0x", b"--1", b"1\0"]
)
def test_refuses_the_rest(text: bytes) -> None:
    assert parse_double(text) is None


def test_a_zero_significand_is_no_underflow() -> None:
    assert parse_double(b"0e-999") == 0.0
    assert parse_double(b"-0.000") == 0.0


SUMS = [
    (b"0.1", b"0.2", b"0.3"),
    (b"3.0", b"1.1", b"4.1"),
    (b"5.0e3", b"200", b"5200"),
    (b"1", b"-1", b"0"),
    (b"10.50", b"0.1", b"10.6"),
    (b"1e17", b"0.5", b"100000000000000000.5"),
]


@pytest.mark.parametrize(("left", "right", "total"), SUMS)
def test_long_double_sums_print_as_incrbyfloat_does(left: bytes, right: bytes, total: bytes) -> None:
    first, second = parse_long_double(left), parse_long_double(right)
    assert first is not None
    assert second is not None
    result = first.plus(second)
    assert result is not None
    assert format_long_double(result) == total


def test_long_double_infinities() -> None:
    plus, minus, one = parse_long_double(b"inf"), parse_long_double(b"-inf"), parse_long_double(b"1")
    assert plus is not None
    assert minus is not None
    assert one is not None
    assert plus.plus(minus) is None
    total = plus.plus(one)
    assert total is not None
    assert not total.is_finite()
    assert format_long_double(minus) == b"-inf"


@pytest.mark.parametrize(
    "text", [b"", b"x", b"1e5000000", b"1e-5000000", b"1" * 6000, b" 1", b"1_0", b"0x", b"1e", b"."]
)
def test_long_double_refuses(text: bytes) -> None:
    assert parse_long_double(text) is None


def test_long_double_keeps_64_bits() -> None:
    number = parse_long_double(b"18446744073709551615")
    assert number is not None
    assert format_long_double(number) == b"18446744073709551615"
    hexadecimal = parse_long_double(b"0x1p-2")
    assert hexadecimal is not None
    assert format_long_double(hexadecimal) == b"0.25"
