"""The snapshot that replicas share: its order, whom it serves, its end."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.events import OtherChild, RosterEvent, SnapshotTarget, StartSnapshot, StopSnapshot
from pyrepl.replication.roster import RosterOptions
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.replication.shared_snapshot import SNAPSHOT, SharedSnapshot, SnapshotState, SnapshotTrigger
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)


class Bench:
    """Sessions that wait, and no roster."""

    def __init__(self, **options: object) -> None:
        self.options = RosterOptions(**options)  # type: ignore[arg-type]
        self.sessions: dict[int, Session] = {}
        self.events: list[RosterEvent] = []
        self.snapshot = SharedSnapshot(self.sessions, {}, self.options, self.events)
        self.backlog = Backlog(1000)
        self.backlog.create()

    def waiting(self, session_id: int, at: float = 0.0, *, eof: bool = True) -> Session:
        session = self.sessions[session_id] = Session(session_id, "192.0.2.1", SessionOptions(), at)
        if eof:
            session.told.receive(b"capa", b"eof")
        session.wait_for_snapshot(at)
        return session

    def begin(self) -> list[int]:
        served = self.snapshot.begin(Offset(0))
        for session in served:
            assert self.snapshot.target is not None
            session.snapshot_started(self.snapshot.target, A, self.backlog.attach(Offset(0)), 0.0)
        return [session.id for session in served]


def test_diskless_waits_for_more_to_come() -> None:
    bench = Bench(diskless_delay_s=5.0)
    first = bench.waiting(1)
    assert bench.snapshot.why_wait(first) == "delay" and bench.snapshot.due_at() == 5.0
    bench.snapshot.plan(4.9)
    assert bench.events == []
    bench.waiting(2, 3.0)
    bench.snapshot.plan(5.0)
    assert bench.events == [StartSnapshot(SnapshotTarget.SOCKETS, (1, 2))] and bench.snapshot.due_at() is None
    assert bench.begin() == [1, 2] and bench.snapshot.state is SnapshotState.RUNNING


def test_one_that_needs_a_size_sends_all_to_disk_and_a_late_one_joins() -> None:
    bench = Bench(diskless_delay_s=5.0)
    bench.waiting(1)
    bench.waiting(2, eof=False)
    bench.snapshot.plan(0.0)
    assert bench.begin() == [1, 2] and bench.snapshot.target is SnapshotTarget.DISK
    assert bench.snapshot.why_wait(bench.waiting(3)) == "joined"


def test_another_child_is_waited_for() -> None:
    bench = Bench(diskless=False)
    for child, word in ((OtherChild.BGSAVE, "next_file"), (OtherChild.REWRITE, "other_child")):
        bench.snapshot.other_child = child
        assert bench.snapshot.why_wait(bench.waiting(1)) == word and bench.snapshot.due_at() is None
    bench.snapshot.other_child = None
    assert bench.snapshot.due_at() == 0.0


def test_one_that_waits_for_more_replicas_says_so_beside_a_rewrite() -> None:
    bench = Bench(diskless_delay_s=5.0)
    bench.snapshot.other_child = OtherChild.REWRITE
    assert bench.snapshot.why_wait(bench.waiting(1)) == "delay"
    bench.snapshot.other_child = OtherChild.BGSAVE
    assert bench.snapshot.why_wait(bench.waiting(2)) == "next_file"


def test_nobody_is_left_when_it_begins() -> None:
    bench = Bench(diskless=False)
    bench.waiting(1)
    bench.snapshot.plan(0.0)
    del bench.sessions[1]
    assert bench.begin() == [] and bench.snapshot.state is SnapshotState.NONE and bench.snapshot.cut is None


def test_a_child_that_nobody_wants_is_stopped_once() -> None:
    bench = Bench(diskless=False)
    bench.waiting(1)
    bench.snapshot.plan(0.0)
    bench.begin()
    bench.snapshot.stop_unless(False)
    assert len(bench.events) == 1
    del bench.sessions[1]
    bench.snapshot.stop_unless(True)
    assert len(bench.events) == 1
    bench.snapshot.stop_unless(False)
    bench.snapshot.stop_unless(False)
    assert bench.events[1:] == [StopSnapshot()] and bench.snapshot.state is SnapshotState.UNWANTED
    assert bench.snapshot.end() == (SnapshotTarget.DISK, [])


def test_whom_an_end_concerns() -> None:
    bench = Bench(diskless=False)
    first = bench.waiting(1)
    bench.snapshot.plan(0.0)
    second = bench.waiting(2)
    assert bench.snapshot.end() == (None, [first]), "it could not be forked"
    bench.snapshot.plan(0.0)
    assert bench.begin() == [1, 2]
    assert bench.snapshot.end() == (SnapshotTarget.DISK, [first, second])
    with pytest.raises(PeerError, match="end is not expected in state none"):
        bench.snapshot.end()


def test_room_for_a_few_at_a_time() -> None:
    bench = Bench(diskless=False, max_concurrent_syncs=1)
    bench.waiting(1, 2.0)
    bench.waiting(2, 1.0)
    bench.snapshot.plan(2.0)
    assert bench.begin() == [2]


def test_a_child_cannot_begin_unordered() -> None:
    assert not SNAPSHOT.allows(SnapshotState.NONE, SnapshotTrigger.BEGIN)
