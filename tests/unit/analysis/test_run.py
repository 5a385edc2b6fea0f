"""One analysis around Spark, which is not started here; with it, see tests/unit/cli/metrics/test_run.py."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyrepl.analysis import run as analysis
from pyrepl.analysis.asked import Asked
from pyrepl.analysis.progress import Tasks
from pyrepl.errors import ConfigError
from pyrepl.metrics.part import read_split
from pyrepl.metrics.ranges import Split, Told
from tests.unit.metrics.inline import Inline, told

LOG = Path(__file__).resolve().parents[2] / "data" / "logs" / "events" / "pyrepl-output-buffer" / "master.jsonl"


class Steps:
    """A Progress that remembers."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def step(self, name: str) -> None:
        self.steps.append(name)

    def ask(self, tasks: Callable[[], Tasks] | None) -> None:
        pass


def read_here(_: object) -> Callable[[Sequence[Split], Path, str], list[Told]]:
    return lambda splits, tables, zone: [read_split(split, str(tables), zone) for split in splits]


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    spark: Any = Inline()
    monkeypatch.setattr(analysis, "spark_for", lambda *_: contextlib.nullcontext(spark))
    monkeypatch.setattr(analysis, "by_spark", read_here)


@pytest.mark.usefixtures("without_spark")
def test_it_reads_then_answers(tmp_path: Path) -> None:
    progress = Steps()
    report, charts = analysis.run(Asked((str(LOG),)), tmp_path, progress, draws=False)
    assert charts is None and progress.steps == ["read", "analyse", "collect"]
    assert list(report.rows("syncs")) == told(tmp_path)["syncs"] != []


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("keeps", [True, False])
def test_statements_are_asked_of_results_that_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeps: bool
) -> None:
    asked_of: list[tuple[Path, set[str], tuple[str, ...]]] = []

    def ask(_spark: object, results: Path, statements: tuple[str, ...], _tell: object) -> None:
        asked_of.append((results, {path.name for path in results.iterdir()}, statements))

    monkeypatch.setattr(analysis, "ask", ask)
    monkeypatch.setattr(analysis, "library_of_charts", lambda _: "")
    out = tmp_path / "kept" if keeps else None
    asked, progress = Asked((str(LOG),), out, sql=("SELECT", "DESCRIBE")), Steps()
    analysis.run(asked, (out or tmp_path / "rough") / "tables", progress, draws=False, tell=lambda _: None)
    ((results, tables, statements),) = asked_of
    assert results == tmp_path / ("kept" if keeps else "rough") / "results"
    assert statements == asked.sql and "syncs" in tables and progress.steps[-1] == "query"


@pytest.mark.usefixtures("without_spark")
def test_tables_of_delta_lake_are_written_where_nothing_is_new_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "library_of_charts", lambda _: "")
    for delta in (False, True):
        asked, progress = Asked((str(LOG),), tmp_path, delta=delta), Steps()
        analysis.run(asked, tmp_path / "tables", progress, draws=False)
        assert (tmp_path / "delta" / "syncs").exists() == delta == (progress.steps[-1] == "write delta")


@pytest.mark.usefixtures("without_spark")
def test_results_of_an_earlier_run_are_asked_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_of: list[Path] = []
    monkeypatch.setattr(analysis, "ask", lambda _spark, results, _statements, _tell: asked_of.append(results))
    progress = Steps()
    analysis.query(Asked((), tmp_path, sql=("SELECT",)), progress, lambda _: None)
    assert asked_of == [tmp_path / "results"] and progress.steps == ["query"]


@pytest.mark.usefixtures("without_spark")
def test_logs_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        analysis.run(Asked((str(tmp_path / "none"),)), tmp_path, Steps(), draws=False)


@pytest.mark.usefixtures("without_spark")
def test_nothing_new_starts_no_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "library_of_charts", lambda _: "")
    asked = Asked((str(tmp_path / "a.jsonl"),), tmp_path / "out")
    (tmp_path / "a.jsonl").write_bytes(LOG.read_bytes())

    def ran() -> tuple[list[str], int]:
        progress = Steps()
        report, _ = analysis.run(asked, tmp_path / "out" / "tables", progress, draws=False)
        return progress.steps, report.totals["syncs"]  # type: ignore[return-value]

    assert ran() == (["read", "analyse", "collect", "write"], 2)
    (tmp_path / "out" / "metrics.json").unlink()
    assert ran() == (["look for news", "collect", "write"], 2) and (tmp_path / "out" / "metrics.json").exists()
    with (tmp_path / "a.jsonl").open("a") as log:
        log.write("no line of ours\n")
    assert ran() == (["look for news", "read", "analyse", "collect", "write"], 2)
