"""XINFO: shapes in both protocols, limits of FULL. Contents are compared with Redis 7.0 in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.xstreams import groups as stream_groups
from pyrepl.commands.xstreams import info as stream_info
from pyrepl.commands.xstreams import reads as stream_reads
from pyrepl.commands.xstreams import streams
from pyrepl.resp.encoder import encode_reply
from tests.unit.commands.desk import START_MS, Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk(streams, stream_reads, stream_groups, stream_info)
    for number in range(1, 13):
        desk.say(f"XADD s {number}-0 f v")
    desk.say("XGROUP CREATE s g 0")
    desk.say("XREADGROUP GROUP g alice COUNT 11 STREAMS s >")
    return desk


def test_stream(desk: Desk) -> None:
    assert desk.say("XINFO STREAM s") == {
        b"length": 12,
        b"radix-tree-keys": 1,
        b"radix-tree-nodes": 2,
        b"last-generated-id": b"12-0",
        b"max-deleted-entry-id": b"0-0",
        b"entries-added": 12,
        b"recorded-first-entry-id": b"1-0",
        b"idmp-duration": 100,
        b"idmp-maxsize": 100,
        b"pids-tracked": 0,
        b"iids-tracked": 0,
        b"iids-added": 0,
        b"iids-duplicates": 0,
        b"groups": 1,
        b"first-entry": [b"1-0", [b"f", b"v"]],
        b"last-entry": [b"12-0", [b"f", b"v"]],
    }
    desk.say("XTRIM s MAXLEN 0")
    reply = desk.say("XINFO STREAM s")
    assert isinstance(reply, dict)
    assert reply[b"first-entry"] is None and reply[b"radix-tree-keys"] == 0


def test_full_shows_ten_of_everything_or_as_many_as_asked_for(desk: Desk) -> None:
    for words, shown in (("", 10), ("COUNT 3", 3), ("COUNT 0", 11), ("COUNT -1", 10)):
        reply = desk.say(f"XINFO STREAM s FULL {words}")
        assert isinstance(reply, dict)
        entries, groups = reply[b"entries"], reply[b"groups"]
        assert isinstance(entries, list) and isinstance(groups, list)
        assert len(entries) == (12 if shown == 11 else shown)
        assert groups[0][b"pel-count"] == 11 and len(groups[0][b"pending"]) == shown
        consumer = groups[0][b"consumers"][0]
        assert consumer[b"pel-count"] == 11 and len(consumer[b"pending"]) == shown


def test_groups_and_consumers(desk: Desk) -> None:
    desk.pass_ms(7)
    assert desk.say("XINFO GROUPS s") == [
        {
            b"name": b"g",
            b"consumers": 1,
            b"pending": 11,
            b"last-delivered-id": b"11-0",
            b"entries-read": 11,
            b"lag": 1,
        }
    ]
    assert desk.say("XINFO CONSUMERS s g") == [{b"name": b"alice", b"pending": 11, b"idle": 7, b"inactive": 7}]
    reply = desk.say("XINFO STREAM s FULL COUNT 1")
    assert isinstance(reply, dict)
    assert reply[b"groups"][0][b"pending"] == [[b"1-0", b"alice", START_MS, 1]]
    assert reply[b"groups"][0][b"consumers"] == [
        {
            b"name": b"alice",
            b"seen-time": START_MS,
            b"active-time": START_MS,
            b"pel-count": 11,
            b"pending": [[b"1-0", START_MS, 1]],
        }
    ]


def test_resp3_answers_maps(desk: Desk) -> None:
    client = desk.connect(proto=3)
    assert desk.encoded("XINFO", "CONSUMERS", "s", "g", client=client) == (
        b"*1\r\n%4\r\n$4\r\nname\r\n$5\r\nalice\r\n$7\r\npending\r\n:11\r\n$4\r\nidle\r\n:0\r\n$8\r\ninactive\r\n:0\r\n"
    )
    assert desk.encoded("XINFO", "CONSUMERS", "s", "g").startswith(b"*1\r\n*8\r\n")


def test_errors(desk: Desk) -> None:
    assert desk.error("XINFO STREAM nosuch") == "ERR no such key"
    assert desk.error("XINFO CONSUMERS s nosuch") == "NOGROUP No such consumer group 'nosuch' for key name 's'"
    for words in ("WHAT", "FULL COUNT", "FULL WHAT 3", "FULL COUNT 3 4"):
        assert desk.error(f"XINFO stream s {words}") == (
            "ERR unknown subcommand or wrong number of arguments for 'stream'. Try XINFO HELP."
        )


def test_help_lists_each_subcommand(desk: Desk) -> None:
    shown = encode_reply(desk.say("XINFO HELP"), 2)
    for name in stream_info.xinfo.subcommands:
        assert b"\r\n+" + name in shown
