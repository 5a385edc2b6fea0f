"""XGROUP, XACK, XPENDING: what changes, what is propagated. Random conversations are in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.xstreams import groups as stream_groups
from pyrepl.commands.xstreams import info as stream_info
from pyrepl.commands.xstreams import reads as stream_reads
from pyrepl.commands.xstreams import streams
from pyrepl.rdb.values import StreamGroup, StreamValue
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import NULL_ARRAY, OK
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(streams, stream_reads, stream_groups, stream_info)
    for number in range(1, 6):
        desk.say(f"XADD s {number}-0 f v")
    desk.say("XGROUP CREATE s g 0")
    desk.sent()
    return desk


def group(desk: Desk, key: bytes = b"s") -> StreamGroup:
    stream = desk.keyspace.databases[0].find_as(StreamValue, key)
    assert stream is not None
    return stream.groups[b"g"]


def test_create_at_an_id_at_the_end_and_on_no_stream(desk: Desk) -> None:
    assert desk.say("XGROUP CREATE s h $ ENTRIESREAD 5") == OK
    assert desk.say("XGROUP CREATE new g $ MKSTREAM") == OK
    assert (group(desk, b"new").last_id, group(desk, b"new").entries_read) == ((0, 0), -1)
    assert desk.sent() == ["XGROUP CREATE s h $ ENTRIESREAD 5", "XGROUP CREATE new g $ MKSTREAM"]
    assert desk.error("XGROUP CREATE s g 0") == "BUSYGROUP Consumer Group name already exists"
    assert desk.error("XGROUP CREATE nosuch g 0").startswith("ERR The XGROUP subcommand requires the key to exist.")
    assert desk.sent() == []


def test_a_wrong_start_makes_no_stream(desk: Desk) -> None:
    desk.error("XGROUP CREATE new g x MKSTREAM")
    assert b"new" not in desk.keyspace.databases[0].store.values


def test_setid_moves_the_group_and_forgets_its_count(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice STREAMS s >")
    desk.say("XGROUP SETID s g 2-0")
    assert (group(desk).last_id, group(desk).entries_read) == ((2, 0), -1)
    desk.say("XGROUP SETID s g $ ENTRIESREAD 5")
    assert (group(desk).last_id, group(desk).entries_read) == ((5, 0), 5)


def test_destroy_and_consumers(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice COUNT 2 STREAMS s >")
    desk.sent()
    assert desk.say("XGROUP CREATECONSUMER s g bob") == 1
    assert desk.say("XGROUP CREATECONSUMER s g bob") == 0
    assert desk.say("XGROUP DELCONSUMER s g alice") == 2
    assert desk.say("XGROUP DELCONSUMER s g alice") == 0
    assert not group(desk).pending
    assert desk.say("XGROUP DESTROY s g") == 1
    assert desk.say("XGROUP DESTROY s g") == 0
    assert desk.sent() == ["XGROUP CREATECONSUMER s g bob", "XGROUP DELCONSUMER s g alice", "XGROUP DESTROY s g"]
    assert desk.error("XGROUP SETID s g 0") == "NOGROUP No such consumer group 'g' for key name 's'"


def test_acknowledging(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g alice STREAMS s >")
    desk.sent()
    assert desk.say("XACK s g 1-0 2-0 9-9 1-0") == 2
    assert desk.say("XACK s g 1-0") == 0
    assert desk.say("XACK s nosuch x") == 0
    desk.error("XACK s g 3-0 x")
    assert sorted(group(desk).pending) == [(3, 0), (4, 0), (5, 0)]
    assert desk.sent() == ["XACK s g 1-0 2-0 9-9 1-0"]


def test_pending_summary_and_rows(desk: Desk) -> None:
    assert desk.say("XPENDING s g") == [0, None, None, NULL_ARRAY]
    desk.say("XREADGROUP GROUP g bob COUNT 1 STREAMS s >")
    desk.pass_ms(10)
    desk.say("XREADGROUP GROUP g alice COUNT 2 STREAMS s >")
    assert desk.say("XPENDING s g") == [3, b"1-0", b"3-0", [[b"alice", b"2"], [b"bob", b"1"]]]
    assert desk.say("XPENDING s g - + 2") == [[b"1-0", b"bob", 10, 1], [b"2-0", b"alice", 0, 1]]
    assert desk.say("XPENDING s g IDLE 5 - + 9") == [[b"1-0", b"bob", 10, 1]]
    assert desk.say("XPENDING s g (1-0 (3-0 9 alice") == [[b"2-0", b"alice", 0, 1]]
    assert desk.say("XPENDING s g - + 9 nobody") == []


def test_a_clock_that_fell_makes_no_negative_idle_time(desk: Desk) -> None:
    desk.say("XREADGROUP GROUP g bob COUNT 1 STREAMS s >")
    desk.pass_ms(-10)
    assert desk.say("XPENDING s g - + 1") == [[b"1-0", b"bob", 0, 1]]


def test_options_that_make_no_sense(desk: Desk) -> None:
    complaint = "ERR unknown subcommand or wrong number of arguments for 'setid'. Try XGROUP HELP."
    assert desk.error("xgroup setid s g 0 MKSTREAM") == complaint
    assert desk.error("XGROUP CREATE s h 0 ENTRIESREAD -2") == "ERR value for ENTRIESREAD must be positive or -1"
    assert desk.error("XPENDING s g - +") == "ERR syntax error"


def test_help_lists_each_subcommand(desk: Desk) -> None:
    shown = encode_reply(desk.say("XGROUP HELP"), 2)
    for name in stream_groups.xgroup.subcommands:
        assert b"\r\n+" + name in shown
