"""The result tables asked in SQL: answers as plain values, and errors in our words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.analysis import queries
from pyrepl.analysis.failures import CannotRun
from pyrepl.metrics.parquet import comment
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.results import SYNCS
from tests.unit.metrics import asked_in_sql
from tests.unit.metrics.conftest import Row, seen, told_by_spark  # noqa: F401
from tests.unit.metrics.report.sample import report


@pytest.fixture
def told(seen: dict[str, list[Row]]) -> dict[str, Row]:  # noqa: F811
    """What was told of each statement."""
    return {row["statement"]: row for row in seen["asked"]}


def test_answers(told: dict[str, Row]) -> None:
    by_mode, values, joined, described, shown = (told[statement] for statement in asked_in_sql.GOOD)
    syncs = report().rows("syncs")
    assert by_mode["columns"] == ["mode", "n", "first"]
    assert sum(n for _, n, _ in by_mode["rows"]) == len(syncs)
    assert all(first.startswith("2026-11-21T") and first.endswith("Z") for *_, first in by_mode["rows"])
    assert values["columns"] == ["ok", "ok", "half", "several", "one", "d", "nothing"]
    ((*_, half, several, one, day, nothing),) = values["rows"]
    assert (half, list(one), day, nothing) == (1.5, ["m"], "2026-11-21", None)
    assert several[0].startswith("2026-11-21T")
    assert joined["rows"] == [[len(syncs)]]
    assert {name: said for name, _, said in described["rows"]} == {one.name: comment(one) for one in SYNCS.columns}
    assert {table.name for table in TABLES} <= {name for _, name, _ in shown["rows"]}


@pytest.mark.parametrize("statement", asked_in_sql.WRONG)
def test_errors_are_told_in_one_line(told: dict[str, Row], statement: str) -> None:
    error = told[statement]["error"]
    begin, _, why = error.partition(": ")
    assert begin == f"--sql '{' '.join(statement.split())}'"
    assert why.startswith(asked_in_sql.WRONG[statement])
    assert "\n" not in error and "SQLSTATE" not in error


def test_a_syntax_error_is_told_with_its_place(told: dict[str, Row]) -> None:
    assert told["SELECT mode\nFRM syncs x"]["error"].endswith("(line 2, column 5)")


def test_what_the_documentation_asks_is_answered(told: dict[str, Row]) -> None:
    statements = asked_in_sql.documented()
    assert len(statements) > 3
    assert [told[statement].get("error") for statement in statements] == [None] * len(statements)


class _Error:
    """As much of Spark's error as is asked."""

    def __init__(self, condition: str, text: str, **parameters: str) -> None:
        self._condition, self._text, self._parameters = condition, text, parameters

    def getCondition(self) -> str:
        return self._condition

    def getMessageParameters(self) -> dict[str, str]:
        return self._parameters

    def __str__(self) -> str:
        return self._text


def test_a_column_of_no_table_that_there_is() -> None:
    error: Any = _Error("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "", objectName="`a`.`b`")
    assert queries.why(error, "SELECT a.b", {"syncs": ("x",)}) == "no column a.b"


def test_results_that_cannot_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody: Any = None
    with pytest.raises(CannotRun, match="results is not there: name the logs as well"):
        queries.register(nobody, tmp_path / "results", ())
    monkeypatch.setattr("pyrepl.metrics.parquet.version_of", lambda _: 1)
    with pytest.raises(CannotRun, match=r"is of another version of pyrepl \(schema 1\)"):
        queries.register(nobody, tmp_path / "results", ())
