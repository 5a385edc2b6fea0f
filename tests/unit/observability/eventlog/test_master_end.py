"""What a master tells of its replicas' syncs: straight, on two channels in both dialects, and all that goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.observability.eventlog import master_end
from pyrepl.observability.eventlog.master_end import MasterEnd
from pyrepl.observability.eventlog.record import Record
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.dialects import REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL, Dialect
from pyrepl.replication.events import PsyncWaitOver, RdbChannelAsks, SnapshotTarget, SyncDecided
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Reason, Request
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)
CONN = "10.0.0.2:40000"
FIRST = Reason(Cause.FIRST)


class Bench:
    """A master's end and what it told; the sessions are moved by hand."""

    def __init__(self) -> None:
        self.told: list[Record] = []
        self.backlog = Backlog(1000)
        self.backlog.create()
        self.end = MasterEnd(self.told.append, self.backlog)

    def session(self, session_id: int = 1, port: int = 7001) -> Session:
        session = Session(session_id, "10.0.0.2", SessionOptions(), 0.0)
        session.receive_command([b"REPLCONF", b"listening-port", b"%d" % port], 0.0)
        return session

    def decide(
        self, session: Session, reason: Reason | None = FIRST, wait: str = "now", request: Request = ASK_FOR_ALL
    ) -> None:
        missing = 0 if reason else self.backlog.end - request.held
        self.end.decided(session, SyncDecided(session.id, request, reason, missing, wait), CONN, 1.0)

    def names(self) -> list[str]:
        return [record.event() for record in self.told]

    def last(self, event: str) -> dict[str, Any]:
        return next(record.field_values() for record in reversed(self.told) if record.event() == event)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def full(bench: Bench, target: SnapshotTarget = SnapshotTarget.SOCKETS) -> Session:
    """A full resync up to its last byte of the snapshot."""
    session = bench.session()
    bench.decide(session)
    session.target = target
    bench.end.delivery_started(session, 3, 0, 2.0)
    bench.end.delivery_ended(1, 4.0, delivered_bytes=77)
    return session


@pytest.mark.parametrize(
    ("target", "mode"), [(SnapshotTarget.SOCKETS, "full_diskless"), (SnapshotTarget.DISK, "full_disk")]
)
def test_a_full_resync(bench: Bench, target: SnapshotTarget, mode: str) -> None:
    session = full(bench, target)
    bench.backlog.append(b"x" * 30)
    session.output.check(30, 0, 4.0)
    bench.end.went_online(session, 5.0, full=True)
    session.ack_cut = Offset(29)
    bench.end.acked(session, 6.0)
    session.ack_cut = Offset(30)
    bench.end.acked(session, 7.0)
    bench.end.acked(session, 8.0)
    assert bench.names() == [
        "psync_asked",
        "psync_decided",
        "delivery_started",
        "delivery_ended",
        "buffer_peak",
        "online",
        "catch_up_ended",
    ]
    assert {record.field_values()["sync"] for record in bench.told} == {f"{CONN}/?"}
    assert bench.last("psync_asked")["replica"] == "10.0.0.2:7001"
    assert bench.last("psync_decided")["cause"] == "first"
    started = bench.last("delivery_started")
    assert (started["mode"], started["wait_ms"], started["snapshot"]) == (mode, 1000, 3)
    ended = bench.last("delivery_ended")
    assert (ended["ok"], ended["delivery_ms"], ended["delivered_bytes"]) == (True, 2000, 77)
    assert bench.last("buffer_peak")["peak_bytes"] == 30
    assert bench.last("online")["sync_ms"] == 4000
    assert (bench.last("catch_up_ended")["catch_up_ms"], bench.last("catch_up_ended")["applied_bytes"]) == (2000, 30)


