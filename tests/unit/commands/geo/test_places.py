"""Adding places and asking for them. Corner cases are compared in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.geo import places
from pyrepl.commands.zsets import zsets
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(places, zsets)
    assert desk.say("GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania") == 2
    return desk


def test_places_propagate_as_scores(desk: Desk) -> None:
    assert desk.sent() == ["zadd Sicily 3479099956230698 Palermo 3479447370796909 Catania"]
    assert desk.say("GEOADD Sicily NX 1 1 Palermo") == 0
    assert desk.say("GEOADD Sicily XX CH 1 1 Palermo 2 2 new") == 1
    assert [line.rpartition(" ")[2] for line in desk.sent()] == ["new"]


def test_asking(desk: Desk) -> None:
    assert desk.say("GEODIST Sicily Palermo Catania") == b"166274.1516"
    assert desk.say("GEODIST Sicily Palermo Catania km") == b"166.2742"
    assert desk.say("GEODIST Sicily Palermo nosuch") is None
    assert desk.say("GEOHASH Sicily Palermo nosuch") == [b"sqc8b49rny0", None]
    assert desk.encoded("GEOPOS", "Sicily", "Palermo", "nosuch") == (
        b"*2\r\n*2\r\n$18\r\n13.361389338970184\r\n$16\r\n38.1155563954963\r\n*-1\r\n"
    )
    assert desk.say("GEOPOS nosuch") == []


def test_errors(desk: Desk) -> None:
    assert desk.error("GEOADD k NX XX 1 1 a") == "ERR syntax error"
    assert desk.error("GEOADD k 1 1 a 2") == "ERR syntax error"
    assert desk.error("GEOADD k CH NX NX") == "ERR syntax error"
    assert desk.error("GEODIST Sicily a b m x") == "ERR syntax error"
