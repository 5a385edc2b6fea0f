"""Which snapshot serves whom, who is continued, what is counted, and the backlog's life."""

from __future__ import annotations

import itertools

import pytest

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.dialects import REDIS_RDB_CHANNEL
from pyrepl.replication.events import (
    BacklogCreated,
    BacklogFreed,
    KeepingEvent,
    OtherChild,
    RosterEvent,
    SessionState,
    SnapshotTarget,
    StartSnapshot,
    StopSnapshot,
    SyncDecided,
    SyncRequested,
)
from pyrepl.replication.feed import PING, Feed
from pyrepl.replication.history import History
from pyrepl.replication.psync import FULL_RESYNC_CAUSES, Cause
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.units import ReplId
from tests.replica_input import hear

A = ReplId("a" * 40)


class Bench:
    """A master without a process: snapshots end when the test says so."""

    def __init__(self, *, capacity: int = 1000, session: SessionOptions | None = None, **options: object) -> None:
        self.history = History(A)
        self.backlog = Backlog(capacity)
        self.feed = Feed()
        self.options = RosterOptions(session=session or SessionOptions(), **options)  # type: ignore[arg-type]
        self.now = 0.0
        numbers = itertools.count(1)
        self.roster = Roster(
            self.history, self.backlog, self.feed, self.options, lambda: ReplId(f"{next(numbers):040x}"), 0.0
        )
        self.told: list[KeepingEvent] = []
        self.roster.keeping.watch(self.told.append)
        self._ids = itertools.count(1)

    def connect(self, psync: str = "PSYNC ? -1", capa: str = "capa eof capa psync2", port: int = 0) -> Session:
        session_id = next(self._ids)
        session = self.roster.open_session(session_id, "192.0.2.1", self.now)
        self.say(session, f"REPLCONF listening-port {port or 7000 + session_id} {capa}".strip())
        self.say(session, psync)
        return session

    def say(self, session: Session, line: str) -> None:
        hear(session, line.encode() + b"\r\n", self.now)
        for event in session.events():
            if isinstance(event, SyncRequested):
                self.roster.request_sync(session, event.request, self.now)

    def tick_to(self, now: float) -> list[RosterEvent]:
        self.now = now
        self.roster.tick(now)
        return self.roster.events()

    def events(self) -> list[RosterEvent]:
        return self.roster.events()

    def started(self) -> StartSnapshot | None:
        """The order for a snapshot among the new events."""
        found = [event for event in self.roster.events() if isinstance(event, StartSnapshot)]
        assert len(found) <= 1
        return found[0] if found else None

    def full(self, port: int = 0) -> Session:
        """A replica brought online by a disk snapshot."""
        session = self.connect(port=port)
        assert self.started() is not None
        self.roster.snapshot_started(self.now)
        self.roster.snapshot_ended(True, self.now, size_bytes=5)
        session.file_sent(self.now)
        self.say(session, f"REPLCONF ACK {self.backlog.end}")
        session.data_to_send()
        session.events()
        return session

    def continued(self) -> Session:
        return self.connect(f"PSYNC {self.history.replid} {self.backlog.end + 1}")


def test_the_first_replica_begins_the_stream() -> None:
    bench = Bench(diskless=False)
    session = bench.connect()
    assert bench.told == [BacklogCreated(bench.history.replid, is_new=True)]
    assert bench.history.replid != A
    decided, order = bench.events()
    assert isinstance(decided, SyncDecided) and decided.reason is not None
    assert decided.reason.cause is Cause.FIRST and decided.wait == "now"
    assert order == StartSnapshot(SnapshotTarget.DISK, (session.id,))
    assert bench.backlog.active
    assert bench.roster.snapshot_started(0.0) == [session]
    assert b"".join(session.data_to_send()).endswith(b"+FULLRESYNC %b 0\r\n" % bench.history.replid.encode())


def test_a_snapshot_makes_the_stream_state_its_database() -> None:
    bench = Bench(diskless=False)
    bench.full()
    bench.feed.feed_one(0, PING)
    bench.full()
    assert bench.feed.feed_one(0, PING).startswith(b"*2\r\n$6\r\nSELECT")


