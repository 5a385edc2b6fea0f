"""How long to wait after which failure."""

from __future__ import annotations

import pytest

from pyrepl.replication.backoff import COSTLY, NETWORK, PACES, STEADY_S, Backoff
from pyrepl.replication.psync import Cause


def backoff(jitter: float = 0.5) -> Backoff:
    return Backoff(lambda: jitter)


def test_a_flowing_link_is_retried_at_once() -> None:
    subject = backoff()
    assert subject.next_wait_s(Cause.CONNECTION_LOST, up_for_s=100.0) == 0.0
    assert subject.next_wait_s(Cause.CONNECT_FAILED, up_for_s=None) == 1.0
    assert subject.next_wait_s(Cause.CONNECTION_LOST, up_for_s=STEADY_S) == 0.0


def test_a_link_that_flaps_slows_down() -> None:
    subject = backoff()
    waits = [subject.next_wait_s(Cause.CONNECTION_LOST, up_for_s=0.1) for _ in range(4)]
    assert waits == [0.0, 0.1, 0.2, 0.4]


def test_waits_grow_to_a_limit() -> None:
    subject = backoff()
    waits = [subject.next_wait_s(Cause.CONNECT_FAILED, None) for _ in range(2000)]
    assert waits[:3] == [0.5, 1.0, 2.0]
    assert waits[-1] == NETWORK.most_s


@pytest.mark.parametrize("cause", [cause for cause, pace in PACES.items() if pace is COSTLY])
def test_costly_failures_never_loop_tightly(cause: Cause) -> None:
    subject = backoff(jitter=0.0)
    waits = [subject.next_wait_s(cause, up_for_s=0.0) for _ in range(10)]
    assert min(waits) >= 1.5
    assert waits[-1] >= 60


def test_a_costly_failure_is_not_forgotten_between_connects() -> None:
    subject = backoff()
    subject.next_wait_s(Cause.LOAD_FAILED, None)
    subject.next_wait_s(Cause.CONNECT_FAILED, None)
    assert subject.next_wait_s(Cause.LOAD_FAILED, None) == 4.0


def test_jitter_spreads_by_a_quarter() -> None:
    assert backoff(0.0).next_wait_s(Cause.LOAD_FAILED, None) == 1.5
    assert backoff(0.999).next_wait_s(Cause.LOAD_FAILED, None) == pytest.approx(2.5, abs=0.01)


def test_reset() -> None:
    subject = backoff()
    for _ in range(5):
        subject.next_wait_s(Cause.LOAD_FAILED, None)
    subject.reset()
    assert subject.next_wait_s(Cause.LOAD_FAILED, None) == 2.0
