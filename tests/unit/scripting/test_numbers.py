"""Random numbers and bits."""

from __future__ import annotations

import pytest

from pyrepl.scripting.numbers import Drand48, as_hex, bits_of, shifted, signed


def test_the_generator_is_that_of_redis() -> None:
    drand = Drand48()
    assert [round(drand.draw(), 6) for _ in range(2)] == [0.396465, 0.840485]
    drand.seed(5)
    first = drand.draw()
    drand.seed(5 + (1 << 32))
    assert drand.draw() == first
    drand.seed(float("nan"))
    assert 0 <= drand.draw() < 1


def test_bits() -> None:
    assert signed(0xFFFFFFFF) == -1 and signed(1 << 31) == -(1 << 31)
    assert bits_of(-1) == 0xFFFFFFFF and bits_of(2.5) == 2 and bits_of(3.5) == 4 and bits_of(float("inf")) == 0


@pytest.mark.parametrize(
    ("name", "number", "places", "result"),
    [
        ("lshift", 1, 33, 2),
        ("rshift", 0x80000000, 31, 1),
        ("arshift", 0x80000000, 31, -1),
        ("rol", 0x80000001, 1, 3),
        ("ror", 1, 1, -(1 << 31)),
        ("rol", 5, 0, 5),
    ],
)
def test_shifts(name: str, number: int, places: int, result: int) -> None:
    assert signed(shifted(name, number, places)) == result


def test_hex() -> None:
    assert (
        as_hex(255, 8) == b"000000ff"
        and as_hex(255, -4) == b"00FF"
        and as_hex(255, 0) == b""
        and as_hex(1, 99) == b"00000001"
    )
