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
    from cython.cimports.libc.math import asin, atan2, cos, sin, sqrt
else:
    from math import asin, atan2, cos, sin, sqrt

from math import nan

MAX_LATITUDE = 85.05112878
MAX_LONGITUDE = 180.0
STEPS = 26

_MAX_LATITUDE = 85.05112878
_MAX_LONGITUDE = 180.0
_TO_RADIANS = 0.017453292519943295
_EARTH_M = 6372797.560856
_HALF_MERCATOR_M = 20037726.37
"""Half the length of the equator in the projection that steps are estimated by."""
_EXACT = 4503599627370496.0
"""2**52: a score from 0 to here is a cell, or that of the utmost edge."""

_OUTSIDE = -1.0
"""Stands for the distance of what is not in the area; distances are 0 or more, or nan."""
_SURELY = 1.000001
_SPARE = 1e-9
"""What is so many times, and so many degrees, farther away than the edge is outside, whatever the last digits of its
distance."""

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
    north = latitude * _TO_RADIANS
    return _arc(longitude * _TO_RADIANS, north, cos(north), other_longitude, other_latitude)


def _arc(east: float, north: float, north_cos: float, other_longitude: float, other_latitude: float) -> float:
    """`distance` from a place of which these are known, in radians: the same for all that are looked at from there."""
    v = sin((other_longitude * _TO_RADIANS - east) / 2.0)
    other_north = other_latitude * _TO_RADIANS
    if v == 0.0:
        return _EARTH_M * abs(other_north - north)
    u = sin((other_north - north) / 2.0)
    a = u * u + north_cos * cos(other_north) * v * v
    root = sqrt(a)
    # Opposite places may be farther than possible, by the last digit.
    return 2.0 * _EARTH_M * asin(root) if root <= 1.0 else nan


def distance(longitude: float, latitude: float, other_longitude: float, other_latitude: float) -> float:
    """Metres between two places, on a sphere (haversine)."""
    return _distance(longitude, latitude, other_longitude, other_latitude)


