"""What a master tells of its replicas' syncs: straight, on two channels in both dialects, and all that goes wrong; the
records, and the lines beside them."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import UNASKED
from pyrepl.node.client import Client
from pyrepl.observability import events
from pyrepl.observability.eventlog import records
from pyrepl.observability.telling import master_end
from pyrepl.observability.telling.master_end import MasterEnd, Replica
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.dialects import REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL, Dialect
from pyrepl.replication.events import (
    BacklogCreated,
    BacklogFreed,
    CloseSession,
    PsyncWaitOver,
    RdbChannelAsks,
    SessionState,
    SnapshotTarget,
    StreamAttached,
    SyncDecided,
    WentOnline,
)
from pyrepl.replication.history import History
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Reason, Request
from pyrepl.replication.session import RDB_ONLY, Session, SessionOptions
from pyrepl.units import Offset, ReplId
from tests.unit.observability.telling.heard import Heard

A = ReplId("a" * 40)
CONN = "10.0.0.2:40000"
FIRST = Reason(Cause.FIRST)


class Bench(Heard):
    """A master's end and what it told; the sessions are moved by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.backlog = Backlog(1000)
        self.backlog.create()
        self.end = MasterEnd(self.voice, self.backlog, History(A))

    def session(self, session_id: int = 1, port: int = 7001) -> Session:
        session = Session(session_id, "10.0.0.2", SessionOptions(), 0.0)
        session.receive_command([b"REPLCONF", b"listening-port", b"%d" % port], 0.0)
        return session

    def decide(
        self, session: Session, reason: Reason | None = FIRST, wait: str = "now", request: Request = ASK_FOR_ALL
    ) -> None:
        missing = 0 if reason else self.backlog.end - request.held
        self.end.tell(SyncDecided(session.id, request, reason, missing, wait), replica(session), 1.0)

    def asks_for_rdb(self, rdb: Session, dialect: Dialect, main_id: int | None, conn: str = CONN) -> None:
        self.end.tell(RdbChannelAsks(rdb.id, dialect, main_id, "now"), replica(rdb, conn), 1.0)

    def lose(self, session: Session, reason: Reason | None, now: float, *, by_us: bool) -> None:
        session.end_reason = reason
        self.end.lost(replica(session), now, by_us=by_us, is_fed=False)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def replica(session: Session, conn: str = CONN) -> Replica:
    client = Client(session.id, conn, "", 0.0, UNASKED)
    client.become_replica()
    return Replica(session, client)


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
    bench.end.flows(session, 5.0, full=True)
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
    bench.end.flows(session, 1.5, full=False)
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
    bench.lose(bench.session(), None, 2.0, by_us=False)
    assert "replica_down" not in bench.names(), "it never was one"


def test_a_cut_while_the_snapshot_goes_out(bench: Bench) -> None:
    session = bench.session()
    bench.decide(session)
    bench.end.delivery_started(session, 1, 0, 2.0)
    session.output.check(9, 0, 2.0)
    bench.lose(session, Reason(Cause.OUTPUT_BUFFER, 8, "hard"), 3.0, by_us=True)
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
        bench.end.flows(session, 4.0, full=True)
    bench.backlog.append(b"x" * 5)
    assert bench.end.sync_of(1) == f"{CONN}/?"
    bench.lose(session, None, 5.0, by_us=False)
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
    bench.asks_for_rdb(rdb, dialect, main_id, "10.0.0.2:40001")
    assert bench.last("rdb_channel_opened")["dialect"] == dialect.name
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.end.delivery_ended(2, 3.0, delivered_bytes=5)
    rdb.snapshot_is_out = True
    bench.lose(rdb, Reason(Cause.STOPPED, detail="rdb_channel"), 3.0, by_us=True)
    bench.end.flows(main, 4.0, full=True)
    assert bench.last("online")["mode"] == mode
    assert "replica_down" not in bench.names()
    assert {record.field_values()["sync"] for record in bench.told} == {f"{CONN}/?"}


