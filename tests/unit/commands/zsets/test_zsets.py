"""Commands on members of sorted sets: adding with options, scores, ranks, pops, random picks."""

from __future__ import annotations

import pytest

from pyrepl.commands.zsets import ranges as zset_ranges
from pyrepl.commands.zsets import zsets
from pyrepl.resp.reply import NULL_ARRAY
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(zsets, zset_ranges)


def everything(desk: Desk, key: str = "z") -> object:
    return desk.run("ZRANGE", key, 0, -1, "WITHSCORES")


def test_adding(desk: Desk) -> None:
    assert desk.say("ZADD z 2 b") == 1
    assert desk.say("ZADD z 1 a 3 c 3 c") == 2
    assert desk.say("ZADD z 5 b") == 0
    assert desk.say("ZADD z 5 b") == 0
    assert everything(desk) == [b"a", b"1", b"c", b"3", b"b", b"5"]
    assert desk.keyspace.dirty == 4
    assert desk.sent() == ["ZADD z 2 b", "ZADD z 1 a 3 c 3 c", "ZADD z 5 b"]


@pytest.mark.parametrize(
    ("options", "reply", "left"),
    [
        ("NX", 1, [b"b", b"1", b"a", b"2", b"c", b"3"]),
        ("XX", 0, [b"b", b"1", b"a", b"5"]),
        ("XX CH", 1, [b"b", b"1", b"a", b"5"]),
        ("CH", 2, [b"b", b"1", b"c", b"3", b"a", b"5"]),
        ("GT CH", 2, [b"b", b"1", b"c", b"3", b"a", b"5"]),
        ("LT CH", 1, [b"b", b"1", b"a", b"2", b"c", b"3"]),
        ("lt xx", 0, [b"b", b"1", b"a", b"2"]),
    ],
)
def test_options(desk: Desk, options: str, reply: int, left: list[bytes]) -> None:
    desk.say("ZADD z 2 a 1 b")
    assert desk.say(f"ZADD z {options} 5 a 1 b 3 c") == reply
    assert everything(desk) == left


def test_options_that_exclude_each_other(desk: Desk) -> None:
    assert desk.error("ZADD z NX XX 1 a") == "ERR XX and NX options at the same time are not compatible"
    for options in ("NX GT", "GT LT", "LT NX"):
        assert desk.error(f"ZADD z {options} 1 a").startswith("ERR GT, LT, and/or NX options at the same time"), options
    assert desk.error("ZADD z INCR 1 a 2 b") == "ERR INCR option supports a single increment-element pair"
    for line in ("ZADD z NX 1", "ZADD z CH", "ZADD z 1 a 2", "ZADD z NX CH"):
        assert desk.error(f"{line}") in ("ERR syntax error", "ERR wrong number of arguments for 'zadd' command"), line
    for line in ("ZADD z x a", "ZADD z 1 a nan b", "ZADD z INCR x a"):
        assert desk.error(line) == "ERR value is not a valid float", line
    assert desk.keyspace.databases[0].store.values == {}


def test_updating_alone_creates_no_key(desk: Desk) -> None:
    assert desk.say("ZADD z XX 1 a") == 0
    assert desk.say("ZADD z XX INCR 1 a") is None
    assert desk.keyspace.databases[0].store.values == {}
    assert desk.sent() == []


def test_incrementing(desk: Desk) -> None:
    assert desk.say("ZINCRBY z 1.5 a") == 1.5
    assert desk.say("ZINCRBY z 1 a") == 2.5
    assert desk.say("ZADD z INCR -1 a") == 1.5
    assert desk.say("ZADD z NX INCR 1 a") is None
    assert desk.say("ZADD z GT INCR -1 a") is None
    desk.sent()
    assert desk.say("ZINCRBY z 0 a") == 1.5
    assert desk.sent() == []
    desk.say("ZADD z inf top")
    assert desk.error("ZINCRBY z -inf top") == "ERR resulting score is not a number (NaN)"
    assert desk.say("ZSCORE z top") == float("inf")


def test_removing_and_asking(desk: Desk) -> None:
    desk.say("ZADD z 1 a 2 b")
    assert desk.say("ZCARD z") == 2
    assert desk.say("ZSCORE z b") == 2.0
    assert desk.say("ZSCORE z nosuch") is None
    assert desk.say("ZMSCORE z a nosuch") == [1.0, None]
    assert desk.say("ZMSCORE nosuch a b") == [None, None]
    assert desk.say("ZREM z a nosuch a") == 1
    assert desk.say("ZREM z nosuch") == 0
    assert desk.say("ZREM z b") == 1
    assert desk.keyspace.databases[0].store.values == {}


def test_scores_on_the_wire(desk: Desk) -> None:
    desk.say("ZADD z 1.5 a")
    assert desk.encoded("ZSCORE", "z", "a") == b"$3\r\n1.5\r\n"
    assert desk.encoded("ZSCORE", "z", "a", client=desk.connect(proto=3)) == b",1.5\r\n"


