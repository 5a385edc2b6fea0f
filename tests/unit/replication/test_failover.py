"""Handing over the role of master: who is chosen, when, and what ends it."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.events import SessionState
from pyrepl.replication.failover import (
    ABORTED,
    ALREADY,
    FORCE_INTO_NOTHING,
    NO_REPLICAS,
    NONE_IN_PROGRESS,
    NOT_A_REPLICA,
    NOT_ONLINE,
    Failover,
    FailoverState,
    GaveUp,
    HandOver,
)
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.session import Session
from pyrepl.units import Offset, ReplId

FIRST = ("10.0.0.1", 7001)
SECOND = ("10.0.0.2", 7002)


class Stage:
    """A master whose stream ends at 100, with replicas as far as the test says."""

    def __init__(self) -> None:
        self.backlog = Backlog(1000)
        self.backlog.create()
        self.backlog.append(b"x" * 100)
        history, feed = History(ReplId("a" * 40)), Feed()
        self.roster = Roster(history, self.backlog, feed, RosterOptions(), lambda: ReplId("b" * 40), 0.0)
        self.failover = Failover(self.roster, self.backlog)

    def replica(self, address: tuple[str, int], acked: int, state: SessionState = SessionState.ONLINE) -> Session:
        session = self.roster.open_session(address[1], address[0], 0.0)
        session.told.listening_port, session.state, session.ack_cut = address[1], state, Offset(acked)
        self.roster.sessions[session.id] = session
        return session

    def begin(
        self, target: tuple[str, int] | None = None, *, force: bool = False, timeout_s: float | None = None
    ) -> None:
        self.failover.begin(target, force=force, timeout_s=timeout_s, now=0.0)

    def catch_up(self, session: Session) -> None:
        session.ack_cut = Offset(self.backlog.end)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_begins_with_one_question_for_acks(stage: Stage) -> None:
    stage.replica(FIRST, 100)
    stage.begin()
    end = stage.backlog.end
    assert end > 100
    stage.failover.tick(1.0)
    assert stage.failover.state is FailoverState.WAITING and stage.failover.events() == []
    assert stage.backlog.end == end


def test_whoever_has_everything_takes_over(stage: Stage) -> None:
    stage.replica(FIRST, 90)
    second = stage.replica(SECOND, 90)
    stage.begin()
    stage.catch_up(second)
    stage.failover.tick(0.1)
    assert stage.failover.events() == [HandOver(*SECOND, forced=False)]
    assert stage.failover.state is FailoverState.IN_PROGRESS
    stage.failover.ended("")
    assert stage.failover.state.value == "no-failover" and stage.failover.events() == []


def test_only_the_named_one(stage: Stage) -> None:
    first, second = stage.replica(FIRST, 90), stage.replica(SECOND, 90)
    stage.begin(FIRST)
    stage.catch_up(second)
    stage.failover.tick(0.1)
    assert stage.failover.events() == []
    stage.catch_up(first)
    stage.failover.tick(0.2)
    assert stage.failover.events() == [HandOver(*FIRST, forced=False)]


def test_nobody_in_time(stage: Stage) -> None:
    stage.replica(FIRST, 90)
    stage.begin(timeout_s=5)
    stage.failover.tick(4.9)
    assert stage.failover.events() == []
    stage.failover.tick(5.0)
    (event,) = stage.failover.events()
    assert isinstance(event, GaveUp) and not event.was_handing_over and "time is over" in event.text
    assert stage.failover.state is FailoverState.NONE


def test_forced_in_time(stage: Stage) -> None:
    stage.replica(FIRST, 90)
    stage.begin(FIRST, force=True, timeout_s=5)
    stage.failover.tick(5.0)
    assert stage.failover.events() == [HandOver(*FIRST, forced=True)]


def test_the_target_goes_away(stage: Stage) -> None:
    first = stage.replica(FIRST, 90)
    stage.replica(SECOND, 90)
    stage.begin(FIRST)
    del stage.roster.sessions[first.id]
    stage.failover.tick(0.1)
    assert stage.failover.events() == [GaveUp("the target replica is gone", was_handing_over=False)]


def test_the_target_refuses(stage: Stage) -> None:
    stage.catch_up(stage.replica(FIRST, 0))
    stage.begin()
    for session in stage.roster.sessions.values():
        stage.catch_up(session)
    stage.failover.tick(0.1)
    stage.failover.events()
    stage.failover.ended("it said no")
    assert stage.failover.events() == [GaveUp("it said no", was_handing_over=True)]
    stage.failover.ended("again")
    assert stage.failover.events() == []


@pytest.mark.parametrize("handing_over", [False, True])
def test_aborted(stage: Stage, handing_over: bool) -> None:
    session = stage.replica(FIRST, 90)
    stage.begin()
    if handing_over:
        stage.catch_up(session)
        stage.failover.tick(0.1)
        stage.failover.events()
    stage.failover.abort()
    (event,) = stage.failover.events()
    assert isinstance(event, GaveUp) and event.was_handing_over is handing_over
    assert event.text.startswith(ABORTED) and ("10.0.0.1:7001, that is a master too" in event.text) is handing_over


def test_refusals(stage: Stage) -> None:
    with pytest.raises(CommandError, match=NONE_IN_PROGRESS):
        stage.failover.abort()
    with pytest.raises(CommandError, match=NO_REPLICAS):
        stage.begin()
    stage.replica(FIRST, 90)
    stage.replica(SECOND, 90, SessionState.WAIT_SNAPSHOT_END)
    with pytest.raises(CommandError, match=NOT_A_REPLICA):
        stage.begin(("10.0.0.9", 1))
    with pytest.raises(CommandError, match=NOT_ONLINE):
        stage.begin(SECOND)
    with pytest.raises(CommandError, match=FORCE_INTO_NOTHING):
        stage.begin(FIRST, force=True)
    stage.begin(FIRST)
    with pytest.raises(CommandError, match=ALREADY):
        stage.begin(FIRST)


def test_when_nobody_is_left_it_is_over(stage: Stage) -> None:
    session = stage.replica(FIRST, 50)
    stage.begin()
    stage.failover.tick(1.0)
    assert stage.failover.events() == []
    stage.roster.remove(session, 1.0)
    stage.failover.tick(1.0)
    assert stage.failover.events() == [GaveUp("no replica is left", False)]
    assert stage.failover.state is FailoverState.NONE


def test_who_has_told_no_port_is_no_target_by_itself(stage: Stage) -> None:
    """A tool that follows the stream and acknowledges: nobody could connect to it."""
    session = stage.replica(FIRST, 0)
    session.told.listening_port = 0
    stage.begin()
    stage.catch_up(session)
    stage.failover.tick(1.0)
    assert stage.failover.state is FailoverState.WAITING
