"""XREAD and XREADGROUP: shapes of replies, what is propagated, keys. Random conversations are in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.effects import WaitForKeys
from pyrepl.commands.session import transactions
from pyrepl.commands.xstreams import groups as stream_groups
from pyrepl.commands.xstreams import info as stream_info
from pyrepl.commands.xstreams import reads as stream_reads
from pyrepl.commands.xstreams import streams
from pyrepl.resp.reply import NO_REPLY, NULL_ARRAY
from tests.unit.commands.desk import START_MS, Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(streams, stream_reads, stream_groups, stream_info, transactions)
    for line in ("XADD s 1-0 f a", "XADD s 2-0 f b", "XADD t 1-0 f c", "XGROUP CREATE s g 0", "XGROUP CREATE t g 0"):
        desk.say(line)
    desk.sent()
    return desk


def claim(entry_id: str, *, key: str = "s", consumer: str = "alice", count: int = 1, last: str | None = None) -> str:
    return (
        f"XCLAIM {key} g {consumer} 0 {entry_id} TIME {START_MS} RETRYCOUNT {count} FORCE JUSTID "
        f"LASTID {last or entry_id}"
    )


def test_read_answers_for_the_streams_that_have_something(desk: Desk) -> None:
    assert desk.say("XREAD COUNT 1 STREAMS s nosuch t 0 0 1-0") == [[b"s", [[b"1-0", [b"f", b"a"]]]]]
    assert desk.say("XREAD STREAMS t $") is NULL_ARRAY


def test_block_answers_what_is_there(desk: Desk) -> None:
    assert desk.say("XREAD BLOCK 0 STREAMS s 1-0") == [[b"s", [[b"2-0", [b"f", b"b"]]]]]
    assert desk.say("XREADGROUP GROUP g alice BLOCK 100 COUNT 9 STREAMS s >") != NULL_ARRAY
    assert desk.say("XREADGROUP GROUP g alice BLOCK 100 STREAMS s 2-0") == [[b"s", []]]
    assert desk.error("XREAD BLOCK -1 STREAMS s $") == "ERR timeout is negative"
    assert desk.error("XREAD BLOCK x STREAMS s $") == "ERR timeout is not an integer or out of range"
    assert desk.waits == []


def test_where_nothing_is_xread_waits_for_what_comes_after_this_moment(desk: Desk) -> None:
    assert desk.say("XREAD COUNT 3 BLOCK 7 STREAMS s none s $ $ 2-0") is NO_REPLY
    argv = tuple(b"XREAD COUNT 3 BLOCK 7 STREAMS s none s 2-0 0-0 2-0".split())
    assert desk.waits == [WaitForKeys((b"s", b"none", b"s"), "stream", 7, argv)]


def test_where_nothing_is_a_consumer_waits_and_is_known(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice STREAMS s >")
    desk.sent()
    line = "XREADGROUP GROUP g bob BLOCK 0 STREAMS s >"
    assert desk.say(line) is NO_REPLY
    assert desk.waits == [WaitForKeys((b"s",), "stream", 0, tuple(line.encode().split()), on_any_type=True)]
    assert desk.sent() == ["XGROUP CREATECONSUMER s g bob"]


def test_nobody_waits_in_a_transaction(desk: Desk) -> None:
    for line in ("MULTI", "XREAD BLOCK 0 STREAMS s $", "XREADGROUP GROUP g bob BLOCK 0 STREAMS t >"):
        desk.say(line)
    desk.say("XREADGROUP GROUP g bob BLOCK 0 STREAMS t >")
    assert desk.say("EXEC") == [NULL_ARRAY, [[b"t", [[b"1-0", [b"f", b"c"]]]]], NULL_ARRAY]


def test_resp3_answers_a_map_in_which_a_stream_may_stand_twice(desk: Desk) -> None:
    client = desk.connect(proto=3)
    entry = b"*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\nc\r\n"
    assert desk.encoded("XREAD", "STREAMS", "t", "0", client=client) == b"%1\r\n$1\r\nt\r\n" + entry
    assert (
        desk.encoded("XREAD", "STREAMS", "t", "t", "0", "0", client=client) == b"%2\r\n" + (b"$1\r\nt\r\n" + entry) * 2
    )
    assert desk.encoded("XREAD", "STREAMS", "t", "$", client=client) == b"_\r\n"


def test_what_is_given_out_is_propagated_entry_by_entry(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice STREAMS s t > >")
    assert desk.sent() == [
        claim("1-0"),
        claim("2-0"),
        "XGROUP SETID s g 2-0 ENTRIESREAD 2",
        claim("1-0", key="t"),
        "XGROUP SETID t g 1-0 ENTRIESREAD 1",
    ]


def test_with_noack_the_position_and_the_consumer_are_propagated(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice NOACK COUNT 1 STREAMS s >")
    desk.say("XREADGROUP GROUP g alice NOACK STREAMS s >")
    assert desk.sent() == [
        "XGROUP SETID s g 1-0 ENTRIESREAD 1",
        "XGROUP CREATECONSUMER s g alice",
        "XGROUP SETID s g 2-0 ENTRIESREAD 2",
    ]
    assert desk.say("XPENDING s g") == [0, None, None, NULL_ARRAY]


def test_nothing_given_nothing_propagated(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice STREAMS s >")
    desk.sent()
    desk.keyspace.dirty = 0
    assert desk.say("XREADGROUP GROUP g alice STREAMS s >") is NULL_ARRAY
    assert desk.say("XREADGROUP GROUP g alice STREAMS s 0") != NULL_ARRAY
    assert (desk.sent(), desk.keyspace.dirty) == ([], 0)


def test_a_consumer_is_made_by_asking(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice STREAMS s >")
    desk.sent()
    assert desk.say("XREADGROUP GROUP g bob STREAMS s >") is NULL_ARRAY
    assert desk.sent() == ["XGROUP CREATECONSUMER s g bob"]
    consumers = desk.say("XINFO CONSUMERS s g")
    assert isinstance(consumers, list)
    assert consumers[1] == {b"name": b"bob", b"pending": 0, b"idle": 0, b"inactive": -1}


def test_plus_reads_the_last_entry(desk: Desk) -> None:
    assert desk.say("XREAD COUNT 5 STREAMS s nosuch + +") == [[b"s", [[b"2-0", [b"f", b"b"]]]]]
    desk.say("XDEL s 2-0")
    assert desk.say("XREAD STREAMS s +") == [[b"s", [[b"1-0", [b"f", b"a"]]]]]
    desk.say("XDEL s 1-0")
    assert desk.say("XREAD STREAMS s +") is NULL_ARRAY
    assert desk.error("XREADGROUP GROUP g alice STREAMS s +").startswith("ERR The + ID is meaningless in the context")


def test_history_counts_deliveries_and_shows_what_is_gone(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice STREAMS s >")
    desk.say("XDEL s 1-0")
    desk.sent()
    desk.pass_ms(5)
    assert desk.say("XREADGROUP GROUP g alice STREAMS s 0") == [
        [b"s", [[b"1-0", NULL_ARRAY], [b"2-0", [b"f", b"b"]]]],
    ]
    assert desk.say("XREADGROUP GROUP g alice COUNT 1 STREAMS s 1-0") == [[b"s", [[b"2-0", [b"f", b"b"]]]]]
    assert desk.sent() == []
    assert desk.say("XPENDING s g - + 10") == [[b"1-0", b"alice", 5, 1], [b"2-0", b"alice", 0, 3]]


def test_history_of_a_new_consumer_makes_it_known(desk: Desk) -> None:
    assert desk.say("XREADGROUP GROUP g bob STREAMS s 0") == [[b"s", []]]
    assert desk.sent() == ["XGROUP CREATECONSUMER s g bob"]


def test_an_error_in_one_stream_gives_out_nothing_of_the_others(desk: Desk) -> None:
    assert desk.error("XREADGROUP GROUP g alice STREAMS s nosuch > >") == (
        "NOGROUP No such key 'nosuch' or consumer group 'g' in XREADGROUP with GROUP option"
    )
    assert desk.error("XREADGROUP GROUP g alice STREAMS s t > x").startswith("ERR Invalid stream ID")
    assert desk.say("XPENDING s g") == [0, None, None, NULL_ARRAY]
    assert desk.sent() == []


def test_a_name_that_is_no_text_comes_back_as_it_is(desk: Desk) -> None:
    reply = desk.encoded("XREADGROUP", "GROUP", b"\xff", "alice", "STREAMS", b"\xfe", ">")
    assert reply == b"-NOGROUP No such key '\xfe' or consumer group '\xff' in XREADGROUP with GROUP option\r\n"


@pytest.mark.parametrize(
    ("line", "positions"),
    [
        ("XREAD STREAMS a 0", [2]),
        ("XREAD COUNT 5 BLOCK 0 STREAMS a b 0 0", [6, 7]),
        ("XREADGROUP GROUP streams STREAMS NOACK STREAMS a b > >", [6, 7]),
        ("XREAD STREAMS a b 0", []),
        ("XREAD STREAMS", []),
        ("XREAD WHAT STREAMS a 0", []),
    ],
)
def test_keys(line: str, positions: list[int]) -> None:
    assert stream_reads.xread.keys.positions(line.encode().split()) == positions