def test_ranks(desk: Desk) -> None:
    desk.say("ZADD z 1 a 1 b 0 c")
    assert [desk.say(f"ZRANK z {member}") for member in "abcd"] == [1, 2, 0, None]
    assert [desk.say(f"ZREVRANK z {member}") for member in "abcd"] == [1, 0, 2, None]
    assert desk.say("ZRANK z b withscore") == [2, 1.0]
    assert desk.say("ZREVRANK z c WITHSCORE") == [2, 0.0]
    assert desk.say("ZRANK z d WITHSCORE") is NULL_ARRAY
    assert desk.say("ZRANK nosuch a") is None
    assert desk.error("ZRANK z a WITHSCORES") == "ERR syntax error"
    assert desk.error("ZREVRANK z a WITHSCORE x") == "ERR wrong number of arguments for 'zrevrank' command"


def test_popping(desk: Desk) -> None:
    desk.say("ZADD z 1 a 2 b 3 c 4 d 5 e")
    desk.sent()
    assert desk.encoded("ZPOPMIN", "z") == b"*2\r\n$1\r\na\r\n$1\r\n1\r\n"
    assert desk.say("ZPOPMAX z") == [b"e", 5.0]
    assert desk.say("ZPOPMAX z 2") == [b"d", b"4", b"c", b"3"]
    assert desk.say("ZPOPMIN z 9", desk.connect(proto=3)) == [(b"b", 2.0)]
    assert desk.keyspace.databases[0].store.values == {}
    assert desk.say("ZPOPMIN z") == []
    assert desk.sent() == ["ZPOPMIN z", "ZPOPMAX z", "ZPOPMAX z 2", "ZPOPMIN z 9"]
    assert desk.error("ZPOPMIN z -1") == "ERR value is out of range, must be positive"
    assert desk.error("ZPOPMIN z 1 2") == "ERR syntax error"


def test_popping_nothing_propagates_nothing(desk: Desk) -> None:
    desk.say("ZADD z 1 a")
    desk.sent()
    assert desk.say("ZPOPMIN z 0") == []
    assert desk.sent() == []


def test_pops_from_the_first_set_propagate_as_a_plain_pop(desk: Desk) -> None:
    desk.say("ZADD z 1 a 2 b 3 c")
    desk.sent()
    assert desk.say("ZMPOP 2 nosuch z MIN COUNT 2") == [b"z", [(b"a", 1.0), (b"b", 2.0)]]
    assert desk.say("ZMPOP 1 z max") == [b"z", [(b"c", 3.0)]]
    assert desk.sent() == ["ZPOPMIN z 2", "ZPOPMAX z 1"]
    assert desk.say("ZMPOP 1 z MIN") is NULL_ARRAY


def test_random_members(desk: Desk) -> None:
    desk.say("ZADD z 1 a 2 b 3 c")
    assert {desk.say("ZRANDMEMBER z") for _ in range(60)} == {b"a", b"b", b"c"}
    for count, size in ((0, 0), (1, 1), (2, 2), (9, 3)):
        found = desk.run("ZRANDMEMBER", "z", count)
        assert isinstance(found, list)
        assert len(found) == len(set(found)) == size
    repeated = desk.say("ZRANDMEMBER z -40")
    assert isinstance(repeated, list)
    assert len(repeated) == 40
    assert set(repeated) == {b"a", b"b", b"c"}
    assert desk.say("ZRANDMEMBER z 9 WITHSCORES") == [b"a", b"1", b"b", b"2", b"c", b"3"]
    assert desk.say("ZRANDMEMBER nosuch") is None
    assert desk.say("ZRANDMEMBER nosuch 1 WITHSCORES") == []


def test_bad_counts_of_random_members(desk: Desk) -> None:
    desk.say("ZADD z 1 a")
    assert desk.error("ZRANDMEMBER z x") == "ERR value is not an integer or out of range"
    assert desk.error("ZRANDMEMBER z 1 FOO") == "ERR syntax error"
    assert desk.error("ZRANDMEMBER z -9223372036854775807") == "ERR value is out of range"
    assert desk.error("ZRANDMEMBER z 9223372036854775807 WITHSCORES") == "ERR value is out of range"


def test_wrong_types_are_left_alone(desk: Desk) -> None:
    desk.keyspace.databases[0].put(b"s", b"text")
    for line in (
        "ZADD s 1 a",
        "ZADD s NX 1 a",
        "ZINCRBY s 1 a",
        "ZREM s a",
        "ZPOPMIN s",
        "ZSCORE s a",
        "ZMPOP 1 s MIN",
    ):
        assert desk.error(line).startswith("WRONGTYPE"), line
    assert desk.keyspace.databases[0].store.values == {b"s": b"text"}
