"""What a replica tells of its link and its syncs: the records, and the lines beside them."""

from __future__ import annotations

import pytest

from pyrepl.observability import events
from pyrepl.observability.telling.replica_end import ReplicaEnd
from pyrepl.replication.dialects import VALKEY_DUAL_CHANNEL
from pyrepl.replication.events import (
    CatchUpBegins,
    Connect,
    Continued,
    FullResyncAnnounced,
    LinkEvent,
    LinkState,
    LinkUp,
    LoadsOn,
    Lost,
    OpenRdbChannel,
    SyncAsked,
    SyncBufferFull,
    Tolerated,
    TryAgain,
)
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.progress import TransferProgress
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Reason, Request
from pyrepl.units import Offset, ReplId
from tests.unit.observability.telling.heard import Heard

A = ReplId("a" * 40)
CONN = "10.0.0.2:40000"
CONTINUED = Continued(A, Offset(7), None)


class Bench(Heard):
    """A replica's end and what it told."""

    def __init__(self, announce_ip: str = "", password: str = "") -> None:
        super().__init__()
        options = LinkOptions(Introduction(listening_port=6380, announce_ip=announce_ip, password=password))
        self.link = Link("m", 6379, options, ASK_FOR_ALL, lambda: 0.5)
        self.end = ReplicaEnd(self.voice, self.link, 0.0)

    def ask(self, request: Request = ASK_FOR_ALL) -> None:
        self.tell(Connect("m", 6379), 1.0)
        self.end.connected(CONN)
        self.tell(SyncAsked(request), 1.25)

    def announce(self, reason: Reason | None = None) -> None:
        self.tell(FullResyncAnnounced(A, Offset(100), reason or Reason(Cause.FIRST)), 1.5)

    def tell(self, event: LinkEvent, now: float) -> None:
        assert type(event) in self.end.told
        self.end.tell(event, now)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(("total", "mode"), [(500, "full_disk"), (None, "full_diskless")])
def test_a_full_resync_by_way_of_a_file(bench: Bench, total: int | None, mode: str) -> None:
    bench.ask()
    bench.announce()
    bench.end.delivery_started(100, total, "file", 2.0)
    bench.end.delivery_ended(500, "file", 3.0)
    bench.end.loaded(7, 1, 3.5)
    bench.tell(LinkUp(full=False), 4.0)
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
    bench.end.delivery_ended(5, "direct", 3.0)
    assert bench.names()[-3:] == ["delivery_started", "load_started", "delivery_ended"]


def test_a_partial_resync(bench: Bench) -> None:
    bench.ask(Request(A, 7))
    bench.tell(CONTINUED, 1.5)
    bench.tell(LinkUp(full=False), 2.0)
    assert bench.names()[1:] == ["psync_asked", "psync_decided", "online", "link_up"]
    assert bench.last("psync_asked")["asked_replid"] == A
    assert bench.last("psync_decided")["verdict"] == bench.last("online")["mode"] == "continue"


