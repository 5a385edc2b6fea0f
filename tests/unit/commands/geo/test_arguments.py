"""Arguments of geo commands: bounds and texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.commands.geo.arguments import (
    box_argument,
    distance_text,
    place_argument,
    radius_argument,
    unit_argument,
)
from pyrepl.errors import CommandError


def test_what_is_right() -> None:
    assert place_argument(b"-180", b"85.05112878") == (-180.0, 85.05112878)
    assert radius_argument(b"1.5", b"Km") == (1.5, 1000.0)
    assert box_argument(b"1", b"2", b"ft") == (1.0, 2.0, 0.3048)
    assert unit_argument(b"mi") == 1609.34


@pytest.mark.parametrize(
    ("parse", "words", "text"),
    [
        (place_argument, (b"181", b"1"), "ERR invalid longitude,latitude pair 181.000000,1.000000"),
        (place_argument, (b"1", b"-inf"), "ERR invalid longitude,latitude pair 1.000000,-inf"),
        (place_argument, (b"1", b"x"), "ERR value is not a valid float"),
        (radius_argument, (b"x", b"m"), "ERR need numeric radius"),
        (radius_argument, (b"-1", b"m"), "ERR radius cannot be negative"),
        (radius_argument, (b"1", b"x"), "ERR unsupported unit provided. please use M, KM, FT, MI"),
        (box_argument, (b"x", b"1", b"m"), "ERR need numeric width"),
        (box_argument, (b"1", b"x", b"m"), "ERR need numeric height"),
        (box_argument, (b"1", b"-1", b"m"), "ERR height or width cannot be negative"),
    ],
)
def test_what_is_wrong(parse: Callable[..., object], words: tuple[bytes, ...], text: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse(*words)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, b"0.0000"), (0.00004, b"0.0000"), (0.00005, b"0.0000"), (12345.67891, b"12345.6789")],
)
def test_distances(number: float, text: bytes) -> None:
    assert distance_text(number) == text