def test_a_running_disk_snapshot_is_joined_at_its_cut() -> None:
    bench = Bench(diskless=False)
    first = bench.connect()
    bench.events()
    bench.roster.snapshot_started(0.0)
    bench.backlog.append(b"written meanwhile")
    second = bench.connect()
    decided = bench.events()[0]
    assert isinstance(decided, SyncDecided) and decided.wait == "joined"
    assert second.state is SessionState.WAIT_SNAPSHOT_END
    assert first.cursor is not None and second.cursor is not None and second.cursor.at == first.cursor.at == 0
    bench.roster.snapshot_ended(True, 1.0, size_bytes=9)
    assert {first.state, second.state} == {SessionState.SEND_BULK}


def test_a_disk_snapshot_is_joined_only_by_who_reads_its_version() -> None:
    """What it was made for may be RDB version 13, which an older replica refuses."""
    bench = Bench(diskless=False)
    bench.connect(capa="capa eof capa psync2 capa rdb-version-13")
    bench.events()
    bench.roster.snapshot_started(0.0)
    old = bench.connect()
    assert [event.wait for event in bench.events() if isinstance(event, SyncDecided)] == ["next_file"]
    assert old.state is SessionState.WAIT_SNAPSHOT_START
    new = bench.connect(capa="capa eof capa psync2 rdb-no-compress 1")
    assert new.state is SessionState.WAIT_SNAPSHOT_END


def test_a_snapshot_to_sockets_is_not_joined() -> None:
    bench = Bench(diskless_delay_s=0)
    bench.connect()
    assert bench.started() is not None
    bench.roster.snapshot_started(0.0)
    second = bench.connect()
    assert second.state is SessionState.WAIT_SNAPSHOT_START and bench.started() is None
    bench.roster.snapshot_ended(True, 1.0)
    assert bench.started() == StartSnapshot(SnapshotTarget.SOCKETS, (second.id,))


def test_diskless_waits_for_more() -> None:
    bench = Bench(diskless_delay_s=5)
    first = bench.connect()
    assert bench.started() is None and bench.roster.next_deadline() == 1.0
    bench.tick_to(4.0)
    second = bench.connect()
    assert bench.started() is None
    assert bench.tick_to(4.9) == []
    assert bench.tick_to(5.0) == [StartSnapshot(SnapshotTarget.SOCKETS, (first.id, second.id))]
    assert bench.tick_to(9.0) == [], "ordered once"


def test_enough_replicas_end_the_wait() -> None:
    bench = Bench(diskless_delay_s=5, diskless_max_replicas=2)
    bench.connect()
    assert bench.started() is None
    bench.connect()
    assert bench.started() is not None


def test_a_replica_that_needs_a_size_takes_all_to_disk() -> None:
    bench = Bench(diskless_delay_s=5)
    bench.connect()
    bench.connect(capa="")
    order = bench.started()
    assert order is not None and order.target is SnapshotTarget.DISK and len(order.session_ids) == 2


FILTER = "capa eof capa psync2 rdb-filter-only functions"


def test_a_filtered_snapshot_goes_to_sockets_at_once_where_others_go_to_disk() -> None:
    bench = Bench(diskless=False, diskless_delay_s=5.0)
    session = bench.connect(capa=FILTER)
    assert bench.started() == StartSnapshot(SnapshotTarget.SOCKETS, (session.id,))
    assert bench.roster.snapshot_started(bench.now) == [session]
    assert session.target is SnapshotTarget.SOCKETS


def test_a_filtered_snapshot_needs_eof() -> None:
    for psync in ("PSYNC ? -1", "SYNC"):
        bench = Bench()
        session = bench.connect(psync, capa="capa psync2 rdb-filter-only functions")
        assert session.data_to_send()[-1] == b"-ERR Filtered replica requires EOF capability\r\n"
        assert bench.events() == [] and not bench.roster.sessions


