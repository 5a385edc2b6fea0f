"""One analysis without Spark: little that is new, damaged tables; with it, see tests/unit/cli/metrics/test_run.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyrepl.analysis import run as analysis
from pyrepl.analysis.answers import here
from pyrepl.analysis.asked import Asked
from pyrepl.analysis.failures import CannotRun
from pyrepl.analysis.progress import Tasks
from pyrepl.metrics.jobs import analyse
from tests.unit.analysis.test_answers import LINES, grown
from tests.unit.metrics.inline import read


def test_a_second_run_starts_no_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs, tables = grown(tmp_path, 20)
    read(logs, tables)
    grown(tmp_path, len(LINES))
    monkeypatch.setattr(analysis, "spark_for", None)
    report, charts = analysis.run(Asked((str(logs),), None, "local[2]"), tables, Quiet(), draws=False)
    assert charts is None
    whole = tmp_path / "whole"
    read(logs, whole)
    (totals,) = analyse(here(1), whole)["totals"].collect().to_dicts()
    (told,) = report.rows("totals")
    assert {name: told[name] for name in ("syncs", "full_ok", "full_failed")} == {
        name: totals[name] for name in ("syncs", "full_ok", "full_failed")
    }


def test_damaged_tables_are_told(tmp_path: Path) -> None:
    logs, tables = grown(tmp_path, len(LINES))
    read(logs, tables)
    for path in (tables / "halves").iterdir():
        path.write_bytes(b"no parquet")
    with pytest.raises(CannotRun) as error:
        analysis.run(Asked((str(logs),), None, "local[2]"), tables, Quiet(), draws=False)
    said = str(error.value)
    assert said.startswith(f"{tables} is damaged (")
    assert said.endswith("): remove the folder, and all logs are read anew") and said.count("\n") == 0


class Quiet:
    """A Progress that nobody looks at."""

    def step(self, name: str) -> None:
        pass

    def read(self, done: int, total: int) -> None:
        pass

    def ask(self, tasks: Callable[[], Tasks] | None) -> None:
        pass
