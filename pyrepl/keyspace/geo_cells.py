# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, annotation_typing=False
"""Places on earth as scores of a sorted set: cells of 52 bits, distances, and which members lie in an area.

A cell of n steps is one of 4**n: the earth, from -180 to 180 degrees and from -85.05112878 to 85.05112878, halved n
times in each direction. Its number has two bits for each step, longitude's above latitude's. A place is kept as its
cell of 26 steps; a score is such a number. Members of a larger cell are neighbours in the order of scores.

The steps of each computation are those of Redis 8.2, so that scores, distances and the order of members are the same to
the last digit. Compiled by Cython with the types of geo_cells.pxd; as it is written it does the same.
"""

from __future__ import annotations

from array import array

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.math import asin, cos, sin, sqrt
else:
    from math import asin, cos, sin, sqrt

from math import nan

MAX_LATITUDE = 85.05112878
MAX_LONGITUDE = 180.0
STEPS = 26

_MAX_LATITUDE = 85.05112878
_TO_RADIANS = 0.017453292519943295
_EARTH_M = 6372797.560856
_HALF_MERCATOR_M = 20037726.37
"""Half the length of the equator in the projection that steps are estimated by."""
_EXACT = 4503599627370496.0
"""2**52: a score from 0 to here is a cell, or that of the utmost edge."""

_RIGHT = array("i", [0, 0, 0, 1, -1, 1, -1, 1, -1])
_UP = array("i", [0, 1, -1, 0, 0, 1, 1, -1, -1])
"""The cell and its neighbours, in the order in which they are searched."""

_LETTERS = b"0123456789bcdefghjkmnpqrstuvwxyz"

_ONE = 1
_MASK_1 = 0x5555555555555555
_MASK_2 = 0x3333333333333333
_MASK_4 = 0x0F0F0F0F0F0F0F0F
_MASK_8 = 0x00FF00FF00FF00FF
_MASK_16 = 0x0000FFFF0000FFFF
_MASK_32 = 0x00000000FFFFFFFF


def _spread(number: int) -> int:
    """The lowest 32 bits, each at twice its place."""
    bits = number & _MASK_32
    bits = (bits | bits << 16) & _MASK_16
    bits = (bits | bits << 8) & _MASK_8
    bits = (bits | bits << 4) & _MASK_4
    bits = (bits | bits << 2) & _MASK_2
    return (bits | bits << 1) & _MASK_1


def _gather(number: int) -> int:
    """Every second bit, from the lowest on: `_spread` backwards."""
    bits = number & _MASK_1
    bits = (bits | bits >> 1) & _MASK_2
    bits = (bits | bits >> 2) & _MASK_4
    bits = (bits | bits >> 4) & _MASK_8
    bits = (bits | bits >> 8) & _MASK_16
    return (bits | bits >> 16) & _MASK_32


def cell_of(longitude: float, latitude: float, steps: int, max_latitude: float) -> int:
    """The cell of a place, which is within the bounds; these are `max_latitude` north and south."""
    scale = _ONE << steps
    north = (latitude + max_latitude) / (max_latitude + max_latitude) * scale
    east = (longitude + 180.0) / 360.0 * scale
    down = int(north)
    right = int(east)
    return _spread(down) | _spread(right) << 1


def bits_of(score: float) -> int:
    """The 64 bits of a cell that a score stands for: those that C makes of any double on x86-64."""
    if 0.0 <= score <= _EXACT:
        return int(score)
    if score != score or score >= 18446744073709551616.0 or score < -9223372036854775808.0:
        return 0 if score > 0.0 else 1 << 63
    return int(score) & (1 << 64) - 1


def _longitude(cell: int) -> float:
    """The middle of a cell of 26 steps."""
    place = _gather(cell >> 1)
    low = -180.0 + place * 1.0 / 67108864.0 * 360.0
    high = -180.0 + ((place + 1) & _MASK_32) * 1.0 / 67108864.0 * 360.0
    middle = (low + high) / 2.0
    if middle > 180.0:
        return 180.0
    return -180.0 if middle < -180.0 else middle


