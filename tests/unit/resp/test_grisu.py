"""Grisu2: digits at the edges of the format, and the rare case in which they are not the shortest."""

from __future__ import annotations

import sys

import pytest

from pyrepl.resp.grisu import grisu_digits


@pytest.mark.parametrize(
    ("number", "digits", "exponent"),
    [
        (0.1, "1", -1),
        (1e17, "1", 17),
        (5e-324, "5", -324),
        (sys.float_info.min, "22250738585072014", -324),
        (sys.float_info.max, "17976931348623157", 292),
        (2.0**-1022 - 2.0**-1074, "2225073858507201", -323),
        (2.6012334688932215e-18, "26012334688932214", -34),
        (721955099146276.8, "7219550991462767", -1),
    ],
)
def test_digits(number: float, digits: str, exponent: int) -> None:
    assert grisu_digits(number) == (digits, exponent)
    assert float(f"{digits}e{exponent}") == number


@pytest.mark.parametrize("power", range(-1074, 1024, 7))
def test_powers_of_two_have_a_closer_neighbour_below(power: int) -> None:
    number = 2.0**power
    digits, exponent = grisu_digits(number)
    assert float(f"{digits}e{exponent}") == number
