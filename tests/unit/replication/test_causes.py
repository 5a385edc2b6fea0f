"""Why full resyncs were needed: counted, and remembered until the replica comes back."""

from __future__ import annotations

import pytest

from pyrepl.replication.causes import MAX_REMEMBERED, FailureMemory, SyncCounters
from pyrepl.replication.psync import Cause, Reason
from pyrepl.replication.session import Session, SessionOptions

FIRST = Reason(Cause.FIRST)


def ended(reason: Reason | None, port: int = 7001) -> Session:
    session = Session(1, "192.0.2.1", SessionOptions(), 0.0)
    session.told.listening_port = port
    session.end_reason = reason
    return session


def test_counting() -> None:
    counters = SyncCounters()
    counters.count_full(Cause.TIMEOUT, with_id=False)
    counters.count_full(Cause.OUT_OF_BACKLOG, with_id=True)
    assert (counters.full, counters.partial_err) == (2, 1)
    assert counters.full_by_cause[Cause.TIMEOUT] == 1 and sum(counters.full_by_cause.values()) == 2
    counters.reset()
    assert counters.full == 0 and sum(counters.full_by_cause.values()) == 0


def test_what_ended_a_sync_is_recalled_once() -> None:
    memory = FailureMemory()
    memory.remember(ended(Reason(Cause.TIMEOUT, detail="wait_bgsave")))
    assert memory.recall(ended(None, port=7002), FIRST) is FIRST
    assert memory.recall(ended(None), FIRST).cause is Cause.TIMEOUT
    assert memory.recall(ended(None), FIRST) is FIRST


@pytest.mark.parametrize(
    "reason",
    [
        None,
        Reason(Cause.STOPPED, detail="promoted"),
        Reason(Cause.CONNECTION_LOST, detail="online"),
        Reason(Cause.CONNECTION_LOST, detail="main_channel"),
    ],
)
def test_what_is_not_worth_it(reason: Reason | None) -> None:
    memory = FailureMemory()
    memory.remember(ended(reason))
    assert len(memory) == 0


def test_healed_is_forgotten() -> None:
    memory = FailureMemory()
    memory.remember(ended(Reason(Cause.OUTPUT_BUFFER)))
    memory.forget(ended(None))
    assert memory.recall(ended(None), FIRST) is FIRST


def test_memory_is_bounded_and_keeps_the_latest() -> None:
    memory = FailureMemory()
    for port in range(1, MAX_REMEMBERED + 50):
        memory.remember(ended(Reason(Cause.TIMEOUT), port))
    assert len(memory) == MAX_REMEMBERED
    assert memory.recall(ended(None, 1), FIRST) is FIRST
    assert memory.recall(ended(None, MAX_REMEMBERED + 49), FIRST).cause is Cause.TIMEOUT