def _latitude(cell: int) -> float:
    """The middle of a cell of 26 steps."""
    place = _gather(cell)
    scale = _MAX_LATITUDE + _MAX_LATITUDE
    low = -_MAX_LATITUDE + place * 1.0 / 67108864.0 * scale
    high = -_MAX_LATITUDE + ((place + 1) & _MASK_32) * 1.0 / 67108864.0 * scale
    middle = (low + high) / 2.0
    if middle > _MAX_LATITUDE:
        return _MAX_LATITUDE
    return -_MAX_LATITUDE if middle < -_MAX_LATITUDE else middle


def place_of(score: float) -> tuple[float, float]:
    """(longitude, latitude) of a score: the middle of its cell."""
    cell = bits_of(score)
    return _longitude(cell), _latitude(cell)


def _distance(longitude: float, latitude: float, other_longitude: float, other_latitude: float) -> float:
    """`distance`, in C."""
    v = sin((other_longitude * _TO_RADIANS - longitude * _TO_RADIANS) / 2.0)
    north = latitude * _TO_RADIANS
    other_north = other_latitude * _TO_RADIANS
    if v == 0.0:
        return _EARTH_M * abs(other_north - north)
    u = sin((other_north - north) / 2.0)
    a = u * u + cos(north) * cos(other_north) * v * v
    root = sqrt(a)
    # Opposite places may be farther than possible, by the last digit.
    return 2.0 * _EARTH_M * asin(root) if root <= 1.0 else nan


def distance(longitude: float, latitude: float, other_longitude: float, other_latitude: float) -> float:
    """Metres between two places, on a sphere (haversine)."""
    return _distance(longitude, latitude, other_longitude, other_latitude)


def in_circle(
    entries: list[tuple[float, bytes]],
    longitude: float,
    latitude: float,
    radius_m: float,
    most: int,
    found: list[tuple[float, float, bytes]],
) -> None:
    """Append (distance in metres, score, member) to `found` for each of `entries`, as (score, member), that is at most
    `radius_m` away; as soon as `found` has `most`, if that is not 0, the rest is left out."""
    for entry in entries:
        score = entry[0]
        cell = bits_of(score)
        away_m = _distance(longitude, latitude, _longitude(cell), _latitude(cell))
        if not away_m > radius_m:
            found.append((away_m, score, entry[1]))
            if most and len(found) >= most:
                return


def in_box(
    entries: list[tuple[float, bytes]],
    longitude: float,
    latitude: float,
    width_m: float,
    height_m: float,
    most: int,
    found: list[tuple[float, float, bytes]],
) -> None:
    """As `in_circle`, for those that are at most half the width and half the height away, in these directions."""
    for entry in entries:
        score = entry[0]
        cell = bits_of(score)
        other_latitude = _latitude(cell)
        if _EARTH_M * abs(other_latitude * _TO_RADIANS - latitude * _TO_RADIANS) > height_m / 2.0:
            continue
        other_longitude = _longitude(cell)
        if _distance(other_longitude, other_latitude, longitude, other_latitude) > width_m / 2.0:
            continue
        away_m = _distance(longitude, latitude, other_longitude, other_latitude)
        found.append((away_m, score, entry[1]))
        if most and len(found) >= most:
            return


def steps_for(radius_m: float, latitude: float) -> int:
    """The steps of cells that are about as large as an area, in 1..26: fewer near the poles, where cells are narrow."""
    if radius_m == 0.0:
        return STEPS
    steps = -1
    while radius_m < _HALF_MERCATOR_M:
        radius_m *= 2.0
        steps += 1
    if latitude > 66.0 or latitude < -66.0:
        steps -= 1
        if latitude > 80.0 or latitude < -80.0:
            steps -= 1
    if steps < 1:
        return 1
    return 26 if steps > 26 else steps


