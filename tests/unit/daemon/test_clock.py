"""Time: what unit it is in, and that it does not fall."""

from __future__ import annotations

import time

from pyrepl.daemon.clock import Clock


def test_monotonic_times_do_not_fall() -> None:
    clock = Clock()
    assert clock.now() <= clock.now() and clock.precise() <= clock.precise()


def test_unix_time_is_in_ms() -> None:
    before = int(time.time() * 1000)
    assert before - 1 <= Clock().unix_ms() <= int(time.time() * 1000) + 1
