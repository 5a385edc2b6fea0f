"""A master whose replicas sync on one connection or on two, in either dialect: every call that the contract allows."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.dialects import DIALECTS
from pyrepl.replication.events import (
    CloseSession,
    SessionState,
    SnapshotTarget,
    StartSnapshot,
    StopSnapshot,
    SyncRequested,
)
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.replication.psync import Cause, Reason
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.resp.encoder import encode_command
from pyrepl.units import ReplId
from tests.replica_input import hear

HARD_LIMIT = 2000
BATCH = 400
TELLING = (SessionState.WAIT_SNAPSHOT_START, SessionState.WAIT_SNAPSHOT_END)


class Master(RuleBasedStateMachine):
    """A roster, its sessions by id, and one child at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.history, self.backlog, self.feed = History(ReplId("a" * 40)), Backlog(300), Feed()
        self.names = 0
        self.ids = 0
        options = RosterOptions(
            diskless_delay_s=0.0,
            backlog_ttl_s=50,
            dialects=frozenset(DIALECTS),
            session=SessionOptions(20.0, HARD_LIMIT, 500, 5.0, rdb_channel_grace_s=15.0),
        )
        self.roster = Roster(self.history, self.backlog, self.feed, options, self.new_replid, 0.0)
        self.sessions: dict[int, Session] = {}
        self.ordered: StartSnapshot | None = None
        self.served: list[Session] = []
        self.stop_wanted = False
        self.acked: dict[int, int] = {}

    def new_replid(self) -> ReplId:
        self.names += 1
        return ReplId(f"{self.names:040x}")

    def look(self) -> None:
        """As a shell does."""
        for session in list(self.sessions.values()):
            closing = False
            for event in session.events():
                if isinstance(event, SyncRequested):
                    self.roster.request_sync(session, event.request, self.now)
                closing = closing or isinstance(event, CloseSession)
            session.data_to_send()
            if closing:
                del self.sessions[session.id]
                self.roster.remove(session, self.now)
        for order in self.roster.events():
            if isinstance(order, StartSnapshot):
                assert self.ordered is None and self.roster.running is None and order.session_ids
                self.ordered = order
            elif isinstance(order, StopSnapshot):
                assert self.roster.running is not None
                self.stop_wanted = True
        if any(session.state is SessionState.CLOSED for session in self.sessions.values()):
            self.look()

    def some(self, index: int) -> Session | None:
        return list(self.sessions.values())[index % len(self.sessions)] if self.sessions else None

    def open(self, *words: bytes) -> Session:
        self.ids += 1
        session = self.roster.open_session(self.ids, "192.0.2.1", self.now)
        self.sessions[session.id] = session
        self.say(session, b"REPLCONF", b"listening-port", b"7001", *words)
        return session

    def say(self, session: Session, *words: bytes) -> None:
        hear(session, encode_command(list(words)), self.now)
        self.look()

    @rule(capa=st.sampled_from([b"eof", b"rdb-channel-repl", b"dual-channel", b"psync2"]))
    def replica(self, capa: bytes) -> None:
        session = self.open(b"capa", b"psync2", b"capa", capa)
        self.say(session, b"PSYNC", b"?", b"-1")

    @rule(index=st.integers(0, 9), asks=st.booleans())
    def rdb_channel_for_a_main_one(self, index: int, asks: bool) -> None:
        mains = [session.id for session in self.sessions.values() if session.state is SessionState.WAIT_RDB_CHANNEL]
        main_id = mains[index % len(mains)] if mains else index
        words = b"capa eof rdb-only 1 rdb-channel 1 main-ch-client-id %d" % main_id
        session = self.open(*words.split())
        if asks:
            self.say(session, b"PSYNC", b"?", b"-1")

    @rule()
    def rdb_channel_alone(self) -> None:
        session = self.open(*b"capa eof rdb-only 1 rdb-channel 1".split())
        self.say(session, b"SYNC")

    @rule(redis=st.booleans(), steps=st.integers(1, 5))
    def pair(self, redis: bool, steps: int) -> None:
        """The straight way of a pair, so many steps of it."""
        main = self.open(b"capa", b"psync2", b"capa", b"rdb-channel-repl" if redis else b"dual-channel")
        self.say(main, b"PSYNC", b"?", b"-1")
        rdb = self.open(*b"capa eof rdb-only 1 rdb-channel 1".split())
        if redis:
            self.say(rdb, b"REPLCONF", b"main-ch-client-id", b"%d" % main.id)
        self.say(rdb, *((b"PSYNC", b"?", b"-1") if redis else (b"SYNC",)))
        if steps > 1:
            self.start_snapshot()
        if steps > 2 and not redis:
            self.say(main, b"REPLCONF", b"set-rdb-client-id", b"%d" % rdb.id)
        if steps > 3 and not redis:
            self.main_asks(main)
        if steps > 4 and main.cursor is not None:
            self.say(main, b"REPLCONF", b"ACK", b"%d" % main.cursor.at)

    @rule(index=st.integers(0, 9), which=st.integers(0, 9), asks=st.booleans())
    def main_names_its_rdb_channel(self, index: int, which: int, asks: bool) -> None:
        fresh = [session for session in self.sessions.values() if session.state is SessionState.HANDSHAKE]
        waits = list(self.roster.pairs.waits)
        if not fresh:
            fresh = [self.open(b"capa", b"psync2", b"capa", b"dual-channel")]
        main = fresh[index % len(fresh)]
        self.say(main, b"REPLCONF", b"set-rdb-client-id", b"%d" % (waits[which % len(waits)] if waits else which))
        if asks:
            self.main_asks(main)

    def main_asks(self, main: Session) -> None:
        wait = main.psync_wait
        held = wait.cursor.at if wait is not None else self.backlog.end
        self.say(main, b"PSYNC", self.history.replid.encode(), b"%d" % (held + 1))

    @rule(index=st.integers(0, 9), flag=st.sampled_from([b"0", b"1"]))
    def says_what_it_is_for(self, index: int, flag: bytes) -> None:
        session = self.some(index)
        if session is not None:
            self.say(session, b"REPLCONF", b"rdb-channel", flag)

    @rule(index=st.integers(0, 9))
    def main_asks_for_the_stream(self, index: int) -> None:
        session = self.some(index)
        if session is not None and session.psync_wait is not None:
            self.main_asks(session)

    @rule()
    def start_snapshot(self) -> None:
        order, self.ordered = self.ordered, None
        if order is None:
            return
        served = self.roster.snapshot_started(self.now)
        assert (self.roster.running is not None) == bool(served)
        for session in served:
            assert session.state is SessionState.WAIT_SNAPSHOT_END
            assert session.target is order.target
            if session.is_rdb_channel:
                assert order.target is SnapshotTarget.SOCKETS
                assert session.partner is not None or session.id in self.roster.pairs.waits
        self.served = served
        self.look()

    @rule(ok=st.booleans(), some_fail=st.booleans())
    def end_snapshot(self, ok: bool, some_fail: bool) -> None:
        if self.roster.running is None and self.ordered is None:
            return
        ok = ok and self.ordered is None and not self.stop_wanted
        self.ordered = None
        self.stop_wanted = False
        failed = [session.id for session in self.served[:1]] if some_fail else []
        self.roster.snapshot_ended(ok, self.now, size_bytes=10, failed=failed)
        self.look()

    @rule()
    def send_files(self) -> None:
        for session in self.sessions.values():
            if session.state is SessionState.SEND_BULK:
                session.file_sent(self.now)
        self.look()

    @rule(index=st.integers(0, 9), beyond=st.integers(0, 1))
    def ack(self, index: int, beyond: int) -> None:
        session = self.some(index)
        if session is not None and session.cursor is not None:
            self.say(session, b"REPLCONF", b"ACK", b"%d" % (session.cursor.at + beyond))

    @rule(size=st.integers(1, BATCH))
    def write(self, size: int) -> None:
        if self.backlog.active:
            self.backlog.append(b"x" * size)
            self.roster.check_output_buffers(self.now)
        self.look()

    @rule()
    def feed_replicas(self) -> None:
        for session in self.sessions.values():
            if session.may_stream and session.cursor is not None:
                session.cursor.advance(sum(map(len, self.backlog.read(session.cursor.at, 1000))))

    @rule(index=st.integers(0, 9))
    def hang_up(self, index: int) -> None:
        session = self.some(index)
        if session is not None:
            del self.sessions[session.id]
            self.roster.remove(session, self.now)
            self.roster.remove(session, self.now)
        self.look()

    @rule(really=st.integers(0, 5))
    def another_stream(self, really: int) -> None:
        if not really:
            self.roster.close_all(Reason(Cause.STOPPED, detail="promoted"), "a new name", self.now)
            assert self.backlog.lowest_pin is None and not self.roster.pairs.waits
            self.look()

    @rule(seconds=st.sampled_from([0.1, 1.0, 6.0, 30.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.roster.tick(self.now)
        self.look()
        deadline = self.roster.next_deadline()
        assert deadline is None or deadline > self.now

    @invariant()
    def listed_ones_are_alive(self) -> None:
        roster = self.roster
        listed = {**roster.sessions, **roster.rdb_channels}
        for session in listed.values():
            assert session.is_replica and self.sessions[session.id] is session
            assert session.is_rdb_channel == (session.id in roster.rdb_channels)
            waits = session.state in (SessionState.WAIT_SNAPSHOT_START, SessionState.WAIT_RDB_CHANNEL)
            assert (session.cursor is not None) == (not waits and not session.is_rdb_channel)
        someone = bool(listed or roster.pairs.waits)
        assert (roster.no_replicas_since is None) == someone
        for session in self.sessions.values():
            if session.is_rdb_channel and session.state in TELLING:
                assert session.id in roster.rdb_channels

    @invariant()
    def pairs_are_mutual(self) -> None:
        for session in self.sessions.values():
            partner = session.partner
            if partner is not None:
                assert partner.partner is session and partner.is_rdb_channel != session.is_rdb_channel
                assert partner.state is not SessionState.CLOSED
            if session.psync_wait is not None:
                assert session.psync_wait.main is session
        for wait in self.roster.pairs.waits.values():
            assert wait.rdb is None or self.sessions[wait.rdb.id] is wait.rdb
            assert wait.main is None or wait.main.psync_wait is wait

    @invariant()
    def pins_are_those_of_somebody(self) -> None:
        pins = [session.cursor for session in self.sessions.values() if session.cursor is not None]
        pins += [wait.cursor for wait in self.roster.pairs.waits.values()]
        assert {id(pin) for pin in pins} == {id(pin) for pin in self.backlog._cursors}
        assert len(pins) == len(self.backlog._cursors)

    @invariant()
    def a_main_one_streams_only_with_its_snapshot(self) -> None:
        for session in self.sessions.values():
            if session.state is SessionState.SEND_BULK_AND_STREAM:
                assert session.partner is not None or session.snapshot_is_out or self.roster.running is not None

    @invariant()
    def acks_never_fall_and_never_pass(self) -> None:
        for session in self.sessions.values():
            assert session.ack_cut >= self.acked.get(session.id, 0)
            assert session.cursor is None or session.ack_cut <= session.cursor.at
            self.acked[session.id] = session.ack_cut

    @invariant()
    def memory_is_bounded(self) -> None:
        assert self.backlog.held_bytes <= HARD_LIMIT + BATCH

    @invariant()
    def counters_agree(self) -> None:
        counters = self.roster.counters
        assert counters.full == sum(counters.full_by_cause.values())


Master.TestCase.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
TestMaster = Master.TestCase