def ranges_around(
    longitude: float, latitude: float, half_width_m: float, half_height_m: float, radius_m: float
) -> list[tuple[float, float]]:
    """The ranges of scores, [low, high), that hold all members of an area: its cell and up to eight around it.

    The area reaches so far east and west, north and south; `radius_m` is how far its farthest point is away. The cells
    and their order are Redis's, since members are found in that order.
    """
    steps = steps_for(radius_m, latitude)
    cell = cell_of(longitude, latitude, steps, _MAX_LATITUDE)
    if steps == 1:
        # A quarter of the earth and its neighbours are all of it.
        return _ranges(cell, 1, -1, 1, -1, 1)
    north_span = half_height_m / _EARTH_M / _TO_RADIANS
    # The edge that is farther from the equator is the wider one, in degrees.
    edge = latitude - north_span if latitude < 0.0 else latitude + north_span
    east_span = half_width_m / _EARTH_M / cos(edge * _TO_RADIANS) / _TO_RADIANS
    south = latitude - north_span
    north = latitude + north_span
    west = longitude - east_span
    east = longitude + east_span
    if (
        _north_end(_beside(cell, steps, 0, 1), steps) < north
        or _south_end(_beside(cell, steps, 0, -1), steps) > south
        or _east_end(_beside(cell, steps, 1, 0), steps) < east
        or _west_end(_beside(cell, steps, -1, 0), steps) > west
    ):
        steps -= 1
        cell = cell_of(longitude, latitude, steps, _MAX_LATITUDE)
    if steps == 1:
        return _ranges(cell, 1, -1, 1, -1, 1)
    return _ranges(
        cell,
        steps,
        0 if _west_end(cell, steps) < west else -1,
        0 if _east_end(cell, steps) > east else 1,
        0 if _south_end(cell, steps) < south else -1,
        0 if _north_end(cell, steps) > north else 1,
    )


def _south_end(cell: int, steps: int) -> float:
    scale = _ONE << steps
    return -_MAX_LATITUDE + _gather(cell) * 1.0 / scale * (_MAX_LATITUDE + _MAX_LATITUDE)


def _north_end(cell: int, steps: int) -> float:
    scale = _ONE << steps
    return -_MAX_LATITUDE + (_gather(cell) + 1) * 1.0 / scale * (_MAX_LATITUDE + _MAX_LATITUDE)


def _west_end(cell: int, steps: int) -> float:
    scale = _ONE << steps
    return -180.0 + _gather(cell >> 1) * 1.0 / scale * 360.0


def _east_end(cell: int, steps: int) -> float:
    scale = _ONE << steps
    return -180.0 + (_gather(cell >> 1) + 1) * 1.0 / scale * 360.0


def _beside(cell: int, steps: int, east: int, north: int) -> int:
    """The cell so many cells further, -1 to 1 in each direction; beyond an edge it goes on at the opposite one."""
    side = _ONE << steps
    right = _gather(cell >> 1)
    up = _gather(cell)
    if east:
        right = (right + side + east) & (side - 1)
    if north:
        up = (up + side + north) & (side - 1)
    return _spread(up) | _spread(right) << 1


def _ranges(cell: int, steps: int, west: int, east: int, south: int, north: int) -> list[tuple[float, float]]:
    """The ranges of a cell and its neighbours, which reach so many cells in each direction."""
    found: list[tuple[float, float]] = []
    unit = _ONE << 52 - 2 * steps
    last = -1.0
    for at in range(9):
        right = _RIGHT[at]
        up = _UP[at]
        if right < west or right > east or up < south or up > north:
            continue
        low = float(_beside(cell, steps, right, up) * unit)
        if low != last:
            found.append((low, low + unit))
        # Where cells are huge, neighbours may be the same; Redis compares each with the one before, but not with the
        # first.
        if at:
            last = low
    return found


def text_of(score: float) -> bytes:
    """The eleven letters of the usual geohash, which counts latitude from -90 to 90; the last one is always 0."""
    cell = bits_of(score)
    number = cell_of(_longitude(cell), _latitude(cell), 26, 90.0)
    return bytes([_LETTERS[number >> 47 - 5 * at & 31] for at in range(10)]) + b"0"