def test_a_partial_resync(bench: Bench) -> None:
    bench.backlog.append(b"x" * 30)
    session = bench.session()
    session.ack_cut = Offset(10)
    bench.decide(session, None, "", Request(A, 10))
    bench.end.went_online(session, 1.5, full=False)
    session.ack_cut = Offset(30)
    bench.end.acked(session, 2.0)
    assert bench.names() == ["psync_asked", "psync_decided", "online", "catch_up_ended"]
    decided = bench.last("psync_decided")
    assert (decided["verdict"], decided["missing_bytes"], decided["backlog_bytes"]) == ("continue", 20, 30)
    assert bench.last("psync_asked")["asked_offset"] == 10
    assert bench.last("online")["mode"] == "continue"
    assert bench.last("catch_up_ended")["applied_bytes"] == 20


def test_a_request_out_of_the_backlog_says_by_how_much(bench: Bench) -> None:
    bench.decide(bench.session(), Reason(Cause.OUT_OF_BACKLOG, 123), "delay", Request(A, 10))
    decided = bench.last("psync_decided")
    assert (decided["cause"], decided["by_bytes"], decided["wait"]) == ("out_of_backlog", 123, "delay")
    assert "missing_bytes" not in decided


def test_a_refusal(bench: Bench) -> None:
    bench.end.refused(bench.session(), ASK_FOR_ALL, CONN, "NOMASTERLINK Can't SYNC", 1.0)
    decided = bench.last("psync_decided")
    assert (decided["verdict"], decided["cause"]) == ("refused", "not_ready")
    bench.end.refused(bench.session(), ASK_FOR_ALL, CONN, "ERR no", 1.0)
    assert bench.last("psync_decided")["cause"] == "refused"
    bench.end.lost(bench.session(), None, 2.0, by_us=False)
    assert "replica_down" not in bench.names(), "it never was one"


def test_a_cut_while_the_snapshot_goes_out(bench: Bench) -> None:
    session = bench.session()
    bench.decide(session)
    bench.end.delivery_started(session, 1, 0, 2.0)
    session.output.check(9, 0, 2.0)
    bench.end.lost(session, Reason(Cause.OUTPUT_BUFFER, 8, "hard"), 3.0, by_us=True)
    assert bench.names()[-3:] == ["buffer_peak", "delivery_ended", "replica_down"]
    assert bench.last("delivery_ended")["ok"] is False
    down = bench.last("replica_down")
    assert (down["phase"], down["cause"], down["detail"], down["by_bytes"]) == ("send_bulk", "output_buffer", "hard", 8)
    assert down["by_us"] is True and down["output_bytes"] == 9 and "online_ms" not in down
    assert bench.end.sync_of(1) is None


@pytest.mark.parametrize(("steps", "phase"), [(1, "wait_bgsave"), (2, "send_bulk"), (3, "load"), (4, "online")])
def test_the_phase_in_which_a_replica_went(bench: Bench, steps: int, phase: str) -> None:
    session = bench.session()
    bench.decide(session)
    if steps > 1:
        bench.end.delivery_started(session, 1, 0, 2.0)
    if steps > 2:
        bench.end.delivery_ended(1, 3.0, delivered_bytes=1)
    if steps > 3:
        bench.end.went_online(session, 4.0, full=True)
    bench.backlog.append(b"x" * 5)
    assert bench.end.sync_of(1) == f"{CONN}/?"
    bench.end.lost(session, None, 5.0, by_us=False)
    down = bench.last("replica_down")
    assert down["phase"] == phase and down["cause"] == "connection_lost"
    assert down["lag_bytes"] == (5 if steps > 3 else 0)


