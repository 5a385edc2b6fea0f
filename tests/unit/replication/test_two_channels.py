"""The two channels of one sync, and what passes between them."""

from __future__ import annotations

from pyrepl.replication.dialects import VALKEY_DUAL_CHANNEL
from pyrepl.replication.events import LinkEvent, SnapshotAsked
from pyrepl.replication.link_options import LinkOptions
from pyrepl.replication.psync import ASK_FOR_ALL, TwoChannelsGranted
from pyrepl.replication.syncbuffer import BufferUse
from pyrepl.replication.two_channels import TwoChannels

END = b"$ENDOFF:57 " + b"a" * 40 + b" 0 9\r\n"


def two(use: BufferUse | None = None) -> TwoChannels:
    answer = TwoChannelsGranted(VALKEY_DUAL_CHANNEL, None)
    return TwoChannels(answer, ASK_FOR_ALL, LinkOptions(sync_buffer_limit_bytes=100), use or BufferUse(), 0.0)


def test_the_start_is_passed_on() -> None:
    sync = two()
    events: list[LinkEvent] = []
    assert sync.is_connecting and sync.rdb is not None
    sync.rdb.connected(0.0)
    assert not sync.is_connecting and sync.rdb_receive(b"+OK\r\n", 1.0, events) is None
    assert events == [SnapshotAsked()]
    start = sync.rdb_receive(END, 1.0, events)
    assert events == [SnapshotAsked()], "told once"
    assert start is not None and start.cut == 57
    assert b"set-rdb-client-id" in b"".join(sync.main.data_to_send()) and not sync.streams
    assert sync.main.buffer.limit_bytes == 100


def test_a_refusal_on_either_connection() -> None:
    sync = two()
    assert sync.rdb is not None and sync.refusal is None
    sync.rdb.connected(0.0)
    sync.rdb.receive(b"-ERR no\r\n", 1.0)
    assert sync.refusal is not None and sync.refusal.text == "ERR no"
    other = two()
    assert other.rdb is not None
    other.rdb.connected(0.0)
    other.rdb_receive(b"+OK\r\n" + END, 1.0, [])
    other.main.receive(b"-ERR never\r\n")
    assert other.refusal is not None and other.refusal.text == "ERR never"


def test_the_end_holds_nothing_and_closes_once() -> None:
    use = BufferUse()
    sync = two(use)
    sync.main.buffer.add(b"abc")
    assert sync.end() and use.size_bytes == 0 and sync.rdb is None
    assert not sync.end() and not sync.close_rdb() and not sync.is_connecting
