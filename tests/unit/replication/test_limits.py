"""client-output-buffer-limit for bytes that are kept for a replica."""

from __future__ import annotations

from pyrepl.replication.limits import PendingWatch
from pyrepl.replication.psync import Cause
from pyrepl.replication.session import SessionOptions


def watch(hard: int, soft: int, soft_s: float = 10.0) -> PendingWatch:
    return PendingWatch(SessionOptions(hard_limit_bytes=hard, soft_limit_bytes=soft, soft_limit_s=soft_s))


def test_the_hard_limit_is_passed_when_met() -> None:
    excess = watch(100, 0).check(100, 10, 0.0)
    assert excess is not None and excess.reason.cause is Cause.OUTPUT_BUFFER and excess.reason.detail == "hard"
    assert watch(100, 0).check(99, 10, 0.0) is None


def test_a_hard_limit_below_the_backlog_counts_as_its_size() -> None:
    assert watch(100, 0).check(499, 500, 0.0) is None
    excess = watch(100, 0).check(520, 500, 0.0)
    assert excess is not None and excess.reason.by_bytes == 20


def test_the_soft_limit_must_last() -> None:
    soft = watch(0, 50)
    assert soft.deadline is None
    assert soft.check(50, 10, 5.0) is None and soft.deadline is not None
    assert soft.check(60, 10, 15.0) is None
    assert soft.check(40, 10, 15.5) is None and soft.deadline is None
    assert soft.check(50, 10, 16.0) is None
    assert soft.deadline is not None and 26.0 < soft.deadline < 26.1
    excess = soft.check(70, 10, soft.deadline)
    assert excess is not None and (excess.reason.detail, excess.reason.by_bytes) == ("soft", 20)


def test_no_limit_is_never_passed() -> None:
    assert watch(0, 0).check(1 << 50, 10, 1e9) is None
