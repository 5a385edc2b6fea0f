"""HSCAN, SSCAN and ZSCAN: whole small collections, complete walks through large ones that change meanwhile."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import collection_scans, hash_ttl, hashes, sets
from pyrepl.commands.zsets import zsets
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(hashes, hash_ttl, sets, zsets, collection_scans)


def walk(desk: Desk, name: str, key: str, *options: str) -> list[bytes]:
    """All elements of an iteration, pairs flat."""
    found: list[bytes] = []
    cursor: object = b"0"
    while True:
        reply = desk.run(name, key, cursor, *options)  # type: ignore[arg-type]
        assert isinstance(reply, list)
        cursor, elements = reply
        assert isinstance(elements, list)
        found += elements
        if cursor == b"0":
            return found


def test_small_collections_come_whole(desk: Desk) -> None:
    desk.say("HSET h a 1 b 2")
    desk.say("SADD s a b")
    desk.say("ZADD z 1.5 a 2 b")
    assert desk.say("HSCAN h 0 COUNT 1") == [b"0", [b"a", b"1", b"b", b"2"]]
    assert desk.say("HSCAN h 0 novalues count 1") == [b"0", [b"a", b"b"]]
    assert desk.say("HSCAN h 0 MATCH b NOVALUES") == [b"0", [b"b"]]
    assert desk.say("ZSCAN z 0", desk.connect(proto=3)) == [b"0", [b"a", b"1.5", b"b", b"2"]]
    reply = desk.say("SSCAN s 0")
    assert isinstance(reply, list)
    assert reply[0] == b"0"
    assert sorted(reply[1]) == [b"a", b"b"]


def test_large_collections_are_walked_completely_while_they_change(desk: Desk) -> None:
    names = [f"e{i}" for i in range(1000)]
    desk.run("SADD", "s", *names)
    desk.run("HSET", "h", *[word for name in names for word in (name, name)])
    desk.run("ZADD", "z", *[word for name in names for word in ("1", name)])
    every = {name.encode() for name in names}
    assert set(walk(desk, "SSCAN", "s")) == every
    assert set(walk(desk, "HSCAN", "h", "COUNT", "100")) == every
    assert set(walk(desk, "ZSCAN", "z", "MATCH", "e*")) == every | {b"1"}
    reply = desk.say("SSCAN s 0 COUNT 20")
    assert isinstance(reply, list)
    cursor, first = reply
    assert isinstance(first, list)
    gone = next(name for name in names if name.encode() not in first)
    desk.run("SREM", "s", gone)
    rest: list[bytes] = []
    while cursor != b"0":
        reply = desk.run("SSCAN", "s", cursor)
        assert isinstance(reply, list)
        cursor, elements = reply
        rest += elements
    assert gone.encode() not in rest
    assert set(first) | set(rest) == every - {gone.encode()}


def test_expired_fields_are_not_shown(desk: Desk) -> None:
    desk.say("HSET h a 1 b 2")
    desk.say("HPEXPIRE h 10 FIELDS 1 a")
    desk.pass_ms(10)
    assert desk.say("HSCAN h 0") == [b"0", [b"b", b"2"]]


def test_the_key_is_looked_at_before_the_options(desk: Desk) -> None:
    desk.keyspace.databases[0].put(b"text", b"text")
    desk.say("SADD s a")
    desk.say("HSET h a 1")
    desk.say("ZADD z 1 a")
    for name, key in (("HSCAN", "h"), ("SSCAN", "s"), ("ZSCAN", "z")):
        assert desk.say(f"{name} nosuch 0 FOO") == [b"0", []]
        assert desk.error(f"{name} nosuch x") == "ERR invalid cursor"
        assert desk.error(f"{name} text 0 FOO").startswith("WRONGTYPE")
        assert desk.error(f"{name} {key} 0 FOO") == "ERR syntax error"
        assert desk.error(f"{name} {key} 0 COUNT 0") == "ERR syntax error"