class Area:
    """What is searched: a circle or a box around a place, or a polygon; made by `circle`, `box` and `polygon`.

    (`longitude`, `latitude`) is the place that distances are counted from. In degrees, the area reaches from `west` to
    `east` and from `south` to `north`, as the cells are chosen by; `far_m` is how far its farthest point is away.
    """

    def __init__(self, longitude: float, latitude: float) -> None:
        self._place(longitude, latitude)
        self.far_m = self.west = self.east = self.south = self.north = 0.0
        self._is_box = False
        self._vertices: list[tuple[float, float]] = []

    def _place(self, longitude: float, latitude: float) -> None:
        """Distances are counted from here."""
        self.longitude = longitude
        self.latitude = latitude
        self._east_radians = longitude * _TO_RADIANS
        self._north_radians = latitude * _TO_RADIANS
        self._north_cos = cos(self._north_radians)

    def _reach(self, east_m: float, north_m: float, far_m: float) -> None:
        """The area reaches so far east and west, north and south."""
        latitude = self.latitude
        north_span = north_m / _EARTH_M / _TO_RADIANS
        self.far_m = far_m
        self._east_m = east_m
        self._north_m = north_m
        # What is outside of these degrees, with some to spare, is not looked at more closely.
        self._up = north_span * _SURELY + _SPARE
        self._across = _degrees_across(latitude, self._up, east_m) * _SURELY + _SPARE
        if far_m >= _HALF_MERCATOR_M:
            # All cells are searched, and the area may be without end.
            return
        # The edge that is farther from the equator is the wider one, in degrees.
        edge = latitude - north_span if latitude < 0.0 else latitude + north_span
        east_span = east_m / _EARTH_M / cos(edge * _TO_RADIANS) / _TO_RADIANS
        self.south = latitude - north_span
        self.north = latitude + north_span
        self.west = self.longitude - east_span
        self.east = self.longitude + east_span

    def _span(self, vertices: list[tuple[float, float]]) -> None:
        """The area is the polygon with these (longitude, latitude); distances are counted from their middle."""
        self._vertices = vertices
        self.west = _MAX_LONGITUDE
        self.east = -_MAX_LONGITUDE
        self.south = _MAX_LATITUDE
        self.north = -_MAX_LATITUDE
        x = y = z = 0.0
        for vertex in vertices:
            longitude, latitude = vertex
            self.west = min(self.west, longitude)
            self.east = max(self.east, longitude)
            self.south = min(self.south, latitude)
            self.north = max(self.north, latitude)
            right = longitude * _TO_RADIANS
            up = latitude * _TO_RADIANS
            x += cos(up) * cos(right)
            y += cos(up) * sin(right)
            z += sin(up)
        # Where cells end: a polygon around a pole has its middle beyond.
        middle = atan2(z, sqrt(x * x + y * y)) / _TO_RADIANS
        self._place(atan2(y, x) / _TO_RADIANS, max(-_MAX_LATITUDE, min(_MAX_LATITUDE, middle)))
        for edge in (self.west, self.east):
            self.far_m = max(self.far_m, self._distance_to(edge, self.north))
            self.far_m = max(self.far_m, self._distance_to(edge, self.south))

    def _distance_to(self, longitude: float, latitude: float) -> float:
        """How far a place is away from the middle, in metres."""
        return _arc(self._east_radians, self._north_radians, self._north_cos, longitude, latitude)

    def _away(self, cell: int) -> float:
        """How far a cell of 26 steps is away from the middle, in metres; _OUTSIDE if it is not in the area."""
        latitude = _latitude(cell)
        if self._vertices:
            longitude = _longitude(cell)
            return self._distance_to(longitude, latitude) if self._surrounds(longitude, latitude) else _OUTSIDE
        if abs(latitude - self.latitude) > self._up:
            return _OUTSIDE
        longitude = _longitude(cell)
        if self._across < abs(longitude - self.longitude) < 360.0 - self._across:
            return _OUTSIDE
        if self._is_box:
            if _EARTH_M * abs(latitude * _TO_RADIANS - self.latitude * _TO_RADIANS) > self._north_m:
                return _OUTSIDE
            if _distance(longitude, latitude, self.longitude, latitude) > self._east_m:
                return _OUTSIDE
            return self._distance_to(longitude, latitude)
        away_m = self._distance_to(longitude, latitude)
        return _OUTSIDE if away_m > self._east_m else away_m

    def _surrounds(self, longitude: float, latitude: float) -> bool:
        """Is a place inside the polygon? A line from it to the east then crosses an odd number of edges. Edges are
        straight in degrees, and none goes over 180 degrees."""
        is_inside = False
        last = self._vertices[len(self._vertices) - 1]
        for vertex in self._vertices:
            right, up = vertex
            last_right, last_up = last
            last = vertex
            if (up > latitude) == (last_up > latitude):
                continue
            if longitude < (last_right - right) * (latitude - up) / (last_up - up) + right:
                is_inside = not is_inside
        return is_inside


def circle(longitude: float, latitude: float, radius_m: float) -> Area:
    """What is at most `radius_m` away from a place."""
    area = Area(longitude, latitude)
    area._reach(radius_m, radius_m, radius_m)
    return area


def box(longitude: float, latitude: float, east_m: float, north_m: float, far_m: float) -> Area:
    """What is at most so far away from a place to the east and west, to the north and south; its corners are `far_m`
    away."""
    area = Area(longitude, latitude)
    area._reach(east_m, north_m, far_m)
    area._is_box = True
    return area


def polygon(vertices: list[tuple[float, float]]) -> Area:
    """What is between at least three (longitude, latitude), by the rules of Valkey 9.1."""
    area = Area(0.0, 0.0)
    area._span(vertices)
    return area


def inside(pieces: list[list[tuple[float, bytes]]], area: Area, most: int) -> list[tuple[float, float, bytes]]:
    """(distance in metres, score, member) of what lies in an area, in the order of `Cells`.

    `pieces` are the (score, member) of a sorted set in ascending order, in lists that follow each other, none of which
    is empty. At most `most` are found; 0: all.
    """
    found: list[tuple[float, float, bytes]] = []
    cells = Cells(area)
    while True:
        low = cells.next_low()
        if low < 0.0:
            return found
        high = low + cells.width
        at = _first_piece(pieces, low)
        index = 0
        if at < len(pieces):
            index = _first_entry(pieces[at], low)
        while at < len(pieces):
            piece = pieces[at]
            while index < len(piece):
                entry = piece[index]
                score = entry[0]
                if not score < high:
                    break
                index += 1
                away_m = area._away(bits_of(score))
                if away_m == _OUTSIDE:
                    continue
                found.append((away_m, entry[0], entry[1]))
                if len(found) == most:
                    return found
            if index < len(piece):
                break
            at += 1
            index = 0


