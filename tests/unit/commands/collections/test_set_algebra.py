"""Intersections, unions and differences: what is answered, and what storing does."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import set_algebra, sets
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(sets, set_algebra)
    desk.say("SADD k a b c")
    desk.say("SADD l b c d")
    desk.keyspace.databases[0].put(b"s", b"text")
    desk.sent()
    return desk


def test_answers(desk: Desk) -> None:
    assert sorted(desk.say("SINTER k l") or ()) == [b"b", b"c"]  # type: ignore[arg-type,type-var]
    assert sorted(desk.say("SUNION k l nosuch") or ()) == [b"a", b"b", b"c", b"d"]  # type: ignore[arg-type,type-var]
    assert desk.say("SDIFF k l") == [b"a"]
    assert desk.say("SINTER k nosuch") == []
    assert desk.say("SINTER k l", desk.connect(proto=3)) == {b"b", b"c"}


def test_every_key_is_checked(desk: Desk) -> None:
    for line in ("SINTER nosuch s", "SUNION k s", "SDIFF nosuch s", "SINTERSTORE k nosuch s", "SINTERCARD 2 nosuch s"):
        assert desk.error(line).startswith("WRONGTYPE"), line
    assert desk.say("SCARD k") == 3


def test_storing_replaces_whatever_is_there(desk: Desk) -> None:
    db = desk.keyspace.databases[0]
    db.expire_at(b"s", desk.keyspace.now_ms + 1000)
    dirty = desk.keyspace.dirty
    assert desk.say("SUNIONSTORE s k l") == 4
    assert desk.say("SDIFFSTORE k k l") == 1
    assert desk.say("SMEMBERS k") == [b"a"]
    assert db.store.expires == {}
    assert desk.keyspace.dirty == dirty + 2
    assert desk.sent() == ["SUNIONSTORE s k l", "SDIFFSTORE k k l"]


def test_storing_nothing_deletes(desk: Desk) -> None:
    assert desk.say("SINTERSTORE s k nosuch") == 0
    assert desk.keyspace.databases[0].find(b"s") is None
    assert desk.sent() == ["SINTERSTORE s k nosuch"]
    assert desk.say("SINTERSTORE s k nosuch") == 0
    assert desk.sent() == []


def test_counting(desk: Desk) -> None:
    assert desk.say("SINTERCARD 2 k l") == 2
    assert desk.say("SINTERCARD 2 k l LIMIT 1") == 1
    assert desk.say("SINTERCARD 2 k l limit 0") == 2
    assert desk.say("SINTERCARD 2 k l LIMIT 9") == 2
    assert desk.say("SINTERCARD 2 k nosuch LIMIT 1") == 0
    assert desk.error("SINTERCARD 0 k") == "ERR numkeys should be greater than 0"
    assert desk.error("SINTERCARD 3 k l") == "ERR Number of keys can't be greater than number of args"
    assert desk.error("SINTERCARD 2 k l LIMIT -1") == "ERR LIMIT can't be negative"
    assert desk.error("SINTERCARD 2 k l LIMIT") == "ERR syntax error"