def test_a_filtered_snapshot_is_shared_only_by_who_wants_the_same() -> None:
    bench = Bench(diskless_delay_s=5.0)
    first = bench.connect(capa=FILTER)
    bench.now = 1.0
    whole = bench.connect()
    nothing = bench.connect(capa="capa eof rdb-filter-only ''")
    alike = bench.connect(capa=FILTER)
    waits = [event.wait for event in bench.events() if isinstance(event, SyncDecided)]
    assert waits == ["delay", "later", "later", "delay"]
    bench.tick_to(5.0)
    served = bench.roster.snapshot_started(5.0)
    assert served == [first, alike]
    bench.roster.snapshot_ended(True, 5.5)
    bench.tick_to(6.0)
    assert bench.roster.snapshot_started(6.0) == [whole]
    bench.roster.snapshot_ended(True, 6.5)
    bench.tick_to(7.0)
    assert bench.roster.snapshot_started(7.0) == [nothing]


def test_a_running_disk_snapshot_is_no_place_for_a_filtered_one() -> None:
    bench = Bench(diskless=False)
    whole = bench.connect()
    assert bench.started() is not None
    assert bench.roster.snapshot_started(0.0) == [whole]
    filtered = bench.connect(capa=FILTER)
    assert [event.wait for event in bench.events() if isinstance(event, SyncDecided)] == ["next_file"]
    assert filtered.state is SessionState.WAIT_SNAPSHOT_START
    bench.roster.snapshot_ended(True, 1.0, size_bytes=5)
    assert bench.started() == StartSnapshot(SnapshotTarget.SOCKETS, (filtered.id,))


def test_an_order_for_disk_serves_nobody_filtered() -> None:
    bench = Bench(diskless=False)
    whole = bench.connect()
    assert bench.started() is not None
    filtered = bench.connect(capa=FILTER)
    bench.roster.remove(whole, 0.0)
    assert bench.roster.snapshot_started(0.0) == []
    bench.tick_to(0.1)
    assert bench.roster.snapshot_started(0.1) == [filtered]
    assert filtered.target is SnapshotTarget.SOCKETS


def test_a_filtered_replica_syncs_on_one_connection() -> None:
    bench = Bench(dialects=frozenset({REDIS_RDB_CHANNEL}), diskless_delay_s=0.0)
    session = bench.connect(capa=f"{FILTER} capa rdb-channel-repl")
    assert bench.started() == StartSnapshot(SnapshotTarget.SOCKETS, (session.id,))


def test_another_child_is_waited_for() -> None:
    bench = Bench(diskless=False)
    bench.roster.set_other_child(OtherChild.REWRITE, 0.0)
    bench.connect()
    assert bench.started() is None
    bench.tick_to(100.0)
    assert bench.started() is None
    bench.roster.set_other_child(None, 100.0)
    assert bench.started() is not None


def test_the_child_is_stopped_when_nobody_waits_for_it() -> None:
    bench = Bench(diskless=False)
    one, two = bench.connect(), bench.connect()
    bench.events()
    bench.roster.snapshot_started(0.0)
    bench.roster.remove(one, 1.0)
    assert bench.events() == []
    bench.roster.remove(two, 1.0)
    assert bench.events() == [StopSnapshot()]
    third = bench.connect()
    assert third.state is SessionState.WAIT_SNAPSHOT_START, "a child that is being killed is not joined"
    bench.events()
    bench.roster.snapshot_ended(False, 2.0)
    assert third.state is SessionState.WAIT_SNAPSHOT_START and bench.started() is not None


def test_the_child_of_one_that_wants_the_snapshot_alone_ends_by_itself() -> None:
    bench = Bench(diskless_delay_s=0.0)
    one = bench.connect(capa="capa eof rdb-only 1")
    bench.events()
    bench.roster.snapshot_started(0.0)
    bench.roster.remove(one, 1.0)
    assert bench.events() == [], "it may have read all of it"
    bench.roster.snapshot_ended(True, 2.0)
    other = bench.connect(capa="capa eof")
    bench.events()
    bench.roster.snapshot_started(2.0)
    bench.roster.remove(other, 3.0)
    assert bench.events() == [StopSnapshot()]


def test_replicas_gone_before_the_fork_are_left_out() -> None:
    bench = Bench(diskless=False)
    one = bench.connect()
    bench.events()
    bench.roster.remove(one, 0.0)
    assert bench.roster.snapshot_started(0.0) == []
    bench.connect()
    assert bench.started() is not None


