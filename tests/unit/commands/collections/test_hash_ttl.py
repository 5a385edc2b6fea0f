"""Times to live of hash fields: outcomes and what is propagated, as captured from Redis 8.2."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import hash_ttl, hashes
from pyrepl.commands.collections.hash_fields import FIELDS_MISMATCH, FIELDS_MISSING
from pyrepl.keyspace.database import Expiry
from tests.unit.commands.desk import START_MS, Desk

AT = START_MS + 100_000


@pytest.fixture
def desk() -> Desk:
    desk = Desk(hashes, hash_ttl)
    desk.say("HSET h a 1 b 2 c 3")
    desk.sent()
    return desk


@pytest.mark.parametrize(
    "line", ["HEXPIRE h 100", "HPEXPIRE h 100000", f"HEXPIREAT h {AT // 1000}", f"HPEXPIREAT h {AT}"]
)
def test_every_spelling_sets_the_same_time(desk: Desk, line: str) -> None:
    assert desk.say(f"{line} FIELDS 2 a nosuch") == [1, -2]
    assert desk.sent() == [f"HPEXPIREAT h {AT} FIELDS 1 a"]
    assert desk.say("HPEXPIRETIME h FIELDS 1 a") == [AT]
    assert desk.keyspace.databases[0].volatile_hashes == {b"h"}


def test_times_are_told_in_every_unit_rounded_up(desk: Desk) -> None:
    desk.say(f"HPEXPIREAT h {AT + 1} FIELDS 1 a")
    for line, answer in (
        ("HPTTL", 100_001),
        ("HTTL", 101),
        ("HPEXPIRETIME", AT + 1),
        ("HEXPIRETIME", AT // 1000 + 1),
    ):
        assert desk.say(f"{line} h FIELDS 3 a b nosuch") == [answer, -1, -2]
        assert desk.say(f"{line} nosuch FIELDS 2 a b") == [-2, -2]


@pytest.mark.parametrize(
    ("condition", "without", "sooner", "same", "later"),
    [("NX", 1, 0, 0, 0), ("XX", 0, 1, 1, 1), ("GT", 0, 0, 0, 1), ("LT", 1, 1, 0, 0)],
)
def test_conditions(desk: Desk, condition: str, without: int, sooner: int, same: int, later: int) -> None:
    assert desk.say(f"HEXPIRE h 100 {condition} FIELDS 1 b") == [without]
    for span, outcome in ((50, sooner), (100, same), (200, later)):
        desk.say("HEXPIRE h 100 FIELDS 1 a")
        assert desk.say(f"HEXPIRE h {span} {condition.lower()} FIELDS 1 a") == [outcome]


def test_a_condition_goes_along_and_fields_that_did_not_meet_it_do_not(desk: Desk) -> None:
    desk.say("HEXPIRE h 100 FIELDS 1 a")
    desk.sent()
    assert desk.say("HEXPIRE h 100 NX FIELDS 2 a b") == [0, 1]
    assert desk.sent() == [f"HPEXPIREAT h {AT} NX FIELDS 1 b"]
    assert desk.say("HEXPIRE h 100 NX FIELDS 2 a b") == [0, 0]
    assert desk.sent() == []


def test_a_time_in_the_past_deletes(desk: Desk) -> None:
    assert desk.say("HEXPIRE h 0 FIELDS 2 a nosuch") == [2, -2]
    assert desk.say(f"HPEXPIREAT h {START_MS} FIELDS 1 b") == [2]
    assert desk.sent() == ["HDEL h a", "HDEL h b"]
    assert desk.say("HEXPIREAT h 1 FIELDS 1 c") == [2]
    assert desk.keyspace.databases[0].store.values == {}


def test_a_replica_leaves_the_deletion_to_its_master(desk: Desk) -> None:
    desk.keyspace.expiry = Expiry.IGNORE
    assert desk.say("HPEXPIREAT h 1 FIELDS 1 a") == [1]
    assert desk.say("HGET h a") == b"1"
    desk.keyspace.expiry = Expiry.HIDE
    assert desk.say("HGET h a") is None
    assert desk.say("HLEN h") == 3
    assert desk.say("HKEYS h") == [b"b", b"c"]


def test_taking_times_away(desk: Desk) -> None:
    desk.say("HEXPIRE h 100 FIELDS 1 a")
    desk.sent()
    assert desk.say("HPERSIST h FIELDS 3 a b nosuch") == [1, -1, -2]
    assert desk.sent() == ["HPERSIST h FIELDS 3 a b nosuch"]
    assert desk.say("HPERSIST h FIELDS 1 a") == [-1]
    assert desk.say("HPERSIST nosuch FIELDS 1 a") == [-2]
    assert desk.sent() == []
    desk.pass_ms(200_000)
    assert desk.say("HGET h a") == b"1"


def test_a_missing_hash(desk: Desk) -> None:
    assert desk.say("HEXPIRE nosuch 100 FIELDS 2 a b") == [-2, -2]
    assert desk.sent() == []
    assert b"nosuch" not in desk.keyspace.databases[0].store.values


def test_bad_arguments(desk: Desk) -> None:
    desk.keyspace.databases[0].put(b"s", b"text")
    assert desk.error("HEXPIRE s x FIELDS 1 a").startswith("WRONGTYPE")
    assert desk.error("HEXPIRE h x FOO 1 a") == "ERR value is not an integer or out of range"
    assert desk.error("HEXPIRE h 1 FIELDS 0 a") == "ERR Parameter `numFields` should be greater than 0"
    assert desk.error("HEXPIRE h 1 FIELDS 2 a") == FIELDS_MISMATCH
    assert desk.error("HEXPIRE h 1 NX XX FIELDS 1 a") == FIELDS_MISSING
    assert desk.error("HTTL h FIELDS 0 a") == "ERR Number of fields must be a positive integer"
    assert desk.sent() == []