def members_of(found: list[tuple[float, float, bytes]]) -> list[bytes]:
    """The members of what `inside` found."""
    return [entry[2] for entry in found]


def _degrees_across(latitude: float, up: float, east_m: float) -> float:
    """How many degrees of longitude an area of `up` degrees to each side of a latitude may reach east and west, when no
    point of it is farther than `east_m` from the middle of its own latitude, or from the middle of all."""
    if latitude + up >= 90.0 or latitude - up <= -90.0 or east_m >= _HALF_MERCATOR_M / 2.0:
        return 360.0
    edge = max(abs(latitude + up), abs(latitude - up))
    part = sin(east_m / _EARTH_M / 2.0) / cos(edge * _TO_RADIANS)
    return 2.0 * asin(part) / _TO_RADIANS if part < 1.0 else 360.0


def _first_piece(pieces: list[list[tuple[float, bytes]]], low: float) -> int:
    """The index of the first list that has a score of at least `low`; their number if none has."""
    start = 0
    end = len(pieces)
    while start < end:
        middle = (start + end) >> 1
        piece = pieces[middle]
        entry = piece[len(piece) - 1]
        score = entry[0]
        if score < low:
            start = middle + 1
        else:
            end = middle
    return start


def _first_entry(piece: list[tuple[float, bytes]], low: float) -> int:
    """The index of the first entry whose score is at least `low`; their number if there is none."""
    start = 0
    end = len(piece)
    while start < end:
        middle = (start + end) >> 1
        entry = piece[middle]
        score = entry[0]
        if score < low:
            start = middle + 1
        else:
            end = middle
    return start


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


class Cells:
    """The cell of an area's middle and up to eight around it, which hold all its members, in the order in which Redis
    searches them: members are found in that order. A cell's scores are [low, low + width)."""

    def __init__(self, area: Area) -> None:
        self._at = 0
        self._last = -1.0
        self._west = self._south = -1
        self._east = self._north = 1
        self._steps = steps_for(area.far_m, area.latitude)
        # A quarter of the earth and its neighbours are all of it.
        if self._steps > 1:
            self._fit(area)
        else:
            self._cell = cell_of(area.longitude, area.latitude, 1, _MAX_LATITUDE)
        self.width = float(_ONE << 52 - 2 * self._steps)

    def next_low(self) -> float:
        """The lowest score of the next cell; -1 if there is none."""
        while self._at < 9:
            at = self._at
            self._at += 1
            right = _RIGHT[at]
            up = _UP[at]
            if right < self._west or right > self._east or up < self._south or up > self._north:
                continue
            low = float(_beside(self._cell, self._steps, right, up)) * self.width
            is_new = low != self._last
            # Where cells are huge, neighbours may be the same; Redis compares each with the one before, but not with
            # the first.
            if at:
                self._last = low
            if is_new:
                return low
        return -1.0

    def _fit(self, area: Area) -> None:
        """Choose the cells: larger ones if nine are not enough, and none beyond the area."""
        steps = self._steps
        cell = cell_of(area.longitude, area.latitude, steps, _MAX_LATITUDE)
        if (
            _north_end(_beside(cell, steps, 0, 1), steps) < area.north
            or _south_end(_beside(cell, steps, 0, -1), steps) > area.south
            or _east_end(_beside(cell, steps, 1, 0), steps) < area.east
            or _west_end(_beside(cell, steps, -1, 0), steps) > area.west
        ):
            steps -= 1
            cell = cell_of(area.longitude, area.latitude, steps, _MAX_LATITUDE)
        self._steps = steps
        self._cell = cell
        if steps == 1:
            return
        self._west = 0 if _west_end(cell, steps) < area.west else -1
        self._east = 0 if _east_end(cell, steps) > area.east else 1
        self._south = 0 if _south_end(cell, steps) < area.south else -1
        self._north = 0 if _north_end(cell, steps) > area.north else 1


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


def text_of(score: float) -> bytes:
    """The eleven letters of the usual geohash, which counts latitude from -90 to 90; the last one is always 0."""
    cell = bits_of(score)
    number = cell_of(_longitude(cell), _latitude(cell), 26, 90.0)
    return bytes([_LETTERS[number >> 47 - 5 * at & 31] for at in range(10)]) + b"0"
