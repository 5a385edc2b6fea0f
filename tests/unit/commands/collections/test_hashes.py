"""Commands on hashes; times to live of fields as far as plain commands touch them."""

from __future__ import annotations

import pytest

from pyrepl.commands.collections import hash_ttl, hashes
from pyrepl.resp.reply import OK
from tests.unit.commands.desk import START_MS, Desk


@pytest.fixture
def desk() -> Desk:
    return Desk(hashes, hash_ttl)


def test_setting(desk: Desk) -> None:
    assert desk.say("HSET h a 1 b 2") == 2
    assert desk.say("HSET h b 3 c 4 c 5") == 1
    assert desk.say("HSET h c 6") == 0
    assert desk.say("HMSET h d 7") is OK
    assert desk.say("HGETALL h") == [b"a", b"1", b"b", b"3", b"c", b"6", b"d", b"7"]
    assert desk.keyspace.dirty == 2 + 3 + 1 + 1
    assert desk.say("HSETNX h a 9") == 0
    assert desk.say("HSETNX h e 9") == 1
    assert desk.sent()[-1] == "HSETNX h e 9"
    assert desk.error("HSET h a 1 b") == "ERR wrong number of arguments for 'hset' command"
    assert desk.error("HMSET h a 1 b") == "ERR wrong number of arguments for 'hmset' command"


def test_asking(desk: Desk) -> None:
    desk.say("HSET h a 1 b two")
    assert desk.say("HGET h a") == b"1"
    assert desk.say("HGET h z") is None
    assert desk.say("HGET nosuch a") is None
    assert desk.say("HMGET h a z b") == [b"1", None, b"two"]
    assert desk.say("HMGET nosuch a z") == [None, None]
    assert desk.say("HKEYS h") == [b"a", b"b"]
    assert desk.say("HVALS h") == [b"1", b"two"]
    assert desk.say("HLEN h") == 2
    assert desk.say("HEXISTS h a") == 1
    assert desk.say("HEXISTS h z") == 0
    assert desk.say("HSTRLEN h b") == 3
    assert desk.say("HSTRLEN h z") == 0
    assert desk.say("HGETALL nosuch") == []


def test_a_map_under_resp3_does_not_change_with_the_key(desk: Desk) -> None:
    client = desk.connect(proto=3)
    desk.say("HSET h a 1")
    found = desk.say("HGETALL h", client)
    desk.say("HSET h a 2")
    assert found == {b"a": b"1"}


def test_removing(desk: Desk) -> None:
    desk.say("HSET h a 1 b 2")
    assert desk.say("HDEL h a nosuch a") == 1
    assert desk.say("HDEL h nosuch") == 0
    assert desk.say("HDEL h b") == 1
    assert desk.keyspace.databases[0].store.values == {}
    assert desk.say("HDEL h b") == 0


def test_integers(desk: Desk) -> None:
    assert desk.say("HINCRBY h n 5") == 5
    assert desk.say("HINCRBY h n -7") == -2
    desk.say("HSET h text x big 9223372036854775807")
    assert desk.error("HINCRBY h text 1") == "ERR hash value is not an integer"
    assert desk.error("HINCRBY h big 1") == "ERR increment or decrement would overflow"
    assert desk.error("HINCRBY h n x") == "ERR value is not an integer or out of range"
    assert desk.sent()[:2] == ["HINCRBY h n 5", "HINCRBY h n -7"]


def test_an_error_leaves_no_empty_hash_behind(desk: Desk) -> None:
    assert desk.error("HINCRBYFLOAT h f inf") == "ERR value is NaN or Infinity"
    assert desk.error("HINCRBY h f x") == "ERR value is not an integer or out of range"
    assert desk.error("HINCRBYFLOAT h f x") == "ERR value is not a valid float"
    assert desk.keyspace.databases[0].store.values == {}


def test_floats_propagate_as_their_sum(desk: Desk) -> None:
    assert desk.say("HINCRBYFLOAT h f 1.5") == b"1.5"
    assert desk.say("HINCRBYFLOAT h f 0.1") == b"1.6"
    assert desk.sent() == ["HSET h f 1.5", "HSET h f 1.6"]
    desk.say("HSET h f x")
    assert desk.error("HINCRBYFLOAT h f 1") == "ERR hash value is not a float"


