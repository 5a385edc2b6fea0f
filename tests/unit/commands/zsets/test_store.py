"""Unions, intersections and differences of sorted sets."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import sets
from pyrepl.commands.zsets import ranges as zset_ranges
from pyrepl.commands.zsets import store as zset_store
from pyrepl.commands.zsets import zsets
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(zsets, zset_ranges, zset_store, sets)
    desk.say("ZADD k 1 a 2 b")
    desk.say("ZADD l 10 b 20 c")
    desk.say("SADD plain b d")
    desk.keyspace.databases[0].put(b"s", b"text")
    desk.sent()
    return desk


def test_answers(desk: Desk) -> None:
    assert desk.say("ZUNION 2 k l WITHSCORES") == [b"a", b"1", b"b", b"12", b"c", b"20"]
    assert desk.say("ZUNION 2 k l WITHSCORES", desk.connect(proto=3)) == [(b"a", 1.0), (b"b", 12.0), (b"c", 20.0)]
    assert desk.say("ZINTER 2 k l WEIGHTS 2 1 AGGREGATE max WITHSCORES") == [b"b", b"10"]
    assert desk.say("ZDIFF 2 k l") == [b"a"]
    assert desk.say("ZUNION 2 k plain WITHSCORES") == [b"a", b"1", b"d", b"1", b"b", b"3"]
    assert desk.say("ZINTER 2 k nosuch") == []
    assert desk.sent() == []


def test_what_is_not_a_number_counts_as_zero(desk: Desk) -> None:
    desk.say("ZADD up inf m")
    desk.say("ZADD down -inf m")
    assert desk.say("ZUNION 2 up down WITHSCORES") == [b"m", b"0"]
    assert desk.say("ZUNION 1 up WEIGHTS 0 WITHSCORES") == [b"m", b"0"]


def test_storing(desk: Desk) -> None:
    dirty = desk.keyspace.dirty
    assert desk.say("ZUNIONSTORE s 2 k l") == 3
    assert desk.say("ZINTERSTORE k 2 k l") == 1
    assert desk.say("ZRANGE k 0 -1 WITHSCORES") == [b"b", b"12"]
    assert desk.say("ZDIFFSTORE l 2 l k") == 1
    assert desk.say("ZRANGE l 0 -1") == [b"c"]
    assert desk.keyspace.dirty == dirty + 3
    assert desk.sent() == ["ZUNIONSTORE s 2 k l", "ZINTERSTORE k 2 k l", "ZDIFFSTORE l 2 l k"]
    assert desk.say("ZINTERSTORE s 2 k nosuch") == 0
    assert desk.keyspace.databases[0].find(b"s") is None


def test_counting(desk: Desk) -> None:
    desk.say("ZADD k 3 c")
    assert desk.say("ZINTERCARD 2 k l") == 2
    assert desk.say("ZINTERCARD 2 k l LIMIT 1") == 1
    assert desk.say("ZINTERCARD 2 k l LIMIT 0") == 2
    assert desk.error("ZINTERCARD 2 k l LIMIT -1") == "ERR LIMIT can't be negative"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ZUNION 0 k", "ERR at least 1 input key is needed for 'zunion' command"),
        ("ZUNIONSTORE t 0 k", "ERR at least 1 input key is needed for 'zunionstore' command"),
        ("ZINTER x k", "ERR value is not an integer or out of range"),
        ("ZINTER 3 k l", "ERR syntax error"),
        ("ZINTER 2 k l WEIGHTS 1", "ERR syntax error"),
        ("ZINTER 2 k l WEIGHTS 1 x", "ERR weight value is not a float"),
        ("ZINTER 2 k l AGGREGATE AVG", "ERR syntax error"),
        ("ZDIFF 2 k l WEIGHTS 1 2", "ERR syntax error"),
        ("ZUNIONSTORE t 2 k l WITHSCORES", "ERR syntax error"),
        ("ZINTERCARD 2 k l WITHSCORES", "ERR syntax error"),
        ("ZUNION 2 k s FOO", "WRONGTYPE Operation against a key holding the wrong kind of value"),
    ],
)
def test_bad_arguments(desk: Desk, line: str, text: str) -> None:
    assert desk.error(line) == text
    assert desk.sent() == []
