"""What a replica tells of its link and its syncs."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.replica_end import ReplicaEnd
from pyrepl.replication.dialects import VALKEY_DUAL_CHANNEL
from pyrepl.replication.events import FullResyncAnnounced, LinkState, Lost
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Reason, Request
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)
CONN = "10.0.0.2:40000"


class Bench:
    """A replica's end and what it told."""

    def __init__(self, announce_ip: str = "") -> None:
        self.told: list[Record] = []
        options = LinkOptions(Introduction(listening_port=6380, announce_ip=announce_ip))
        self.link = Link("m", 6379, options, ASK_FOR_ALL, lambda: 0.5)
        self.end = ReplicaEnd(self.told.append, self.link, 0.0)

    def ask(self, request: Request = ASK_FOR_ALL) -> None:
        self.end.connecting(1.0)
        self.end.asked(request, CONN, 1.25)

    def announce(self, reason: Reason | None = None) -> None:
        self.end.announced(FullResyncAnnounced(A, Offset(100), reason or Reason(Cause.FIRST)))

    def names(self) -> list[str]:
        return [record.event() for record in self.told]

    def last(self, event: str) -> dict[str, Any]:
        return next(record.field_values() for record in reversed(self.told) if record.event() == event)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(("total", "mode"), [(500, "full_disk"), (None, "full_diskless")])
def test_a_full_resync_by_way_of_a_file(bench: Bench, total: int | None, mode: str) -> None:
    bench.ask()
    bench.announce()
    bench.end.delivery_started(100, total, "file", 2.0)
    bench.end.delivery_ended(500, 3.0)
    bench.end.load_started("file", 3.0)
    bench.end.loaded(7, 1, 3.5)
    bench.end.up(4.0)
    assert bench.names() == [
        "link_connecting",
        "psync_asked",
        "psync_decided",
        "delivery_started",
        "delivery_ended",
        "load_started",
        "load_ended",
        "online",
        "link_up",
    ]
    assert {record.field_values().get("sync") for record in bench.told[1:]} == {f"{CONN}/?"}
    asked = bench.last("psync_asked")
    assert (asked["replica"], asked["conn"], asked["handshake_ms"]) == ("10.0.0.2:6380", CONN, 250)
    assert bench.last("psync_decided")["snapshot_offset"] == 100
    assert (bench.last("delivery_started")["mode"], bench.last("delivery_started")["wait_ms"]) == (mode, 750)
    assert bench.last("delivery_ended")["delivered_bytes"] == 500
    ended = bench.last("load_ended")
    assert (ended["load_ms"], ended["keys"], ended["expired_keys"], ended["ok"]) == (500, 7, 1, True)
    assert bench.last("online")["sync_ms"] == 2750
    assert bench.last("link_up")["down_ms"] == 4000


def test_a_load_from_the_socket_begins_with_the_first_byte(bench: Bench) -> None:
    bench.ask()
    bench.announce()
    bench.end.delivery_started(100, None, "direct", 2.0)
    bench.end.delivery_ended(5, 3.0)
    bench.end.load_started("direct", 3.0)
    assert bench.names()[-3:] == ["delivery_started", "load_started", "delivery_ended"]


def test_a_partial_resync(bench: Bench) -> None:
    bench.ask(Request(A, 7))
    bench.end.continued()
    bench.end.up(2.0)
    assert bench.names()[1:] == ["psync_asked", "psync_decided", "online", "link_up"]
    assert bench.last("psync_asked")["asked_replid"] == A
    assert bench.last("psync_decided")["verdict"] == bench.last("online")["mode"] == "continue"


def test_two_channels(bench: Bench) -> None:
    bench.ask()
    bench.end.rdb_channel_opened(VALKEY_DUAL_CHANNEL)
    bench.announce()
    bench.end.delivery_started(100, None, "file", 2.0)
    bench.link.buffer_use.sync_peak_bytes = 33
    bench.end.buffer_full(32)
    bench.end.delivery_ended(5, 3.0)
    bench.end.loaded(1, 0, 3.0)
    bench.end.catch_up_started(33, 3.0)
    bench.link._life.advance(Offset(40))
    bench.end.up(3.5)
    assert bench.names()[2:] == [
        "rdb_channel_opened",
        "psync_decided",
        "delivery_started",
        "buffer_full",
        "delivery_ended",
        "load_ended",
        "catch_up_started",
        "catch_up_ended",
        "buffer_peak",
        "online",
        "link_up",
    ]
    assert bench.last("psync_decided")["verdict"] == "two_channels"
    assert (bench.last("catch_up_ended")["catch_up_ms"], bench.last("catch_up_ended")["applied_bytes"]) == (500, 40)
    assert bench.last("buffer_peak")["peak_bytes"] == 33 and bench.link.buffer_use.sync_peak_bytes == 0
    assert bench.last("online")["mode"] == "dual_channel"


