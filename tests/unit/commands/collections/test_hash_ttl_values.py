"""HGETDEL, HGETEX and HSETEX: answers and what is propagated, as captured from Redis 8.2."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import hash_ttl, hash_ttl_values, hashes
from pyrepl.commands.collections.hash_fields import FIELDS_MISSING
from tests.unit.commands.desk import START_MS, Desk

AT = START_MS + 100_000


@pytest.fixture
def desk() -> Desk:
    desk = Desk(hashes, hash_ttl, hash_ttl_values)
    desk.say("HSET h a 1 b 2")
    desk.sent()
    return desk


def test_answering_and_removing(desk: Desk) -> None:
    assert desk.say("HGETDEL h FIELDS 3 a nosuch a") == [b"1", None, None]
    assert desk.sent() == ["HDEL h a nosuch a"]
    assert desk.say("HGETDEL h FIELDS 1 nosuch") == [None]
    assert desk.say("HGETDEL nosuch FIELDS 2 a b") == [None, None]
    assert desk.sent() == []
    assert desk.say("HGETDEL h FIELDS 1 b") == [b"2"]
    assert desk.keyspace.databases[0].store.values == {}


@pytest.mark.parametrize("option", ["EX 100", "px 100000", f"EXAT {AT // 1000}", f"PXAT {AT}"])
def test_answering_and_setting_times(desk: Desk, option: str) -> None:
    assert desk.say(f"HGETEX h {option} FIELDS 2 a nosuch") == [b"1", None]
    assert desk.sent() == [f"HPEXPIREAT h {AT} FIELDS 2 a nosuch"]
    assert desk.say("HPEXPIRETIME h FIELDS 1 a") == [AT]
    assert desk.keyspace.databases[0].volatile_hashes == {b"h"}


def test_answering_and_taking_times_away(desk: Desk) -> None:
    desk.say("HEXPIRE h 100 FIELDS 1 a")
    desk.sent()
    assert desk.say("HGETEX h FIELDS 2 a b") == [b"1", b"2"]
    assert desk.sent() == []
    assert desk.say("HGETEX h PERSIST FIELDS 2 a b") == [b"1", b"2"]
    assert desk.sent() == ["HPERSIST h FIELDS 2 a b"]
    assert desk.say("HGETEX h PERSIST FIELDS 2 a b") == [b"1", b"2"]
    assert desk.sent() == []


def test_answering_for_the_last_time(desk: Desk) -> None:
    assert desk.say("HGETEX h PX 0 FIELDS 3 a nosuch a") == [b"1", None, None]
    assert desk.sent() == ["HDEL h a"]
    desk.say("HGETEX h EXAT 1 FIELDS 1 b")
    assert desk.keyspace.databases[0].store.values == {}
    assert desk.say("HGETEX nosuch EX 1 FIELDS 1 a") == [None]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("HGETEX h EX 10 PX 10 FIELDS 1 a", FIELDS_MISSING),
        ("HGETEX h KEEPTTL FIELDS 1 a", FIELDS_MISSING),
        ("HGETEX h EX x FIELDS 1 a", "ERR value is not an integer or out of range"),
        ("HGETEX h EX -1 FIELDS 1 a", "ERR invalid expire time, must be >= 0"),
        ("HGETEX h PXAT 70368744177664 FIELDS 1 a", "ERR invalid expire time in 'hgetex' command"),
        ("HSETEX h FIELDS 1 a b c", "ERR wrong number of arguments for 'hsetex' command"),
        ("HSETEX h KEEPTTL FIELDS 1 a", "ERR wrong number of arguments for 'hsetex' command"),
        ("HSETEX h FIELDS 0 a b", "ERR invalid number of fields"),
        ("HSETEX h FIELDS 2147483648 a b", "ERR invalid number of fields"),
        ("HSETEX h FOO 1 a b", "ERR unknown argument: FOO"),
        ("HSETEX h FNX KEEPTTL FNX FIELDS 1 a b", "ERR Only one of FXX or FNX arguments can be specified"),
        (
            "HSETEX h EX 1 KEEPTTL FIELDS 1 a b",
            "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified",
        ),
        ("HSETEX h PXAT 70368744177664 FIELDS 1 a b", "ERR invalid expire time in 'hsetex' command"),
        ("HSETEX h FNX KEEPTTL FNX", "ERR wrong number of arguments for 'hsetex' command"),
    ],
)
def test_bad_arguments(desk: Desk, line: str, text: str) -> None:
    assert desk.error(line) == text
    assert desk.sent() == []


def test_setting_with_a_time(desk: Desk) -> None:
    assert desk.say("HSETEX h EX 100 FIELDS 2 a 5 new 6") == 1
    assert desk.sent() == [f"HSETEX h PXAT {AT} FIELDS 2 a 5 new 6"]
    assert desk.say("HPEXPIRETIME h FIELDS 3 a b new") == [AT, -1, AT]
    assert desk.say("HSETEX h KEEPTTL FIELDS 2 a 7 b 8") == 1
    assert desk.say("HPEXPIRETIME h FIELDS 2 a b") == [AT, -1]
    assert desk.say("HSETEX h FIELDS 1 a 9") == 1
    assert desk.say("HTTL h FIELDS 1 a") == [-1]
    assert desk.sent() == ["HSETEX h KEEPTTL FIELDS 2 a 7 b 8", "HSETEX h FIELDS 1 a 9"]


def test_setting_on_condition(desk: Desk) -> None:
    assert desk.say("HSETEX h FXX FIELDS 2 a 5 nosuch 6") == 0
    assert desk.say("HSETEX h FNX FIELDS 2 a 5 nosuch 6") == 0
    assert desk.say("HSETEX none FXX FIELDS 1 a 5") == 0
    assert desk.sent() == []
    assert b"none" not in desk.keyspace.databases[0].store.values
    assert desk.say("HSETEX h FXX EX 100 FIELDS 1 a 5") == 1
    assert desk.say("HSETEX h PX 100000 FNX FIELDS 1 new 5") == 1
    assert desk.sent() == [f"HSETEX h FXX PXAT {AT} FIELDS 1 a 5", f"HSETEX h FNX PXAT {AT} FIELDS 1 new 5"]


def test_setting_in_the_past_deletes(desk: Desk) -> None:
    assert desk.say("HSETEX h EXAT 1 FIELDS 3 a 5 new 6 a 7") == 1
    assert desk.sent() == ["HDEL h a", "HDEL h new"]
    assert desk.say("HGETALL h") == [b"b", b"2"]
    assert desk.say("HSETEX none EX 0 FIELDS 1 a 5") == 1
    assert b"none" not in desk.keyspace.databases[0].store.values