def test_two_channels(bench: Bench) -> None:
    bench.ask()
    bench.tell(OpenRdbChannel("m", 6379, VALKEY_DUAL_CHANNEL), 1.3)
    bench.announce()
    bench.end.delivery_started(100, None, "file", 2.0)
    bench.link.buffer_use.sync_peak_bytes = 33
    bench.tell(SyncBufferFull(32), 2.5)
    bench.tell(SyncBufferFull(32), 2.6)
    bench.end.delivery_ended(5, "file", 3.0)
    bench.end.loaded(1, 0, 3.0)
    bench.tell(CatchUpBegins(33), 3.0)
    bench.link._life.advance(Offset(40))
    bench.tell(LinkUp(full=False), 3.5)
    assert bench.names()[2:] == [
        "rdb_channel_opened",
        "psync_decided",
        "delivery_started",
        "buffer_full",
        "delivery_ended",
        "load_started",
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
    bench.tell(Lost(Reason(cause), LinkState.HANDSHAKE, "NOMASTERLINK"), 2.0)
    assert bench.names()[-2:] == ["psync_decided", "link_down"]
    assert (bench.last("psync_decided")["verdict"], bench.last("psync_decided")["cause"]) == ("refused", cause.value)


def test_a_connection_that_breaks_before_the_verdict_has_none(bench: Bench) -> None:
    bench.tell(Connect("m", 6379), 1.0)
    bench.tell(Lost(Reason(Cause.CONNECT_FAILED), LinkState.CONNECTING, "Connection refused"), 1.0)
    bench.ask()
    bench.tell(Lost(Reason(Cause.CONNECTION_LOST), LinkState.HANDSHAKE, "gone"), 2.0)
    assert "psync_decided" not in bench.names()
    first, second = (record.field_values() for record in bench.told if record.event() == "link_down")
    assert "sync" not in first and first["error"] == "Connection refused"
    assert second["sync"] == f"{CONN}/?"


def test_a_link_that_breaks_in_the_transfer_ends_what_was_under_way(bench: Bench) -> None:
    bench.ask()
    bench.announce()
    bench.end.delivery_started(100, None, "direct", 2.0)
    bench.tell(Lost(Reason(Cause.TIMEOUT, detail="transfer"), LinkState.TRANSFER, "silence"), 5.0)
    assert bench.names()[-3:] == ["delivery_ended", "load_ended", "link_down"]
    assert bench.last("delivery_ended")["ok"] is bench.last("load_ended")["ok"] is False
    assert bench.last("link_down")["detail"] == "transfer"


def test_a_load_that_fails_says_why(bench: Bench) -> None:
    bench.ask()
    bench.announce()
    bench.end.delivery_started(100, None, "file", 2.0)
    bench.end.delivery_ended(9, "file", 3.0)
    bench.end.load_failed("rdb_version", "Can't handle RDB format version 80", 3.5)
    bench.tell(Lost(Reason(Cause.LOAD_FAILED, detail="rdb_version"), LinkState.LOADING, ""), 3.5)
    assert bench.names().count("load_ended") == 1
    assert bench.last("load_ended")["detail"] == "rdb_version"
    assert bench.last("link_down")["error"] == "load_failed (rdb_version)"


def test_how_long_it_was_up_and_down(bench: Bench) -> None:
    bench.ask(Request(A, 7))
    bench.tell(CONTINUED, 1.5)
    bench.tell(LinkUp(full=False), 2.0)
    bench.tell(Lost(Reason(Cause.CONNECTION_LOST), LinkState.CONNECTED, "gone"), 5.0)
    assert bench.last("link_down")["up_ms"] == 3000
    bench.link.progress.last_sync_error = "connection_lost: gone"
    bench.tell(TryAgain(5.5, 0.5), 5.0)
    assert bench.last("retry_planned") == {
        "peer": "m:6379",
        "retry_ms": 500,
        "failures": 1,
        "error": "connection_lost: gone",
    }
    bench.ask(Request(A, 9))
    bench.tell(Lost(Reason(Cause.CONNECTION_LOST), LinkState.HANDSHAKE, "gone"), 6.0)
    bench.ask(Request(A, 9))
    bench.tell(CONTINUED, 1.5)
    bench.tell(LinkUp(full=False), 9.0)
    assert bench.last("link_up")["down_ms"] == 4000, "since it broke, whatever was tried in between"


def test_a_fact_has_its_line_beside_its_record(bench: Bench) -> None:
    bench.ask()
    bench.announce()
    bench.end.delivery_started(100, 500, "file", 2.0)
    bench.tell(LinkUp(full=True), 3.0)
    bench.tell(Lost(Reason(Cause.CONNECTION_LOST), LinkState.CONNECTED, "gone"), 5.0)
    assert bench.texts() == [
        "Connecting to MASTER m:6379",
        "MASTER <-> REPLICA sync started",
        "Non blocking connect for SYNC fired the event.",
        "Master replied to PING, replication can continue...",
        "Partial resynchronization not possible (no cached master)",
        f"Full resync from master: {A}:100 (cause: first)",
        "MASTER <-> REPLICA sync: receiving 500 bytes from master to disk",
        "MASTER <-> REPLICA sync: Finished with success",
        "Connection with master lost. (cause: connection_lost)",
    ]


def test_a_stream_that_is_continued_under_another_name(bench: Bench) -> None:
    bench.ask(Request(A, 7))
    bench.tell(Continued(A, Offset(7), ReplId("b" * 40)), 1.5)
    assert bench.texts()[-4:] == [
        f"Trying a partial resynchronization (request {A}:8).",
        "Successful partial resynchronization with master.",
        f"Master replication ID changed to {'b' * 40}",
        "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.",
    ]


def test_both_ways_of_a_snapshot_and_the_catching_up_behind_it_are_said(bench: Bench) -> None:
    bench.ask()
    bench.tell(OpenRdbChannel("m", 6379, VALKEY_DUAL_CHANNEL), 1.3)
    bench.end.delivery_started(100, None, "direct", 2.0)
    bench.tell(SyncBufferFull(32), 2.0)
    bench.tell(SyncBufferFull(32), 2.5)
    bench.tell(CatchUpBegins(33), 3.0)
    bench.link._life.advance(Offset(40))
    bench.tell(LinkUp(full=True), 3.5)
    texts = bench.texts()
    assert "MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF to parser" in texts
    assert sum(text.startswith("Replication buffer limit has been reached (32 bytes)") for text in texts) == 1
    assert texts[-1].endswith("Successfully streamed replication buffer into the db (40 bytes in total)")


@pytest.mark.parametrize(("password", "said"), [("", 2), ("secret", 1)])
def test_a_master_that_wants_a_password_is_said_to_if_there_is_none(password: str, said: int) -> None:
    bench = Bench(password=password)
    bench.tell(Tolerated("ping", "NOAUTH Authentication required."), 1.0)
    bench.tell(Tolerated("capa", "ERR no"), 1.0)
    assert len(bench.said) == said and bench.said[-1] == events.ReplconfNotUnderstood("capa", "ERR no")


def test_a_load_that_cannot_begin_has_the_line_of_the_link_alone(bench: Bench) -> None:
    bench.ask()
    before = len(bench.said)
    bench.end.cannot_load("disk", "no room", 2.0)
    assert bench.last("load_ended")["detail"] == "disk" and len(bench.said) == before
    bench.end.load_failed("corrupt", "no end", 2.0)
    assert bench.said[-1] == events.SyncLoadFailed("no end", "load_failed (corrupt)")


def test_a_connection_that_cannot_be_had_and_one_that_loads_on(bench: Bench) -> None:
    bench.end.cannot_connect("refused")
    bench.tell(LoadsOn(Reason(Cause.CONNECTION_LOST), "gone"), 2.0)
    assert bench.said == [events.CannotConnectToMaster("refused"), events.WillContinueAfterLoading()]


def test_progress_is_said_every_five_seconds_while_a_snapshot_comes(bench: Bench) -> None:
    bench.link.progress.transfer = TransferProgress(2.0, 1000)
    bench.end.progress(100.0)
    assert bench.said == [], "nothing is loaded yet"
    bench.end.delivery_started(100, 1000, "file", 2.0)
    bench.link.progress.transfer.advance(250, 6.0)
    for now in (6.9, 7.0, 11.9, 12.0):
        bench.end.progress(now)
    bench.end.loaded(1, 0, 12.0)
    bench.end.progress(100.0)
    assert [line.field_values()["percent"] for line in bench.said[1:]] == [25.0, 25.0]


@pytest.mark.parametrize(("up_s", "failures"), [(29.0, 3), (31.0, 1)])
def test_a_link_that_stood_long_ends_the_row_of_failures(bench: Bench, up_s: float, failures: int) -> None:
    for now in (1.0, 2.0):
        bench.tell(Lost(Reason(Cause.CONNECT_FAILED), LinkState.CONNECTING, "refused"), now)
        bench.tell(TryAgain(now, 0.0), now)
    bench.tell(LinkUp(full=False), 10.0)
    bench.tell(Lost(Reason(Cause.CONNECTION_LOST), LinkState.CONNECTED, "gone"), 10.0 + up_s)
    bench.tell(TryAgain(50.0, 0.5), 10.0 + up_s)
    assert bench.last("retry_planned")["failures"] == failures
    assert bench.texts()[-1].startswith(f"Trying MASTER m:6379 again in 0.5 s (failed {failures} times")
