"""Deleting entries that groups refer to. Replies are compared with Redis 8.6 in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.xstreams import (
    groups as stream_groups,
)
from pyrepl.commands.xstreams import (
    reads as stream_reads,
)
from pyrepl.commands.xstreams import (
    references as stream_references,
)
from pyrepl.commands.xstreams import (
    streams,
)
from pyrepl.rdb.values import StreamValue
from tests.unit.commands.desk import Desk


@pytest.fixture
def desk() -> Desk:
    """Entries 1-0 to 6-0; g was given 1-0 to 4-0 and acknowledged 2-0, h was given 1-0 to 3-0 and has 3-0 pending."""
    desk = Desk(streams, stream_references, stream_reads, stream_groups)
    for number in range(1, 7):
        desk.say(f"XADD s {number}-0 f v")
    desk.say("XGROUP CREATE s g 0")
    desk.say("XGROUP CREATE s h 0")
    desk.say("XREADGROUP GROUP g alice COUNT 4 STREAMS s >")
    desk.say("XREADGROUP GROUP h bob COUNT 3 STREAMS s >")
    desk.say("XACK s g 2-0")
    desk.say("XACK s h 1-0 2-0")
    desk.sent()
    return desk


def stream_of(desk: Desk) -> StreamValue:
    stream = desk.keyspace.databases[0].store.values[b"s"]
    assert isinstance(stream, StreamValue)
    return stream


def left(desk: Desk) -> list[int]:
    return [entry_id[0] for entry_id, _ in stream_of(desk).entries]


def pending(desk: Desk, group: bytes) -> list[int]:
    return sorted(entry_id[0] for entry_id in stream_of(desk).groups[group].pending)


def test_acked_leaves_what_a_group_has_pending_or_was_not_given(desk: Desk) -> None:
    assert desk.say("XDELEX s ACKED IDS 4 1-0 2-0 4-0 9-0") == [2, 1, 2, 2]
    assert left(desk) == [1, 3, 4, 5, 6]
    assert desk.sent() == ["XDELEX s ACKED IDS 4 1-0 2-0 4-0 9-0"]


def test_delref_takes_it_off_all_lists(desk: Desk) -> None:
    assert desk.say("XDELEX s IDS 2 3-0 9-0 DELREF") == [1, -1]
    assert (left(desk), pending(desk, b"g"), pending(desk, b"h")) == ([1, 2, 4, 5, 6], [1, 4], [])
    assert desk.say("XDELEX s IDS 1 1-0") == [1]
    assert pending(desk, b"g") == [1, 4]


def test_xackdel_of_one_group(desk: Desk) -> None:
    assert desk.say("XACKDEL s g ACKED IDS 3 1-0 2-0 3-0") == [1, -1, 2]
    assert (left(desk), pending(desk, b"g"), pending(desk, b"h")) == ([2, 3, 4, 5, 6], [4], [3])
    assert desk.say("XACKDEL s h DELREF IDS 1 3-0") == [1]
    assert desk.say("XACKDEL s nosuch IDS 1 3-0") == desk.say("XACKDEL none g IDS 1 3-0") == [-1]


def test_trimming_with_a_policy(desk: Desk) -> None:
    """No tombstone is left, as by any trimming; ~ leaves nothing that could go, and goes out exact."""
    assert desk.say("XTRIM s MAXLEN ~ 3 ACKED") == 1
    assert left(desk) == [1, 3, 4, 5, 6] and stream_of(desk).max_deleted_id == (0, 0)
    assert desk.sent() == ["XTRIM s MAXLEN = 5 ACKED"]
    assert desk.say("XADD s DELREF MINID 4 7-0 f v") == b"7-0"
    assert (left(desk), pending(desk, b"g"), pending(desk, b"h")) == ([4, 5, 6, 7], [4], [])
    assert desk.say("XADD s KEEPREF MAXLEN 1 8-0 f v") == b"8-0"
    assert (left(desk), pending(desk, b"g")) == ([8], [4])


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("XDELEX s ACKED 1 1-0", "ERR syntax error"),
        ("XDELEX s ACKED DELREF IDS", "ERR syntax error"),
        ("XDELEX s IDS 2 1-0", "ERR The `numids` parameter must match the number of arguments"),
        ("XDELEX s IDS 0 1-0", "ERR Number of IDs must be a positive integer"),
        ("XACKDEL s g IDS 1 x", "ERR Invalid stream ID specified as stream command argument"),
        ("XTRIM s ACKED ACKED MAXLEN 1", "ERR syntax error"),
    ],
)
def test_refused(desk: Desk, line: str, error: str) -> None:
    assert desk.error(line) == error
    assert left(desk) == [1, 2, 3, 4, 5, 6]
