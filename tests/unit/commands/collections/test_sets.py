"""Commands on one set, and what the random ones propagate."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import sets
from pyrepl.commands.collections.sets import REMOVED_AT_ONCE
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(sets)


def members(desk: Desk, key: str) -> set[bytes]:
    found = desk.run("SMEMBERS", key)
    assert isinstance(found, list)
    assert len(found) == len(set(found))
    return set(found)


def test_adding_and_removing(desk: Desk) -> None:
    assert desk.say("SADD k a b a") == 2
    assert desk.say("SADD k a c") == 1
    assert desk.say("SADD k a") == 0
    assert members(desk, "k") == {b"a", b"b", b"c"}
    assert desk.keyspace.dirty == 3
    assert desk.say("SREM k a nosuch") == 1
    assert desk.say("SREM k nosuch") == 0
    assert desk.say("SCARD k") == 2
    assert desk.sent() == ["SADD k a b a", "SADD k a c", "SREM k a nosuch"]
    desk.say("SREM k b c")
    assert desk.keyspace.databases[0].store.values == {}


def test_asking(desk: Desk) -> None:
    desk.say("SADD k a b")
    assert desk.say("SISMEMBER k a") == 1
    assert desk.say("SISMEMBER k z") == 0
    assert desk.say("SMISMEMBER k a z b") == [1, 0, 1]
    assert desk.say("SMISMEMBER nosuch a z") == [0, 0]
    assert desk.say("SMEMBERS nosuch") == []


def test_members_are_a_set_under_resp3_and_do_not_change_with_the_key(desk: Desk) -> None:
    client = desk.connect(proto=3)
    desk.say("SADD k a b")
    found = desk.say("SMEMBERS k", client)
    desk.say("SADD k c")
    assert found == {b"a", b"b"}
    assert desk.encoded("SMEMBERS", "nosuch", client=client) == b"~0\r\n"


def test_moving(desk: Desk) -> None:
    desk.say("SADD k a b")
    assert desk.say("SMOVE k other a") == 1
    assert desk.say("SMOVE k other a") == 0
    assert desk.say("SMOVE k k b") == 1
    assert desk.keyspace.dirty == 4
    assert desk.say("SMOVE k other b") == 1
    assert desk.keyspace.databases[0].find(b"k") is None
    assert members(desk, "other") == {b"a", b"b"}
    desk.say("SADD k a")
    dirty = desk.keyspace.dirty
    assert desk.say("SMOVE k other a") == 1
    assert desk.keyspace.dirty == dirty + 1


def test_a_move_onto_another_type_takes_nothing(desk: Desk) -> None:
    desk.keyspace.databases[0].put(b"s", b"text")
    desk.say("SADD k a")
    assert desk.error("SMOVE k s a").startswith("WRONGTYPE")
    assert members(desk, "k") == {b"a"}


def test_one_pop_propagates_what_it_took(desk: Desk) -> None:
    desk.say("SADD k a b")
    desk.sent()
    first, second = desk.say("SPOP k"), desk.say("SPOP k")
    assert {first, second} == {b"a", b"b"}
    assert isinstance(first, bytes)
    assert isinstance(second, bytes)
    assert desk.sent() == [f"SREM k {first.decode()}", f"SREM k {second.decode()}"]
    assert desk.keyspace.databases[0].store.values == {}
    assert desk.say("SPOP k") is None
    assert desk.sent() == []


def test_pops_with_a_count(desk: Desk) -> None:
    desk.run("SADD", "k", *range(REMOVED_AT_ONCE + 10))
    desk.sent()
    taken = desk.run("SPOP", "k", REMOVED_AT_ONCE + 2)
    assert isinstance(taken, list)
    assert len(set(taken)) == REMOVED_AT_ONCE + 2
    removals = [line.split() for line in desk.sent()]
    assert [line[:2] for line in removals] == [["SREM", "k"], ["SREM", "k"]]
    assert {word.encode() for line in removals for word in line[2:]} == set(taken)
    left = members(desk, "k")
    assert set(desk.say("SPOP k 8") or ()) == left  # type: ignore[arg-type]
    assert desk.sent() == ["DEL k"]
    assert desk.say("SPOP k 3") == []
    desk.say("SADD k a")
    desk.sent()
    assert desk.say("SPOP k 0") == []
    assert desk.sent() == []
    assert desk.error("SPOP k -1") == "ERR value is out of range, must be positive"
    assert desk.error("SPOP k 1 2") == "ERR syntax error"


def test_random_members_stay(desk: Desk) -> None:
    desk.say("SADD k a b c")
    desk.sent()
    assert {desk.say("SRANDMEMBER k") for _ in range(60)} == {b"a", b"b", b"c"}
    for count, size in ((2, 2), (3, 3), (9, 3), (0, 0)):
        found = desk.run("SRANDMEMBER", "k", count)
        assert isinstance(found, list)
        assert len(found) == len(set(found)) == size
    repeated = desk.run("SRANDMEMBER", "k", -50)
    assert isinstance(repeated, list)
    assert len(repeated) == 50
    assert set(repeated) == {b"a", b"b", b"c"}
    assert desk.say("SRANDMEMBER nosuch") is None
    assert desk.say("SRANDMEMBER nosuch 3") == []
    assert desk.sent() == []


def test_more_repetitions_than_memory_holds_are_refused(desk: Desk) -> None:
    desk.say("SADD k a")
    assert desk.error("SRANDMEMBER k -9223372036854775807") == "ERR value is out of range"
    assert desk.error("SRANDMEMBER k -9223372036854775808").startswith("ERR value is out of range, value must between")


def test_wrong_types_are_left_alone(desk: Desk) -> None:
    desk.keyspace.databases[0].put(b"s", b"text")
    for line in ("SADD s a", "SREM s a", "SPOP s", "SPOP s 1", "SCARD s", "SMEMBERS s", "SRANDMEMBER s", "SMOVE s k a"):
        assert desk.error(line).startswith("WRONGTYPE"), line
    assert desk.keyspace.databases[0].store.values == {b"s": b"text"}
