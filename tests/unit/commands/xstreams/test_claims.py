"""XCLAIM and XAUTOCLAIM: who owns what after it, what is propagated. Random conversations are in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.xstreams import (
    claims as stream_claims,
)
from pyrepl.commands.xstreams import (
    groups as stream_groups,
)
from pyrepl.commands.xstreams import (
    info as stream_info,
)
from pyrepl.commands.xstreams import (
    reads as stream_reads,
)
from pyrepl.commands.xstreams import (
    streams,
)
from tests.unit.commands.desk import START_MS, Desk

IDLE_MS = 1000
NOW_MS = START_MS + IDLE_MS


@pytest.fixture
def desk() -> Desk:
    """Entries 1-0 to 5-0, the first four given to alice a second ago."""
    desk = Desk(streams, stream_reads, stream_groups, stream_claims, stream_info)
    for number in range(1, 6):
        desk.say(f"XADD s {number}-0 f {number}")
    desk.say("XGROUP CREATE s g 0")
    desk.say("XREADGROUP GROUP g alice COUNT 4 STREAMS s >")
    desk.pass_ms(IDLE_MS)
    desk.sent()
    return desk


def told(entry_id: str, consumer: str, at_ms: int, count: int, last: str = "4-0") -> str:
    return f"XCLAIM s g {consumer} 0 {entry_id} TIME {at_ms} RETRYCOUNT {count} FORCE JUSTID LASTID {last}"


def test_claiming_what_has_been_idle_long_enough(desk: Desk) -> None:
    assert desk.say("XCLAIM s g bob 1001 1-0") == []
    assert desk.say("XCLAIM s g bob 1000 1-0 5-0 9-9") == [[b"1-0", [b"f", b"1"]]]
    assert desk.say("XCLAIM s g bob 0 2-0 JUSTID") == [b"2-0"]
    assert desk.sent() == [
        "XGROUP CREATECONSUMER s g bob",
        told("1-0", "bob", NOW_MS, 2),
        told("2-0", "bob", NOW_MS, 1),
    ]
    assert desk.say("XPENDING s g - + 9 bob") == [[b"1-0", b"bob", 0, 2], [b"2-0", b"bob", 0, 1]]


def test_whoever_asks_becomes_a_consumer_and_is_active_once_it_got_something(desk: Desk) -> None:
    desk.say("XAUTOCLAIM s g carol 9999 0")
    assert desk.say("XINFO CONSUMERS s g") == [
        {b"name": b"alice", b"pending": 4, b"idle": 1000, b"inactive": 1000},
        {b"name": b"carol", b"pending": 0, b"idle": 0, b"inactive": -1},
    ]
    assert desk.sent() == ["XGROUP CREATECONSUMER s g carol"]
    desk.say("XAUTOCLAIM s g carol 0 0 COUNT 1 JUSTID")
    desk.pass_ms(5)
    desk.say("XCLAIM s g carol 9999 1-0")
    consumers = desk.say("XINFO CONSUMERS s g")
    assert isinstance(consumers, list)
    assert consumers[1] == {b"name": b"carol", b"pending": 1, b"idle": 0, b"inactive": 5}


def test_force_puts_an_entry_on_the_list(desk: Desk) -> None:
    assert desk.say("XCLAIM s g bob 99999 5-0 9-9 FORCE JUSTID IDLE 7 RETRYCOUNT 3") == [b"5-0"]
    assert desk.sent() == [told("5-0", "bob", NOW_MS - 7, 3)]


@pytest.mark.parametrize(
    ("option", "at_ms"), [("TIME 5", 5), ("TIME 9999999999999", NOW_MS), ("IDLE -5", NOW_MS), ("TIME -1", NOW_MS)]
)
def test_a_delivery_time_lies_between_zero_and_now(desk: Desk, option: str, at_ms: int) -> None:
    desk.say(f"XCLAIM s g bob 0 1-0 {option}")
    assert desk.sent() == [told("1-0", "bob", at_ms, 2)]


def test_last_id_only_moves_on(desk: Desk) -> None:
    desk.say("XCLAIM s g bob 0 9-9 LASTID 3-0")
    assert desk.sent() == ["XGROUP CREATECONSUMER s g bob"]
    desk.say("XCLAIM s g bob 0 9-9 LASTID 5-0")
    assert desk.sent() == ["XGROUP SETID s g 5-0 ENTRIESREAD 4"]
    desk.say("XCLAIM s g bob 0 1-0 LASTID 7-0")
    assert desk.sent() == [told("1-0", "bob", NOW_MS, 2, last="7-0")]


def test_an_entry_that_is_gone_leaves_the_list(desk: Desk) -> None:
    desk.say("XDEL s 1-0 2-0")
    desk.sent()
    assert desk.say("XCLAIM s g bob 0 1-0") == []
    assert desk.sent() == [told("1-0", "alice", START_MS, 1), "XGROUP CREATECONSUMER s g bob"]
    assert desk.say("XAUTOCLAIM s g bob 0 0 JUSTID") == [b"0-0", [b"3-0", b"4-0"], [b"2-0"]]
    assert desk.sent() == [
        told("2-0", "alice", START_MS, 1),
        told("3-0", "bob", NOW_MS, 1),
        told("4-0", "bob", NOW_MS, 1),
    ]


def test_a_replica_that_is_told_of_a_gone_entry_drops_it_too(desk: Desk) -> None:
    desk.say("XDEL s 1-0")
    link = desk.connect()
    link.become_master_link()
    desk.say(told("1-0", "alice", START_MS, 1), link)
    assert desk.say("XPENDING s g - + 9 alice") == [[b"%d-0" % n, b"alice", IDLE_MS, 1] for n in (2, 3, 4)]


def test_autoclaim_goes_on_where_it_stopped(desk: Desk) -> None:
    assert desk.say("XAUTOCLAIM s g bob 1000 - COUNT 1 JUSTID") == [b"2-0", [b"1-0"], []]
    assert desk.say("XAUTOCLAIM s g bob 1000 2-0 COUNT 2 JUSTID") == [b"4-0", [b"2-0", b"3-0"], []]
    assert desk.say("XAUTOCLAIM s g bob 1000 (4-0 COUNT 2 JUSTID") == [b"0-0", [], []]
    desk.sent()
    assert desk.say("XAUTOCLAIM s g bob 1000 0 COUNT 9") == [b"0-0", [[b"4-0", [b"f", b"4"]]], []]
    assert desk.sent() == [told("4-0", "bob", NOW_MS, 2)]


def test_autoclaim_looks_at_ten_entries_for_each_it_may_claim(desk: Desk) -> None:
    for number in range(6, 30):
        desk.say(f"XADD s {number}-0 f v")
    desk.say("XREADGROUP GROUP g alice STREAMS s >")
    assert desk.say("XAUTOCLAIM s g bob 1000 5 COUNT 1") == [b"15-0", [], []]


def test_what_is_wrong_changes_nothing(desk: Desk) -> None:
    assert desk.error("XCLAIM s g bob x 1-0") == "ERR Invalid min-idle-time argument for XCLAIM"
    assert desk.error("XCLAIM s g bob 0 1-0 WHAT") == "ERR Unrecognized XCLAIM option 'WHAT'"
    assert desk.error("XCLAIM s g bob 0 1-0 IDLE x") == "ERR Invalid IDLE option argument for XCLAIM"
    assert desk.error("XCLAIM s g bob 0 1-0 LASTID x").startswith("ERR Invalid stream ID")
    assert desk.error("XCLAIM s nosuch bob 0 1-0") == "NOGROUP No such key 's' or consumer group 'nosuch'"
    assert desk.error("XAUTOCLAIM s g bob 0 0 COUNT 0") == "ERR COUNT must be > 0"
    assert desk.error("XAUTOCLAIM s g bob 0 0 WHAT") == "ERR syntax error"
    assert desk.sent() == []
    assert desk.say("XPENDING s g") == [4, b"1-0", b"4-0", [[b"alice", b"4"]]]
