"""Commands on ranges of sorted sets: options, directions, removal and storing."""

from __future__ import annotations

import pytest

from pyrepl.commands.zsets import ranges as zset_ranges
from pyrepl.commands.zsets import zsets
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(zsets, zset_ranges)
    desk.say("ZADD z 1 a 2 b 3 c 4 d")
    desk.say("ZADD lex 0 a 0 b 0 c 0 d")
    desk.keyspace.databases[0].put(b"s", b"text")
    desk.sent()
    return desk


@pytest.mark.parametrize(
    ("line", "members"),
    [
        ("ZRANGE z 0 1", "ab"),
        ("ZRANGE z -2 -1", "cd"),
        ("ZRANGE z 0 1 REV", "dc"),
        ("ZREVRANGE z 1 2", "cb"),
        ("ZRANGE z 9 10", ""),
        ("ZRANGE z (1 3 BYSCORE", "bc"),
        ("ZRANGE z 3 (1 BYSCORE REV", "cb"),
        ("ZRANGE z -inf +inf byscore limit 1 2", "bc"),
        ("ZRANGE z +inf -inf BYSCORE REV LIMIT 1 2", "cb"),
        ("ZRANGE z -inf +inf BYSCORE LIMIT 3 -1", "d"),
        ("ZRANGE z -inf +inf BYSCORE LIMIT 9 1", ""),
        ("ZRANGE z -inf +inf BYSCORE LIMIT -1 2", ""),
        ("ZRANGE z +inf -inf BYSCORE REV LIMIT 9 2", ""),
        ("ZRANGE z +inf -inf BYSCORE REV LIMIT -1 2", ""),
        ("ZRANGE z -inf +inf BYSCORE LIMIT 0 0", ""),
        ("ZRANGEBYSCORE z 2 3", "bc"),
        ("ZREVRANGEBYSCORE z 3 2 LIMIT 1 5", "b"),
        ("ZRANGE lex [b [c BYLEX", "bc"),
        ("ZRANGE lex + (b BYLEX REV LIMIT 0 1", "d"),
        ("ZRANGEBYLEX lex - (c", "ab"),
        ("ZREVRANGEBYLEX lex [c -", "cba"),
        ("ZRANGE nosuch 0 -1", ""),
    ],
)
def test_ranges(desk: Desk, line: str, members: str) -> None:
    assert desk.say(line) == [member.encode() for member in members]


def test_scores_go_along_flat_or_in_pairs(desk: Desk) -> None:
    assert desk.say("ZRANGE z 0 1 WITHSCORES") == [b"a", b"1", b"b", b"2"]
    assert desk.say("ZRANGE z 0 1 WITHSCORES", desk.connect(proto=3)) == [(b"a", 1.0), (b"b", 2.0)]
    assert desk.say("ZREVRANGEBYSCORE z 2 2 withscores") == [b"b", b"2"]


def test_options_that_do_not_belong(desk: Desk) -> None:
    assert desk.error("ZRANGE z 0 1 LIMIT 0 1").startswith("ERR syntax error, LIMIT is only supported in combination")
    assert desk.error("ZRANGE z - + BYLEX WITHSCORES") == (
        "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
    )
    for line in (
        "ZRANGE z 0 1 REV REV",
        "ZRANGE z 0 1 BYSCORE BYLEX",
        "ZRANGE z 0 1 BYSCORE LIMIT 1",
        "ZREVRANGE z 0 1 REV",
        "ZRANGEBYSCORE z 0 1 BYSCORE",
        "ZRANGESTORE t z 0 1 WITHSCORES",
    ):
        assert desk.error(line) == "ERR syntax error", line
    assert desk.error("ZRANGE s x 1") == "ERR value is not an integer or out of range"
    assert desk.error("ZRANGE s 0 1").startswith("WRONGTYPE")


def test_counting(desk: Desk) -> None:
    assert desk.say("ZCOUNT z (1 3") == 2
    assert desk.say("ZCOUNT z 3 1") == 0
    assert desk.say("ZCOUNT nosuch 1 3") == 0
    assert desk.say("ZLEXCOUNT lex [b +") == 3
    assert desk.say("ZLEXCOUNT lex + -") == 0


def test_removing(desk: Desk) -> None:
    dirty = desk.keyspace.dirty
    assert desk.say("ZREMRANGEBYRANK z 0 0") == 1
    assert desk.say("ZREMRANGEBYSCORE z 3 (4") == 1
    assert desk.say("ZREMRANGEBYLEX lex (a [c") == 2
    assert desk.say("ZRANGE z 0 -1") == [b"b", b"d"]
    assert desk.say("ZRANGE lex 0 -1") == [b"a", b"d"]
    assert desk.keyspace.dirty == dirty + 4
    desk.sent()
    assert desk.say("ZREMRANGEBYSCORE z 9 10") == 0
    assert desk.say("ZREMRANGEBYRANK nosuch 0 -1") == 0
    assert desk.sent() == []
    assert desk.say("ZREMRANGEBYRANK z 0 -1") == 2
    assert desk.keyspace.databases[0].find(b"z") is None


def test_removing_before_any_question_about_order(desk: Desk) -> None:
    desk.say("ZADD fresh 1 a 2 b 3 c")
    assert desk.say("ZREMRANGEBYRANK fresh 1 1") == 1
    assert desk.say("ZADD fresh 0 d") == 1
    assert desk.say("ZRANGE fresh 0 -1") == [b"d", b"a", b"c"]


def test_storing_a_range(desk: Desk) -> None:
    assert desk.say("ZRANGESTORE s z 2 3 BYSCORE") == 2
    assert desk.say("ZRANGE s 0 -1 WITHSCORES") == [b"b", b"2", b"c", b"3"]
    assert desk.say("ZRANGESTORE z z 0 0 REV") == 1
    assert desk.say("ZRANGE z 0 -1") == [b"d"]
    assert desk.sent() == ["ZRANGESTORE s z 2 3 BYSCORE", "ZRANGESTORE z z 0 0 REV"]


def test_storing_nothing_deletes(desk: Desk) -> None:
    assert desk.say("ZRANGESTORE s nosuch 0 -1") == 0
    assert desk.keyspace.databases[0].find(b"s") is None
    assert desk.sent() == ["ZRANGESTORE s nosuch 0 -1"]
    assert desk.say("ZRANGESTORE s z 9 10") == 0
    assert desk.sent() == []