def test_a_pair_that_fails_is_told_once(bench: Bench) -> None:
    main, rdb = bench.session(1), bench.session(2)
    rdb.is_rdb_channel = True
    bench.decide(main, wait="rdb_channel")
    bench.asks_for_rdb(rdb, REDIS_RDB_CHANNEL, 1, "10.0.0.2:40001")
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.lose(rdb, None, 3.0, by_us=False)
    bench.lose(main, Reason(Cause.CONNECTION_LOST, detail="rdb_channel"), 3.0, by_us=True)
    assert bench.names().count("replica_down") == 1
    assert bench.last("replica_down")["detail"] == "rdb_channel"


def test_a_stream_that_nobody_asked_for(bench: Bench) -> None:
    """Valkey's dialect: the snapshot was taken, the main connection never came back for the stream."""
    main, rdb = bench.session(1), bench.session(2)
    rdb.is_rdb_channel = rdb.snapshot_is_out = True
    bench.decide(main, wait="rdb_channel")
    bench.asks_for_rdb(rdb, VALKEY_DUAL_CHANNEL, None, "10.0.0.2:40001")
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.end.delivery_ended(2, 3.0, delivered_bytes=5)
    bench.lose(rdb, None, 3.0, by_us=True)
    bench.end.tell(PsyncWaitOver(2, Reason(Cause.TIMEOUT, detail="psync")), None, 63.0)
    down = bench.last("replica_down")
    assert (down["cause"], down["detail"], down["phase"]) == ("timeout", "psync", "load")
    bench.lose(main, None, 64.0, by_us=False)
    assert bench.names().count("replica_down") == 1


def test_an_rdb_channel_of_nobody_is_passed_over(bench: Bench) -> None:
    rdb = bench.session(2)
    bench.asks_for_rdb(rdb, VALKEY_DUAL_CHANNEL, None, CONN)
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.end.tell(PsyncWaitOver(2, FIRST), None, 3.0)
    bench.lose(rdb, None, 3.0, by_us=False)
    assert bench.told == []


def test_what_is_remembered_stays_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_end, "MAX_EXPECTED", 2)
    for number in range(1, 5):
        bench.decide(bench.session(number, 7000 + number), wait="rdb_channel")
    late = bench.session(9, 7001)
    bench.asks_for_rdb(late, VALKEY_DUAL_CHANNEL, None, CONN)
    assert "rdb_channel_opened" not in bench.names()


def test_a_delivery_that_failed_for_one_of_many(bench: Bench) -> None:
    session = bench.session()
    bench.decide(session)
    bench.end.delivery_started(session, 1, 0, 2.0)
    bench.end.delivery_ended(1, 3.0, error="Broken pipe")
    bench.lose(session, Reason(Cause.CONNECTION_LOST, detail="snapshot"), 3.0, by_us=True)
    assert bench.names().count("delivery_ended") == 1
    assert bench.last("delivery_ended")["error"] == "Broken pipe"


def test_a_verdict_has_its_lines_beside_its_record(bench: Bench) -> None:
    bench.backlog.append(b"x" * 30)
    bench.decide(bench.session(), None, "", Request(A, 10))
    assert bench.texts() == [
        "Replica 10.0.0.2:7001 asks for synchronization",
        "Partial resynchronization request from 10.0.0.2:7001 accepted. Sending 20 bytes of backlog starting from "
        "offset 11.",
    ]
    bench.said.clear()
    bench.decide(bench.session(2), wait="delay")
    assert bench.texts()[1:] == [
        "Full resync requested by replica 10.0.0.2:7001 (cause: first)",
        "Delay next BGSAVE for diskless SYNC",
    ]
    bench.said.clear()
    bench.asks_for_rdb(bench.session(3), REDIS_RDB_CHANNEL, 2)
    bench.end.tell(StreamAttached(2, Offset(30)), replica(bench.session(2)), 2.0)
    assert bench.texts() == [
        "Full resync requested by replica 10.0.0.2:7001 (rdb-channel)",
        "Starting to deliver RDB and replication stream to replica: 10.0.0.2:7001",
    ]


