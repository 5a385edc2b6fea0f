"""Steps and what is collected; the whole run is tests/unit/cli/metrics/test_run.py's."""

from __future__ import annotations

import polars as pl
import pytest

from pyrepl.metrics.run import Steps, _collected


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


@pytest.mark.parametrize(
    ("most", "column", "expected", "whole"),
    [
        (3, "at_us", [2, 1, 3], True),
        (2, "at_us", [2, 3], False),
        (2, "count", [2, 1], False),
    ],
)
def test_the_newest_of_too_many(most: int, column: str, expected: list[int], whole: bool) -> None:
    rows, is_whole = _collected(pl.LazyFrame({column: [2, 1, 3]}), most)
    assert [row[column] for row in rows] == expected and is_whole is whole
