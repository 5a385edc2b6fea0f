"""A run with little new starts no Spark, and tells what it would have told with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pyrepl.analysis.answers import LITTLE_BYTES, here, is_little
from pyrepl.metrics.asking import by_tasks
from pyrepl.metrics.ingest import News, news
from pyrepl.metrics.jobs import analyse
from pyrepl.metrics.keep import FOLDER
from pyrepl.metrics.manifest import NAME, Manifest
from pyrepl.metrics.part import Split
from tests.unit.metrics.inline import Inline, read

LOG = Path(__file__).resolve().parents[2] / "data" / "logs" / "events" / "pyrepl-output-buffer" / "master.jsonl"
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