def test_nothing_is_told_of_a_replica_that_is_gone(bench: Bench) -> None:
    bench.end.tell(SyncDecided(1, ASK_FOR_ALL, FIRST, 0, "now"), None, 1.0)
    assert bench.told == [] and bench.said == []


def test_a_request_that_cannot_be_read(bench: Bench) -> None:
    bench.end.asked_wrongly(bench.session())
    assert bench.texts()[1].endswith("asks for synchronization but with a wrong offset") and bench.told == []


@pytest.mark.parametrize("streams", [False, True])
def test_a_replica_is_in_step_once_it_may_have_the_stream(bench: Bench, streams: bool) -> None:
    session = full(bench)
    session.state, session._awaits_ack = SessionState.ONLINE, not streams
    bench.said.clear()
    bench.end.tell(WentOnline(full=True), replica(session), 5.0)
    waits, *then = bench.said
    assert isinstance(waits, events.ReplicaWaitsForAck)
    assert then == ([events.ReplicaSynchronized(session.address)] if streams else [])
    assert ("online" in bench.names()) is streams


@pytest.mark.parametrize(
    ("cause", "line"),
    [
        (Cause.OUTPUT_BUFFER, "Client id=1 addr=10.0.0.2:40000 "),
        (Cause.TIMEOUT, "Disconnecting timedout replica (streaming sync): 10.0.0.2:7001"),
        (Cause.SNAPSHOT_FAILED, "SYNC failed. BGSAVE child returned an error"),
        (Cause.PROTOCOL, "it talks, disconnecting it: id=1 addr=10.0.0.2:40000 "),
        (Cause.STOPPED, ""),
    ],
)
def test_why_a_replica_is_cut(bench: Bench, cause: Cause, line: str) -> None:
    bench.end.tell(CloseSession(Reason(cause, detail="online"), "it talks"), replica(bench.session()), 1.0)
    assert len(bench.said) == bool(line) and "".join(bench.texts()).startswith(line)


def test_one_that_wanted_the_snapshot_alone_has_it(bench: Bench) -> None:
    bench.end.tell(CloseSession(Reason(Cause.STOPPED, detail=RDB_ONLY), "done"), replica(bench.session()), 1.0)
    assert bench.texts() == ["RDB transfer completed, rdb only replica (10.0.0.2:7001) should be disconnected asap"]


def test_a_connection_that_ended(bench: Bench) -> None:
    main, rdb = bench.session(1), bench.session(2)
    bench.lose(main, Reason(Cause.TIMEOUT, detail="online"), 2.0, by_us=True)
    rdb.is_rdb_channel = True
    bench.lose(rdb, None, 2.0, by_us=False)
    assert bench.texts() == [
        "Connection with replica 10.0.0.2:7001 lost. (cause: timeout (online))",
        "Connection with replica (rdbchannel) 10.0.0.2:7001 lost.",
    ]


def test_one_that_only_introduced_itself_ends_without_a_word(bench: Bench) -> None:
    stranger = Replica(bench.session(), Client(1, CONN, "", 0.0, UNASKED))
    bench.end.lost(stranger, 2.0, by_us=False, is_fed=False)
    assert bench.said == [] and bench.told == []


@pytest.mark.parametrize(("error", "lost"), [("", {}), ("", {2: "Broken pipe"}), ("killed", {})])
def test_an_rdb_channel_that_hung_up_is_judged_when_the_child_is_done(
    bench: Bench, error: str, lost: dict[int, str]
) -> None:
    rdb = bench.session(2)
    rdb.is_rdb_channel = True
    bench.end.lost(replica(rdb), 2.0, by_us=False, is_fed=True)
    assert bench.said == []
    bench.end.delivered([2], lost, 77, error, 3.0)
    (line,) = bench.said
    assert isinstance(line, events.RdbChannelLost if error or lost else events.RdbChannelDone)
    bench.end.delivered([2], {}, 77, "", 4.0)
    assert len(bench.said) == 1


