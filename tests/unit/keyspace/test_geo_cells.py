"""Cells, places, distances, areas. The digits of Redis are compared in tests/property."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.keyspace.geo_cells import (
    MAX_LATITUDE,
    STEPS,
    Area,
    Cells,
    bits_of,
    box,
    cell_of,
    circle,
    distance,
    inside,
    members_of,
    place_of,
    polygon,
    steps_for,
    text_of,
)

longitudes = st.floats(-180, 180)
latitudes = st.floats(-MAX_LATITUDE, MAX_LATITUDE)
PALERMO = (13.361389, 38.115556)
CATANIA = (15.087269, 37.502669)


def ranges_of(area: Area) -> list[tuple[float, float]]:
    """The scores [low, high) of each cell."""
    cells = Cells(area)
    ranges = []
    while (low := cells.next_low()) >= 0:
        ranges.append((low, low + cells.width))
    return ranges


def score(longitude: float, latitude: float) -> float:
    return float(cell_of(longitude, latitude, STEPS, MAX_LATITUDE))


def test_what_redis_documents() -> None:
    assert score(*PALERMO) == 3479099956230698.0
    assert text_of(score(*PALERMO)) == b"sqc8b49rny0"
    assert text_of(score(*CATANIA)) == b"sqdtr74hyu0"
    between = distance(*place_of(score(*PALERMO)), *place_of(score(*CATANIA)))
    assert f"{between:.4f}" == "166274.1516"


@given(longitudes, latitudes)
def test_a_cell_has_its_place_inside(longitude: float, latitude: float) -> None:
    x, y = place_of(score(longitude, latitude))
    assert abs(x - longitude) <= 360 / 2**STEPS and abs(y - latitude) <= 171 / 2**STEPS


@given(longitudes, latitudes, longitudes, latitudes)
def test_distances(x: float, y: float, other_x: float, other_y: float) -> None:
    there, back = distance(x, y, other_x, other_y), distance(other_x, other_y, x, y)
    assert math.isnan(there) or 0 <= there <= 20_100_000
    assert math.isnan(there) or math.isclose(there, back, rel_tol=1e-9, abs_tol=1e-6)
    assert distance(x, y, x, y) == 0


@pytest.mark.parametrize(
    ("number", "bits"),
    [
        (0.0, 0),
        (1.9, 1),
        (-1.9, 2**64 - 1),
        (2.0**63, 2**63),
        (2.0**64, 0),
        (math.inf, 0),
        (-math.inf, 2**63),
        (-(2.0**63), 2**63),
    ],
)
def test_scores_that_are_no_cells(number: float, bits: int) -> None:
    assert bits_of(number) == bits
    x, y = place_of(number)
    assert abs(x) <= 180 and abs(y) <= MAX_LATITUDE


@pytest.mark.parametrize(
    ("radius_m", "latitude", "steps"),
    [(0, 0, 26), (1, 0, 24), (1, 70, 23), (1, -81, 22), (1000, 0, 14), (1e7, 0, 1), (math.inf, 0, 1), (1e-9, 0, 26)],
)
def test_smaller_areas_have_more_steps(radius_m: float, latitude: float, steps: int) -> None:
    assert steps_for(radius_m, latitude) == steps


@settings(max_examples=200)
@given(longitudes, st.floats(-84, 84), st.floats(0, 3_000_000), st.floats(0, 6.3), st.floats(0, 1))
def test_ranges_hold_what_is_inside(x: float, y: float, radius_m: float, angle: float, part: float) -> None:
    """Away from the poles and the edges of the map, where Redis leaves members out as well."""
    away_m = radius_m * part
    north = away_m * math.sin(angle) / 111_300
    if abs(y + north) > 65 or abs(y) > 65:
        return
    east = away_m * math.cos(angle) / 111_300 / math.cos(math.radians(max(abs(y), abs(y + north))))
    if abs(x + east) > 180 or abs(x) + radius_m / 111_000 / math.cos(math.radians(min(89.0, abs(y) + 27))) > 180:
        return
    other = score(x + east, y + north)
    ranges = ranges_of(circle(x, y, radius_m))
    assert len(ranges) <= 9
    if distance(x, y, *place_of(other)) <= radius_m:
        assert any(low <= other < high for low, high in ranges)
        assert members_of(inside([[(other, b"m")]], circle(x, y, radius_m), 0)) == [b"m"]


@pytest.mark.parametrize("radius_m", [0.0, 1.0, 1e5, 1e7, 1e300, math.inf])
@pytest.mark.parametrize("x", [-180.0, 0.0, 180.0])
@pytest.mark.parametrize("y", [-MAX_LATITUDE, 0.0, MAX_LATITUDE])
def test_the_edges_of_the_map(x: float, y: float, radius_m: float) -> None:
    ranges = ranges_of(circle(x, y, radius_m))
    assert any(low <= score(x, y) < high for low, high in ranges) or radius_m > 1e6


def found_around(
    entries: list[tuple[float, bytes]], east_m: float, north_m: float, is_box: bool = True, most: int = 0
) -> bytes:
    """The members, of one letter, that lie around (10, 50); each entry is a piece of its own."""
    area = box(10.0, 50.0, east_m, north_m, math.hypot(east_m, north_m)) if is_box else circle(10.0, 50.0, east_m)
    pieces = [[entry] for entry in sorted(entries)]
    return b"".join(sorted(members_of(inside(pieces, area, most))))


def test_polygons() -> None:
    places = {b"a": (10.0, 50.0), b"b": (10.1, 50.05), b"c": (10.9, 50.9), b"d": (10.2, 50.9), b"e": (9.9, 50.5)}
    pieces = [sorted((score(*place), name) for name, place in places.items())]

    def names(*vertices: tuple[float, float]) -> bytes:
        return b"".join(sorted(members_of(inside(pieces, polygon(list(vertices)), 0))))

    assert names((9.95, 49.9), (11.1, 49.9), (9.95, 51.1)) == b"ab"
    assert names((9.95, 49.9), (11.1, 49.9), (11.1, 51.1), (9.95, 51.1)) == b"abcd"
    assert names((11.1, 51.1), (9.95, 51.1), (9.95, 49.9), (11.1, 49.9)) == b"abcd"
    notched = ((9.95, 49.9), (11.1, 49.9), (11.1, 51.1), (10.15, 50.2), (9.95, 51.1))
    assert names(*notched) == b"abc"
    assert names((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)) == b""
    assert names((10.0, 49.0), (10.0, 50.0), (10.0, 51.0)) == b"", "it has no inside"
    assert names((-180.0, 40.0), (0.0, 40.0), (180.0, 40.0), (180.0, 85.0), (-180.0, 85.0)) == b"abcde"
    assert names((-180.0, 84.0), (-60.0, 85.0), (60.0, 84.0), (180.0, 85.0)) == b"", "around the pole"


def test_boxes_and_limits() -> None:
    entries = [(score(10.0, 50.0), b"a"), (score(10.1, 50.0), b"b"), (score(10.0, 50.1), b"c")]
    assert found_around(entries, 10_000, 1_000) == b"ab"
    assert found_around(entries, 1_000, 12_500) == b"ac"
    assert found_around(entries, 10_000, 12_500) == b"abc"
    assert len(found_around(entries, 10_000, 12_500, most=2)) == 2
    assert found_around(entries, 7_500, 7_500, is_box=False) == b"ab"
    assert len(found_around(entries, 7_500, 7_500, is_box=False, most=1)) == 1
    assert found_around([], 7_500, 7_500, is_box=False) == b""


@settings(max_examples=300)
@given(
    longitudes,
    latitudes,
    st.lists(st.tuples(longitudes, latitudes), max_size=40),
    st.lists(st.floats(-0.2, 0.2), min_size=8, max_size=40),
    st.floats(0, 20_000) | st.floats(0, 21_000_000),
    st.integers(1, 7),
)
def test_what_is_found_is_what_is_near(
    x: float,
    y: float,
    far: list[tuple[float, float]],
    near: list[float],
    radius_m: float,
    size: int,
) -> None:
    """The walk leaves out what it can tell to be outside without its distance; the answer is that of all distances."""
    close = [(x + right, y + up) for right, up in zip(near[::2], near[1::2], strict=False)]
    places = [place for place in far + close if abs(place[0]) <= 180 and abs(place[1]) <= MAX_LATITUDE]
    entries = sorted((score(*place), b"%d" % number) for number, place in enumerate(places))
    pieces = [entries[at : at + size] for at in range(0, len(entries), size)]
    ranges = ranges_of(circle(x, y, radius_m))
    expected = [
        member
        for low, high in ranges
        for number, member in entries
        if low <= number < high and not distance(x, y, *place_of(number)) > radius_m
    ]
    assert members_of(inside(pieces, circle(x, y, radius_m), 0)) == expected