def test_a_failed_snapshot_cuts_those_it_was_for() -> None:
    bench = Bench(diskless=False)
    one = bench.connect(port=7777)
    bench.events()
    bench.roster.snapshot_started(0.0)
    bench.roster.snapshot_ended(False, 1.0, detail="disk")
    assert str(one.end_reason) == "snapshot_failed (disk)" and not bench.roster.sessions
    bench.connect(port=7777)
    assert bench.roster.counters.full_by_cause[Cause.SNAPSHOT_FAILED] == 1


def test_a_snapshot_that_cannot_be_forked_says_so() -> None:
    bench = Bench(diskless=False)
    one = bench.connect()
    bench.roster.snapshot_ended(False, 1.0, detail="fork")
    assert b"-ERR BGSAVE failed, replication can't continue\r\n" in b"".join(one.data_to_send())


def test_sockets_that_the_child_could_not_write() -> None:
    bench = Bench(diskless_delay_s=0, diskless_max_replicas=0)
    one = bench.connect()
    bench.started()
    bench.roster.snapshot_started(0.0)
    bench.roster.snapshot_ended(True, 1.0, failed=[one.id])
    assert one.state is SessionState.CLOSED and one.id not in bench.roster.sessions


def test_partial_resync() -> None:
    bench = Bench(diskless=False)
    bench.full()
    bench.backlog.append(b"0123456789")
    session = bench.connect(f"PSYNC {bench.history.replid} 5")
    decided = bench.events()[-1]
    assert isinstance(decided, SyncDecided) and decided.reason is None and decided.missing_bytes == 6
    assert session.may_stream and session.cursor is not None and session.cursor.at == 4
    assert bench.roster.counters.partial_ok == 1 and bench.roster.counters.full == 1


def test_counters_by_cause() -> None:
    bench = Bench(diskless=False, capacity=10)
    bench.full()
    bench.backlog.append(b"x" * 100)
    replid = bench.history.replid
    for psync in ("PSYNC ? -1", f"PSYNC {A} 5", f"PSYNC {replid} 500", "SYNC"):
        bench.connect(psync)
    counters = bench.roster.counters
    assert (counters.full, counters.partial_ok, counters.partial_err) == (5, 0, 2)
    by_cause = {cause.value: count for cause, count in counters.full_by_cause.items() if count}
    assert by_cause == {"first": 2, "id_mismatch": 1, "above_offset": 1, "forced": 1}
    counters.reset()
    assert counters.full == 0 and set(counters.full_by_cause) == set(FULL_RESYNC_CAUSES)


def test_why_the_last_sync_ended_is_remembered_once() -> None:
    bench = Bench(diskless=False, session=SessionOptions(timeout_s=10))
    session = bench.connect(port=7777)
    bench.events()
    bench.roster.snapshot_started(0.0)
    bench.roster.snapshot_ended(True, 0.0, size_bytes=5)
    session.file_sent(0.0)
    bench.roster.remove(session, 0.0)
    again = bench.connect(port=7777)
    bench.roster.remove(again, 0.0)
    bench.connect(port=7777)
    counts = bench.roster.counters.full_by_cause
    assert (counts[Cause.FIRST], counts[Cause.LOAD_FAILED], counts[Cause.CONNECTION_LOST]) == (1, 1, 1)


def test_a_replica_that_left_in_step_comes_as_a_first_one() -> None:
    bench = Bench(diskless=False)
    session = bench.full(port=7777)
    bench.roster.remove(session, 0.0)
    bench.connect(port=7777)
    assert bench.roster.counters.full_by_cause[Cause.FIRST] == 2


def test_lag_and_wait() -> None:
    bench = Bench(diskless=False)
    one, two = bench.full(), bench.full()
    bench.backlog.append(b"0123456789")
    end = bench.backlog.end
    assert bench.roster.acked_at_least(end) == 0
    bench.now = 5.0
    assert one.cursor is not None
    one.cursor.advance(10)
    bench.say(one, f"REPLCONF ACK {end}")
    assert bench.roster.acked_at_least(end) == 1 and bench.roster.acked_at_least(0) == 2
    assert bench.roster.good_replicas(4.0, 5.0) == 1 and bench.roster.good_replicas(5.0, 5.0) == 2
    assert two.lag_s(5.0) == 5.0 and bench.roster.lowest_cut == 0
    assert bench.roster.pending_bytes == end


