"""Arguments of geo commands: places, units, distances. Texts are Redis 8.2's."""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import float_argument
from pyrepl.errors import CommandError
from pyrepl.keyspace.geo_cells import MAX_LATITUDE, MAX_LONGITUDE

_UNITS_M: Final = {b"M": 1.0, b"KM": 1000.0, b"FT": 0.3048, b"MI": 1609.34}
_UNITS_AS_WRITTEN: Final = _UNITS_M | {unit.lower(): metres for unit, metres in _UNITS_M.items()}
"""By their names in capitals and in small letters: the usual spellings."""


def place_argument(longitude: bytes, latitude: bytes) -> tuple[float, float]:
    """(longitude, latitude) in degrees, within the bounds of cells."""
    x, y = float_argument(longitude), float_argument(latitude)
    if abs(x) > MAX_LONGITUDE or abs(y) > MAX_LATITUDE:
        raise CommandError(f"ERR invalid longitude,latitude pair {x:f},{y:f}")
    return x, y


def unit_argument(unit: bytes) -> float:
    """The metres of a unit."""
    metres = _UNITS_AS_WRITTEN.get(unit)
    if metres is None:
        metres = _UNITS_M.get(unit.upper())
    if metres is None:
        raise CommandError("ERR unsupported unit provided. please use M, KM, FT, MI")
    return metres


def radius_argument(radius: bytes, unit: bytes) -> tuple[float, float]:
    """(the radius in its unit, the metres of the unit)."""
    number = float_argument(radius, "ERR need numeric radius")
    if number < 0:
        raise CommandError("ERR radius cannot be negative")
    return number, unit_argument(unit)


def box_argument(width: bytes, height: bytes, unit: bytes) -> tuple[float, float, float]:
    """(the width and the height in their unit, the metres of the unit)."""
    across = float_argument(width, "ERR need numeric width")
    down = float_argument(height, "ERR need numeric height")
    if across < 0 or down < 0:
        raise CommandError("ERR height or width cannot be negative")
    return across, down, unit_argument(unit)


def distance_text(number: float) -> bytes:
    """A distance as it is answered: with four decimals, rounded half to even."""
    scaled = round(number * 10000.0)
    return b"%d.%04d" % (scaled // 10000, scaled % 10000)