def test_increments_keep_the_time_to_live_and_writes_take_it_away(desk: Desk) -> None:
    at_ms = START_MS + 100_000
    desk.say("HSET h f 1")
    desk.say("HEXPIRE h 100 FIELDS 1 f")
    desk.say("HINCRBY h f 1")
    desk.sent()
    desk.say("HINCRBYFLOAT h f 1")
    assert desk.sent() == ["HSET h f 3", f"HPEXPIREAT h {at_ms} FIELDS 1 f"]
    assert desk.say("HPEXPIRETIME h FIELDS 1 f") == [at_ms]
    desk.say("HSET h f 1")
    assert desk.say("HTTL h FIELDS 1 f") == [-1]
    for write in ("HMSET h f 2 g 3", "HDEL h f"):
        desk.say("HSET h f 1")
        desk.say("HEXPIRE h 100 FIELDS 1 f")
        desk.say(write)
        desk.say("HSETNX h f 1")
        assert desk.say("HTTL h FIELDS 1 f") == [-1]


def test_hlen_and_hdel_see_fields_that_have_expired_and_are_still_there(desk: Desk) -> None:
    desk.say("HSET h f 1 g 2 h 3")
    desk.say("HPEXPIRE h 10 FIELDS 2 f g")
    desk.sent()
    desk.pass_ms(10)
    assert desk.say("HLEN h") == 3
    assert desk.say("HDEL h f") == 1
    assert desk.say("HLEN h") == 2
    assert desk.sent() == ["HDEL h f"]
    assert desk.say("HEXISTS h g") == 0
    assert desk.say("HLEN h") == 1
    assert desk.sent() == ["HDEL h g"]


def test_expired_fields_are_gone_for_every_other_command(desk: Desk) -> None:
    for line in (
        "HGET h f",
        "HGETALL h",
        "HEXISTS h f",
        "HSTRLEN h f",
        "HRANDFIELD h",
        "HKEYS h",
    ):
        desk.say("HSET h f 1")
        desk.say("HPEXPIRE h 10 FIELDS 1 f")
        desk.sent()
        desk.pass_ms(10)
        assert desk.say(line) in (None, 0, []), line
        assert desk.sent() == ["HDEL h f"]
        assert desk.keyspace.databases[0].store.values == {}
    desk.say("HSET h f 5")
    desk.say("HPEXPIRE h 10 FIELDS 1 f")
    desk.sent()
    desk.pass_ms(10)
    assert desk.say("HINCRBY h f 1") == 1
    assert desk.sent() == ["HDEL h f", "HINCRBY h f 1"]


def test_random_fields(desk: Desk) -> None:
    desk.say("HSET h a 1 b 2 c 3")
    desk.sent()
    assert {desk.say("HRANDFIELD h") for _ in range(60)} == {b"a", b"b", b"c"}
    assert desk.say("HRANDFIELD h 9") == [b"a", b"b", b"c"]
    assert desk.say("HRANDFIELD h 0") == []
    two = desk.say("HRANDFIELD h 2")
    assert isinstance(two, list)
    assert len(set(two)) == 2
    repeated = desk.say("HRANDFIELD h -40")
    assert isinstance(repeated, list)
    assert len(repeated) == 40
    assert set(repeated) == {b"a", b"b", b"c"}
    pairs = desk.say("HRANDFIELD h 1 withvalues")
    assert pairs in ([b"a", b"1"], [b"b", b"2"], [b"c", b"3"])
    assert desk.say("HRANDFIELD h 9 WITHVALUES", desk.connect(proto=3)) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    assert desk.say("HRANDFIELD nosuch") is None
    assert desk.say("HRANDFIELD nosuch 2 WITHVALUES") == []
    assert desk.sent() == []


def test_bad_counts_of_random_fields(desk: Desk) -> None:
    desk.say("HSET h a 1")
    assert desk.error("HRANDFIELD h x") == "ERR value is not an integer or out of range"
    assert desk.error("HRANDFIELD h 1 FOO") == "ERR syntax error"
    assert desk.error("HRANDFIELD h 1 WITHVALUES x") == "ERR syntax error"
    assert desk.error("HRANDFIELD h -9223372036854775807") == "ERR value is out of range"
    assert desk.error("HRANDFIELD h 9223372036854775807 WITHVALUES") == "ERR value is out of range"


def test_wrong_types_are_left_alone(desk: Desk) -> None:
    desk.keyspace.databases[0].put(b"s", b"text")
    for line in ("HSET s a 1", "HSETNX s a 1", "HGET s a", "HDEL s a", "HINCRBY s a 1", "HINCRBYFLOAT s a 1", "HLEN s"):
        assert desk.error(line).startswith("WRONGTYPE"), line
    assert desk.keyspace.databases[0].store.values == {b"s": b"text"}