@pytest.mark.parametrize(
    ("dialect", "main_id", "mode"), [(REDIS_RDB_CHANNEL, 1, "rdb_channel"), (VALKEY_DUAL_CHANNEL, None, "dual_channel")]
)
def test_two_channels_share_one_sync(bench: Bench, dialect: Dialect, main_id: int | None, mode: str) -> None:
    main, rdb = bench.session(1), bench.session(2)
    rdb.is_rdb_channel = True
    bench.decide(main, wait="rdb_channel")
    assert bench.last("psync_decided")["verdict"] == "two_channels"
    bench.end.rdb_channel_asks(rdb, RdbChannelAsks(2, dialect, main_id, "now"), "10.0.0.2:40001")
    assert bench.last("rdb_channel_opened")["dialect"] == dialect.name
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.end.delivery_ended(2, 3.0, delivered_bytes=5)
    rdb.snapshot_is_out = True
    bench.end.lost(rdb, Reason(Cause.STOPPED, detail="rdb_channel"), 3.0, by_us=True)
    bench.end.went_online(main, 4.0, full=True)
    assert bench.last("online")["mode"] == mode
    assert "replica_down" not in bench.names()
    assert {record.field_values()["sync"] for record in bench.told} == {f"{CONN}/?"}


def test_a_pair_that_fails_is_told_once(bench: Bench) -> None:
    main, rdb = bench.session(1), bench.session(2)
    rdb.is_rdb_channel = True
    bench.decide(main, wait="rdb_channel")
    bench.end.rdb_channel_asks(rdb, RdbChannelAsks(2, REDIS_RDB_CHANNEL, 1, "now"), "10.0.0.2:40001")
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.end.lost(rdb, None, 3.0, by_us=False)
    bench.end.lost(main, Reason(Cause.CONNECTION_LOST, detail="rdb_channel"), 3.0, by_us=True)
    assert bench.names().count("replica_down") == 1
    assert bench.last("replica_down")["detail"] == "rdb_channel"


def test_a_stream_that_nobody_asked_for(bench: Bench) -> None:
    """Valkey's dialect: the snapshot was taken, the main connection never came back for the stream."""
    main, rdb = bench.session(1), bench.session(2)
    rdb.is_rdb_channel = rdb.snapshot_is_out = True
    bench.decide(main, wait="rdb_channel")
    bench.end.rdb_channel_asks(rdb, RdbChannelAsks(2, VALKEY_DUAL_CHANNEL, None, "now"), "10.0.0.2:40001")
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.end.delivery_ended(2, 3.0, delivered_bytes=5)
    bench.end.lost(rdb, None, 3.0, by_us=True)
    bench.end.psync_wait_over(PsyncWaitOver(2, Reason(Cause.TIMEOUT, detail="psync")), 63.0)
    down = bench.last("replica_down")
    assert (down["cause"], down["detail"], down["phase"]) == ("timeout", "psync", "load")
    bench.end.lost(main, None, 64.0, by_us=False)
    assert bench.names().count("replica_down") == 1


def test_an_rdb_channel_of_nobody_is_passed_over(bench: Bench) -> None:
    rdb = bench.session(2)
    bench.end.rdb_channel_asks(rdb, RdbChannelAsks(2, VALKEY_DUAL_CHANNEL, None, "now"), CONN)
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.end.psync_wait_over(PsyncWaitOver(2, FIRST), 3.0)
    bench.end.lost(rdb, None, 3.0, by_us=False)
    assert bench.told == []


def test_what_is_remembered_stays_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_end, "MAX_EXPECTED", 2)
    for number in range(1, 5):
        bench.decide(bench.session(number, 7000 + number), wait="rdb_channel")
    late = bench.session(9, 7001)
    bench.end.rdb_channel_asks(late, RdbChannelAsks(9, VALKEY_DUAL_CHANNEL, None, "now"), CONN)
    assert "rdb_channel_opened" not in bench.names()


def test_a_delivery_that_failed_for_one_of_many(bench: Bench) -> None:
    session = bench.session()
    bench.decide(session)
    bench.end.delivery_started(session, 1, 0, 2.0)
    bench.end.delivery_ended(1, 3.0, error="Broken pipe")
    bench.end.lost(session, Reason(Cause.CONNECTION_LOST, detail="snapshot"), 3.0, by_us=True)
    assert bench.names().count("delivery_ended") == 1
    assert bench.last("delivery_ended")["error"] == "Broken pipe"
