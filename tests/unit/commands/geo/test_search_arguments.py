"""What searches are asked for: which options go together. All texts are compared in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.geo.search_arguments import DESCENDING, RADIUS, RADIUS_RO, SEARCH, Kind, parse_search
from pyrepl.errors import CommandError


def parsed(line: str, kind: Kind = SEARCH, destination: bytes | None = None) -> object:
    return parse_search(kind, [b"GeoSearch", *line.encode().split()], 1, None, destination)


def test_a_search() -> None:
    argv = b"GEOSEARCH key FROMLONLAT 1 2 BYBOX 3 4 km WITHDIST COUNT 5 ANY DESC".split()
    search = parse_search(SEARCH, argv, 2, None, None)
    assert (search.longitude, search.latitude, search.width, search.height, search.unit_m) == (1, 2, 3, 4, 1000)
    assert search.is_box and search.with_distance and search.any and search.count == 5
    assert search.order == DESCENDING and search.destination is None


def test_where_results_go() -> None:
    argv = b"GEORADIUS key 1 2 3 m STORE a STOREDIST b".split()
    search = parse_search(RADIUS, argv, 2, None, None)
    assert search.destination == b"b" and search.stores_distances


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        ("FROMMEMBER a", SEARCH, "exactly one of BYRADIUS and BYBOX can be specified for GeoSearch"),
        ("BYRADIUS 1 m", SEARCH, "exactly one of FROMMEMBER or FROMLONLAT can be specified for GeoSearch"),
        ("FROMMEMBER a FROMLONLAT 1 1 BYRADIUS 1 m", SEARCH, "syntax error"),
        ("FROMMEMBER a BYRADIUS 1 m BYBOX 1 1 m", SEARCH, "syntax error"),
        ("FROMMEMBER a BYRADIUS 1 m ANY", SEARCH, "the ANY argument requires COUNT argument"),
        ("FROMMEMBER a BYRADIUS 1 m COUNT 0", SEARCH, "COUNT must be > 0"),
        ("FROMMEMBER a BYRADIUS 1 m STOREDIST", SEARCH, "syntax error"),
        ("1 1 1 m STORE a", RADIUS_RO, "syntax error"),
        (
            "1 1 1 m STORE a WITHDIST",
            RADIUS,
            "STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
        ),
    ],
)
def test_what_does_not_go_together(line: str, kind: Kind, text: str) -> None:
    with pytest.raises(CommandError, match=text):
        parsed(line, kind)