def test_wait_asks_for_acks() -> None:
    bench = Bench(diskless=False)
    bench.roster.ask_acks()
    assert bench.backlog.end == 0, "there is no stream yet"
    bench.full()
    bench.roster.ask_acks()
    assert bench.backlog.end == len(bench.feed.getack())


def test_pings_go_out_while_there_are_replicas() -> None:
    bench = Bench(diskless=False, ping_period_s=10)
    bench.tick_to(100.0)
    session = bench.full()
    bench.tick_to(101.0)
    assert bench.backlog.end == len(PING)
    bench.tick_to(110.0)
    assert bench.backlog.end == len(PING)
    bench.tick_to(111.0)
    assert bench.backlog.end == 2 * len(PING)
    bench.roster.remove(session, 111.0)
    bench.tick_to(500.0)
    assert bench.backlog.end == 2 * len(PING)


def test_while_it_has_to_be_quiet_no_ping_is_due() -> None:
    """A failover waits for its target: the stream's end stays where it is, however long that takes."""
    bench = Bench(diskless=False, ping_period_s=10)
    session = bench.full()
    bench.tick_to(11.0)
    bench.roster.is_quiet = True
    end = bench.backlog.end
    session.ack_at = 40.0
    bench.tick_to(40.0)
    assert bench.backlog.end == end
    due = bench.roster.next_deadline()
    assert due is not None and due > 40.0
    bench.roster.is_quiet = False
    assert bench.roster.next_deadline() == 21.0


def test_who_forwards_a_stream_adds_nothing() -> None:
    bench = Bench(diskless=False)
    bench.full()
    bench.roster.makes_stream = False
    end = bench.backlog.end
    bench.tick_to(50.0)
    bench.roster.ask_acks()
    assert bench.backlog.end == end


def test_the_backlog_ends_after_its_ttl() -> None:
    bench = Bench(diskless=False, backlog_ttl_s=60)
    session = bench.full()
    replid = bench.history.replid
    bench.tick_to(1000.0)
    bench.roster.remove(session, 1000.0)
    bench.events()
    assert bench.roster.next_deadline() == 1060.0
    assert bench.tick_to(1059.0) == []
    bench.tick_to(1060.0)
    assert bench.told[1:] == [BacklogFreed(60, bench.history.replid)]
    assert bench.history.replid != replid and not bench.history.knows(replid)
    assert not bench.backlog.active


@pytest.mark.parametrize("ttl, makes_stream", [(0, True), (60, False)])
def test_the_backlog_stays(ttl: int, makes_stream: bool) -> None:
    bench = Bench(diskless=False, backlog_ttl_s=ttl)
    session = bench.full()
    bench.roster.remove(session, 0.0)
    bench.roster.makes_stream = makes_stream
    bench.tick_to(1e9)
    assert bench.backlog.active


def test_a_slow_replica_is_cut_and_its_bytes_given_back() -> None:
    bench = Bench(diskless=False, session=SessionOptions(hard_limit_bytes=5000))
    session = bench.full()
    bench.backlog.append(b"x" * 4999)
    bench.roster.check_output_buffers(0.0)
    assert session.id in bench.roster.sessions
    bench.backlog.append(b"x")
    bench.roster.check_output_buffers(0.0)
    assert str(session.end_reason) == "output_buffer (hard)"
    assert bench.backlog.held_bytes == 1000


def test_refusals() -> None:
    bench = Bench()
    bench.roster.refusal = "NOMASTERLINK Can't SYNC while not connected with my master"
    session = bench.connect()
    assert b"-NOMASTERLINK" in b"".join(session.data_to_send())
    assert not bench.roster.sessions and not bench.backlog.active
    other = bench.connect(f"PSYNC {A} 5 FAILOVER")
    assert b"-ERR PSYNC FAILOVER can't be sent to a master.\r\n" in b"".join(other.data_to_send())


def test_removing_twice_does_no_harm() -> None:
    bench = Bench(diskless=False)
    session = bench.full()
    bench.roster.remove(session, 0.0)
    bench.roster.remove(session, 0.0)
    assert bench.roster.no_replicas_since == 0.0
    assert bench.continued().may_stream
