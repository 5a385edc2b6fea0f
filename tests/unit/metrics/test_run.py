"""Steps; the whole run is tests/unit/cli/metrics/test_run.py's."""

from __future__ import annotations

from pyrepl.metrics.run import Steps


def test_steps_are_told_as_they_begin_and_timed() -> None:
    clock = iter([1.0, 3.0, 3.0, 10.0, 10.0, 11.5])
    told: list[str] = []
    steps = Steps(told.append, lambda: next(clock))
    steps.begin("read")
    steps.begin("analyse")
    assert told == ["read", "analyse"]
    steps.begin("read")
    steps.end()
    steps.end()
    assert steps.seconds == {"read": 3.5, "analyse": 7.0}
