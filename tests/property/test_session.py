"""The master's machine: any cut of a replica's input, any bytes, any order of calls."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.events import OtherChild, SessionState, SnapshotTarget, StartSnapshot, SyncRequested
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.resp.encoder import encode_command
from pyrepl.units import ReplId
from tests.replica_input import ReplicaInput, hear

A = ReplId("a" * 40)
lines = st.sampled_from(
    [
        [b"REPLCONF", b"listening-port", b"6380"],
        [b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"],
        [b"REPLCONF", b"foo", b"bar"],
        [b"REPLCONF", b"ACK", b"10"],
        [b"REPLCONF", b"rdb-only", b"1"],
        [b"REPLCONF", b"rdb-filter-only", b"functions"],
        [b"REPLCONF", b"rdb-filter-only", b"'"],
        [b"REPLCONF", b"x"],
        [b"PSYNC", b"?", b"-1"],
        [b"PSYNC", b"?", b"x"],
        [b"PING"],
    ]
)


def outcome(chunks: list[bytes]) -> tuple[object, ...]:
    session = Session(1, "192.0.2.1", SessionOptions(), 0.0)
    connection = ReplicaInput(session)
    for chunk in chunks:
        connection.receive(chunk, 1.0)
    out = b"".join(session.data_to_send())
    return (
        out,
        session.events(),
        session.address,
        session.told.capabilities,
        session.told.rdb_only,
        session.told.excluded,
        session.state,
    )


@given(said=st.lists(lines, max_size=10), tail=st.binary(max_size=30), cuts=st.lists(st.integers(0, 400), max_size=8))
@settings(max_examples=100, deadline=None)
def test_any_cut_of_the_input_gives_the_same(said: list[list[bytes]], tail: bytes, cuts: list[int]) -> None:
    data = b"".join(encode_command(argv) for argv in said) + tail
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    assert outcome(pieces) == outcome([data])


class Master(RuleBasedStateMachine):
    """A roster with a few replicas and one snapshot at a time; every call that the contract allows, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.history, self.backlog, self.feed = History(A), Backlog(300), Feed()
        self.names = 0
        options = RosterOptions(diskless_delay_s=2.0, backlog_ttl_s=50, session=SessionOptions(20.0, 2000, 500, 5.0))
        self.roster = Roster(self.history, self.backlog, self.feed, options, self.new_replid, 0.0)
        self.sessions: list[Session] = []
        self.ordered = False
        self.acked: dict[Session, int] = {}

    def new_replid(self) -> ReplId:
        self.names += 1
        return ReplId(f"{self.names:040x}")

    def look(self) -> None:
        for session in self.sessions:
            for event in session.events():
                if isinstance(event, SyncRequested):
                    self.roster.request_sync(session, event.request, self.now)
            session.data_to_send()
        for order in self.roster.events():
            if isinstance(order, StartSnapshot):
                assert not self.ordered and self.roster.running is None, "one snapshot at a time"
                assert order.session_ids
                self.ordered = True
        for session in self.sessions:
            if session.state is SessionState.CLOSED:
                self.roster.remove(session, self.now)
        self.sessions = [session for session in self.sessions if session.state is not SessionState.CLOSED]

    def some(self, index: int) -> Session | None:
        return self.sessions[index % len(self.sessions)] if self.sessions else None

    @rule(eof=st.booleans(), diskless=st.booleans(), wanted=st.sampled_from([None, None, b"functions", b""]))
    def connect(self, eof: bool, diskless: bool, wanted: bytes | None) -> None:
        self.roster.options.diskless = diskless
        session = self.roster.open_session(len(self.acked) + 1, "192.0.2.1", self.now)
        self.acked[session] = 0
        session.receive_command([b"REPLCONF", b"capa", b"eof" if eof else b"psync2"], self.now)
        if wanted is not None:
            session.receive_command([b"REPLCONF", b"rdb-filter-only", wanted], self.now)
        self.sessions.append(session)

    @rule(index=st.integers(0, 9), back=st.integers(-20, 400), ask=st.sampled_from(["all", "ours", "sync"]))
    def ask(self, index: int, back: int, ask: str) -> None:
        session = self.some(index)
        if session is not None:
            held = self.backlog.end - back
            psync = [b"PSYNC", self.history.replid.encode(), b"%d" % (held + 1)]
            words = {"all": [b"PSYNC", b"?", b"-1"], "ours": psync, "sync": [b"SYNC"]}[ask]
            session.receive_command(words, self.now)
        self.look()

    @rule()
    def start_snapshot(self) -> None:
        if self.ordered:
            self.ordered = False
            served = self.roster.snapshot_started(self.now)
            assert (self.roster.running is not None) == bool(served)
            assert len({session.told.excluded for session in served}) <= 1, (
                "what one snapshot leaves out, all want left out"
            )
            to_disk = self.roster.running is SnapshotTarget.DISK
            assert not (to_disk and any(session.told.excluded for session in served)), "dump.rdb is whole"
        self.look()

    @rule(ok=st.booleans())
    def end_snapshot(self, ok: bool) -> None:
        if self.roster.running is not None or self.ordered:
            ok = ok and not self.ordered
            self.ordered = False
            self.roster.snapshot_ended(ok, self.now, size_bytes=10)
        self.look()

    @rule()
    def send_files(self) -> None:
        for session in self.sessions:
            if session.state is SessionState.SEND_BULK:
                session.file_sent(self.now)
        self.look()

    @rule(index=st.integers(0, 9))
    def ack(self, index: int) -> None:
        session = self.some(index)
        if session is not None:
            hear(session, encode_command([b"REPLCONF", b"ACK", b"%d" % self.backlog.end]), self.now)
        self.look()

    @rule(size=st.integers(1, 400))
    def write(self, size: int) -> None:
        if self.backlog.active:
            self.backlog.append(b"x" * size)
            self.roster.check_output_buffers(self.now)
        self.look()

    @rule()
    def feed_replicas(self) -> None:
        for session in self.sessions:
            if session.may_stream and session.cursor is not None:
                session.cursor.advance(sum(map(len, self.backlog.read(session.cursor.at, 200))))

    @rule(index=st.integers(0, 9))
    def hang_up(self, index: int) -> None:
        session = self.some(index)
        if session is not None:
            self.roster.remove(session, self.now)
        self.look()

    @rule(data=st.binary(max_size=20), index=st.integers(0, 9))
    def say_anything(self, data: bytes, index: int) -> None:
        session = self.some(index)
        if session is not None:
            hear(session, data, self.now)
            self.roster.check_output_buffers(self.now)
        self.look()

    @rule(child=st.sampled_from([None, *OtherChild]))
    def other_child(self, child: OtherChild | None) -> None:
        if self.roster.running is None and not self.ordered:
            self.roster.set_other_child(child, self.now)
        self.look()

    @rule(seconds=st.sampled_from([0.1, 1.0, 6.0, 30.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.roster.tick(self.now)
        self.look()
        deadline = self.roster.next_deadline()
        assert deadline is None or deadline > self.now

    @invariant()
    def listed_replicas_are_alive_and_pinned(self) -> None:
        for session in self.roster.sessions.values():
            assert session.is_replica
            begun = session.state not in (SessionState.WAIT_SNAPSHOT_START,)
            assert (session.cursor is not None) == begun
            if session.cursor is not None:
                assert self.backlog.start <= session.cursor.at <= self.backlog.end
            assert session.ack_cut >= self.acked[session]
            self.acked[session] = session.ack_cut
        assert (self.roster.no_replicas_since is None) == bool(self.roster.sessions)

    @invariant()
    def memory_is_bounded(self) -> None:
        assert self.backlog.held_bytes <= 2000 + 400

    @invariant()
    def counters_agree(self) -> None:
        counters = self.roster.counters
        assert counters.full == sum(counters.full_by_cause.values())


Master.TestCase.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)
TestMaster = Master.TestCase
