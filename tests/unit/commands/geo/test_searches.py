"""Searches: what is found, answered and stored. Corner cases are compared in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.geo import places, searches
from pyrepl.commands.zsets import ranges, zsets
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(places, searches, zsets, ranges)
    desk.say("GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania")
    desk.say("GEOADD Sicily 12.758489 38.788135 edge1 17.241510 38.788135 edge2")
    desk.sent()
    return desk


def test_circles_and_boxes(desk: Desk) -> None:
    assert desk.say("GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 200 km ASC") == [b"Catania", b"Palermo"]
    assert desk.say("GEOSEARCH Sicily FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHDIST COUNT 3") == [
        [b"Catania", b"56.4413"],
        [b"Palermo", b"190.4424"],
        [b"edge2", b"279.7403"],
    ]
    assert desk.say("GEORADIUS Sicily 15 37 200 km DESC") == [b"Palermo", b"Catania"]
    assert desk.say("GEORADIUSBYMEMBER_RO Sicily Catania 1 m WITHHASH") == [[b"Catania", 3479447370796909]]
    assert desk.say("GEOSEARCH nosuch FROMMEMBER a BYRADIUS 1 m") == []
    assert desk.error("GEOSEARCH Sicily FROMMEMBER nosuch BYRADIUS 1 m").endswith("decode requested zset member")


def test_storing(desk: Desk) -> None:
    before = desk.keyspace.dirty
    assert desk.say("GEOSEARCHSTORE near Sicily FROMLONLAT 15 37 BYRADIUS 200 km") == 2
    assert desk.keyspace.dirty == before + 2
    assert desk.say("ZSCORE near Palermo") == 3479099956230698.0
    assert desk.say("GEORADIUS Sicily 15 37 200 km STOREDIST near COUNT 1") == 1
    assert desk.say("ZRANGE near 0 -1") == [b"Catania"]
    assert desk.say("GEORADIUS_RO Sicily 15 37 200 km COUNT 1 ANY") == [b"Palermo"]
    assert desk.say("GEOSEARCHSTORE near Sicily FROMLONLAT 0 0 BYRADIUS 1 km") == 0
    assert desk.say("ZCARD near") == 0
    assert [line.split()[0] for line in desk.sent()] == ["GEOSEARCHSTORE", "GEORADIUS", "GEOSEARCHSTORE"]


def test_keys_of_georadius() -> None:
    row = searches.georadius
    assert row.keys.positions(b"GEORADIUS a 1 2 3 m storedist c STORE b".split()) == [1, 9, 7]
    assert row.keys.positions(b"GEORADIUS a 1 2 3 m STORE".split()) == [1]