@pytest.mark.parametrize("lost", [{}, {2: "Broken pipe"}])
def test_the_delivery_of_an_rdb_channel_that_hung_up_ends_with_the_child(bench: Bench, lost: dict[int, str]) -> None:
    """And not with the link, which may be cut hours later."""
    main, rdb = bench.session(1), bench.session(2)
    rdb.is_rdb_channel = True
    bench.decide(main, wait="rdb_channel")
    bench.asks_for_rdb(rdb, REDIS_RDB_CHANNEL, 1, "10.0.0.2:40001")
    bench.end.delivery_started(rdb, 1, 0, 2.0)
    bench.end.lost(replica(rdb), 2.5, by_us=False, is_fed=True)
    bench.end.delivered([2], lost, 77, "", 3.0)
    ended = bench.last("delivery_ended")
    assert (ended["ok"], ended["delivery_ms"]) == (not lost, 1000)
    bench.lose(main, None, 9.0, by_us=False)
    assert [record.event() for record in bench.told].count("delivery_ended") == 1


def test_a_child_for_two_replicas_of_which_one_fell_away(bench: Bench) -> None:
    one, other = bench.session(1), bench.session(2, 7002)
    for session in (one, other):
        bench.decide(session)
        bench.end.delivery_started(session, 1, 0, 2.0)
    bench.end.delivered([1, 2], {2: "Broken pipe"}, 77, "", 3.0)
    first, second = (record.field_values() for record in bench.told if record.event() == "delivery_ended")
    assert (first["ok"], first["delivered_bytes"]) == (True, 77)
    assert (second["ok"], second["error"]) == (False, "Broken pipe") and "delivered_bytes" not in second


def test_the_snapshot_in_lines(bench: Bench) -> None:
    plain, rdb = bench.session(1), bench.session(2)
    rdb.is_rdb_channel = True
    bench.end.snapshot_starts(SnapshotTarget.DISK, [plain])
    bench.end.snapshot_starts(SnapshotTarget.SOCKETS, [plain])
    bench.end.snapshot_starts(SnapshotTarget.SOCKETS, [plain, rdb])
    bench.end.nobody_waits()
    bench.end.file_failed("gone")
    bench.end.cannot_send(plain, "Broken pipe")
    assert bench.texts() == [
        "Starting BGSAVE for SYNC with target: disk",
        "Starting BGSAVE for SYNC with target: replicas sockets",
        "Starting BGSAVE for SYNC with target: replicas sockets (rdb-channel)",
        "Diskless rdb transfer, last replica dropped, killing fork child.",
        "Write error saving DB on disk(stat): gone",
        "Write error sending DB to replica 10.0.0.2:7001: Broken pipe",
    ]


def test_a_backlog_of_another_size_says_what_it_still_holds(bench: Bench) -> None:
    bench.backlog.append(b"x" * 900)
    bench.backlog.resize(500)
    bench.end.backlog_resized(1000)
    assert bench.last("backlog_resized") == {
        "backlog_size_bytes": 500,
        "backlog_size_before_bytes": 1000,
        "backlog_start_offset": 400,
    }
    assert bench.texts() == ["Replication backlog resized from 1000 to 500 bytes"]


def test_the_backlog_comes_and_goes(bench: Bench) -> None:
    bench.end.keeping(BacklogCreated(A, is_new=True))
    bench.end.keeping(BacklogFreed(60, A))
    assert bench.last("backlog_created") == {"backlog_size_bytes": 1000}
    assert bench.last("backlog_freed") == {"cause": "ttl"}
    bench.end.keeping(BacklogFreed(None, A))
    bench.end.keeping(BacklogCreated(A, is_new=False))
    assert bench.names()[2:] == ["backlog_freed", "backlog_created"] and bench.told[2] == records.BacklogFreed(
        "full_resync"
    )
    assert bench.texts() == [
        f"Replication backlog created, my new replication IDs are '{A}' and '{'0' * 40}'",
        "Replication backlog freed after 60 seconds without connected replicas.",
    ]
