"""A run with little new starts no Spark, and tells what it would have told with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.metrics import run as metrics
from cli.metrics.answers import LITTLE_BYTES, here, is_little
from cli.metrics.run import show
from cli.metrics.spark import Options
from pyrepl.metrics.asking import by_tasks
from pyrepl.metrics.ingest import News, news
from pyrepl.metrics.jobs import analyse
from pyrepl.metrics.keep import FOLDER
from pyrepl.metrics.manifest import NAME, Manifest
from pyrepl.metrics.part import Split
from tests.unit.metrics.inline import Inline, read

LOG = Path(__file__).resolve().parents[3] / "data" / "logs" / "events" / "pyrepl-output-buffer" / "master.jsonl"
LINES = LOG.read_bytes().splitlines(keepends=True)


def of(sizes: list[int], *, is_first: bool = False) -> News:
    ranges = [Split("/log", "id", 0, size, "n", False) for size in sizes]
    return News(Manifest(), ranges[1:], ranges[:1], is_first)


def test_little_is_what_goes_on_from_a_run_before() -> None:
    assert is_little(of([])) and is_little(of([LITTLE_BYTES - 1, 1]))
    assert not is_little(of([LITTLE_BYTES, 1]))
    assert not is_little(of([1], is_first=True))


def test_the_first_run_of_all_is_known_as_such(tmp_path: Path) -> None:
    logs, tables = grown(tmp_path, 10)
    assert news([logs], tables).is_first
    read(logs, tables)
    assert not news([logs], tables).is_first


def test_what_was_worked_out_of_tables_that_are_gone_is_forgotten(tmp_path: Path) -> None:
    logs, tables = grown(tmp_path, len(LINES))
    read(logs, tables)
    analyse(here(1), tables)
    news([logs], tables)
    assert list((tables / FOLDER).iterdir())
    (tables / NAME).unlink()
    news([logs], tables)
    assert not (tables / FOLDER).exists()


def grown(folder: Path, lines: int) -> tuple[Path, Path]:
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    (logs / "master.jsonl").write_bytes(b"".join(LINES[:lines]))
    return logs, folder / "out" / "tables"


@pytest.mark.parametrize("bounds", [(None, None), (json.loads(LINES[5])["at_us"], None)])
def test_threads_answer_what_tasks_do(tmp_path: Path, bounds: tuple[int | None, int | None]) -> None:
    logs, tables = grown(tmp_path, len(LINES))
    read(logs, tables)
    shutil.copytree(tables, tmp_path / "other")
    spark: Any = Inline()
    asked = [analyse(here(2), tables, *bounds), analyse(by_tasks(spark), tmp_path / "other", *bounds)]
    by_threads, by_spark = ({name: rows.collect().to_dicts() for name, rows in one.items()} for one in asked)
    assert by_threads == by_spark and by_threads["syncs"]


def test_a_second_run_starts_no_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, tables = grown(tmp_path, 20)
    read(logs, tables)
    grown(tmp_path, len(LINES))
    monkeypatch.setattr(metrics, "spark_for", None)
    monkeypatch.setattr(metrics, "why_not", lambda: "")
    assert show(Options((str(logs),), tables.parent, "local[2]", format="json", quiet=True)) == 0
    told = json.loads(capsys.readouterr().out)
    whole = tmp_path / "whole"
    read(logs, whole)
    (totals,) = analyse(here(1), whole)["totals"].collect().to_dicts()
    assert {name: told[name] for name in ("syncs", "full_ok", "full_failed")} == {
        name: totals[name] for name in ("syncs", "full_ok", "full_failed")
    }


def test_damaged_tables_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, tables = grown(tmp_path, len(LINES))
    read(logs, tables)
    for path in (tables / "halves").iterdir():
        path.write_bytes(b"no parquet")
    monkeypatch.setattr(metrics, "why_not", lambda: "")
    assert show(Options((str(logs),), tables.parent, "local[2]", quiet=True)) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"pyrepl metrics: {tables} is damaged (")
    assert said.endswith("): remove the folder, and all logs are read anew\n") and said.count("\n") == 1