def test_the_address_announced_is_the_one_told() -> None:
    bench = Bench("192.0.2.7")
    bench.ask()
    assert bench.last("psync_asked")["replica"] == "192.0.2.7:6380"


@pytest.mark.parametrize("cause", [Cause.NOT_READY, Cause.REFUSED, Cause.SNAPSHOT_FAILED])
def test_an_error_is_a_verdict_too(bench: Bench, cause: Cause) -> None:
    bench.ask()
    bench.end.lost(Lost(Reason(cause), LinkState.HANDSHAKE, "NOMASTERLINK"), 2.0)
    assert bench.names()[-2:] == ["psync_decided", "link_down"]
    assert (bench.last("psync_decided")["verdict"], bench.last("psync_decided")["cause"]) == ("refused", cause.value)


def test_a_connection_that_breaks_before_the_verdict_has_none(bench: Bench) -> None:
    bench.end.connecting(1.0)
    bench.end.lost(Lost(Reason(Cause.CONNECT_FAILED), LinkState.CONNECTING, "Connection refused"), 1.0)
    bench.ask()
    bench.end.lost(Lost(Reason(Cause.CONNECTION_LOST), LinkState.HANDSHAKE, "gone"), 2.0)
    assert "psync_decided" not in bench.names()
    first, second = (record.field_values() for record in bench.told if record.event() == "link_down")
    assert "sync" not in first and first["error"] == "Connection refused"
    assert second["sync"] == f"{CONN}/?"


def test_a_link_that_breaks_in_the_transfer_ends_what_was_under_way(bench: Bench) -> None:
    bench.ask()
    bench.announce()
    bench.end.delivery_started(100, None, "direct", 2.0)
    bench.end.lost(Lost(Reason(Cause.TIMEOUT, detail="transfer"), LinkState.TRANSFER, "silence"), 5.0)
    assert bench.names()[-3:] == ["delivery_ended", "load_ended", "link_down"]
    assert bench.last("delivery_ended")["ok"] is bench.last("load_ended")["ok"] is False
    assert bench.last("link_down")["detail"] == "transfer"


def test_a_load_that_fails_says_why(bench: Bench) -> None:
    bench.ask()
    bench.announce()
    bench.end.delivery_started(100, None, "file", 2.0)
    bench.end.delivery_ended(9, 3.0)
    bench.end.load_started("file", 3.0)
    bench.end.load_failed("rdb_version", "Can't handle RDB format version 80", 3.5)
    bench.end.lost(Lost(Reason(Cause.LOAD_FAILED, detail="rdb_version"), LinkState.LOADING, ""), 3.5)
    assert bench.names().count("load_ended") == 1
    assert bench.last("load_ended")["detail"] == "rdb_version"
    assert bench.last("link_down")["error"] == "load_failed (rdb_version)"


def test_how_long_it_was_up_and_down(bench: Bench) -> None:
    bench.ask(Request(A, 7))
    bench.end.continued()
    bench.end.up(2.0)
    bench.end.lost(Lost(Reason(Cause.CONNECTION_LOST), LinkState.CONNECTED, "gone"), 5.0)
    assert bench.last("link_down")["up_ms"] == 3000
    bench.link.progress.last_sync_error = "connection_lost: gone"
    bench.end.try_again(0.5, 1)
    assert bench.last("retry_planned") == {
        "peer": "m:6379",
        "retry_ms": 500,
        "failures": 1,
        "error": "connection_lost: gone",
    }
    bench.ask(Request(A, 9))
    bench.end.lost(Lost(Reason(Cause.CONNECTION_LOST), LinkState.HANDSHAKE, "gone"), 6.0)
    bench.ask(Request(A, 9))
    bench.end.continued()
    bench.end.up(9.0)
    assert bench.last("link_up")["down_ms"] == 4000, "since it broke, whatever was tried in between"
