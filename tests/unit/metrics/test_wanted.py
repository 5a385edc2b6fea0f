"""Steps, and where answers to what is wanted stand."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics.wanted import Steps, Wanted


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


def test_answers_of_a_time_stand_apart() -> None:
    tables = Path("tables")
    assert (
        Wanted((), tables).answers != Wanted((), tables, since_us=1).answers == Wanted((), tables, until_us=1).answers
    )
