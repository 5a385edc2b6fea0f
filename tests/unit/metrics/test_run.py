"""Steps and what is collected; the whole run is tests/unit/cli/test_metrics.py's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


class Line:
    """A row as Spark gives it."""

    def __init__(self, at_us: int) -> None:
        self.at_us = at_us

    def asDict(self) -> dict[str, Any]:
        return {"at_us": self.at_us}


class Frame:
    """As much of a DataFrame as is asked."""

    def __init__(self, rows: Sequence[Line], columns: Sequence[str] = ("at_us",)) -> None:
        self.rows, self.columns = list(rows), list(columns)

    def limit(self, most: int) -> Frame:
        return Frame(self.rows[:most], self.columns)

    def orderBy(self, order: object) -> Frame:
        return Frame(sorted(self.rows, key=lambda row: -row.at_us), self.columns)

    def __getitem__(self, name: str) -> Any:
        return type("Column", (), {"desc": lambda self: name})()

    def collect(self) -> list[Line]:
        return self.rows


@pytest.mark.parametrize(
    ("most", "columns", "expected", "whole"),
    [
        (3, ["at_us"], [2, 1, 3], True),
        (2, ["at_us"], [2, 3], False),
        (2, ["node"], [2, 1], False),
    ],
)
def test_the_newest_of_too_many(most: int, columns: list[str], expected: list[int], whole: bool) -> None:
    frame: Any = Frame([Line(2), Line(1), Line(3)], columns)
    rows, is_whole = _collected(frame, most)
    assert [row["at_us"] for row in rows] == expected and is_whole is whole
