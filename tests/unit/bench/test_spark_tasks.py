"""What Spark's event log says of tasks: the share of the largest, of all and of each stage."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

from bench.spark_tasks import Share, shares


def ended(stage: int, ms: int | None) -> str:
    """A line of the log; a task that was lost has no metrics."""
    metrics = {} if ms is None else {"Task Metrics": {"Executor Run Time": ms, "JVM GC Time": 1}}
    return json.dumps({"Event": "SparkListenerTaskEnd", "Stage ID": stage, **metrics})


LINES = [
    json.dumps({"Event": "SparkListenerApplicationStart", "App Name": "pyrepl metrics"}),
    ended(2, 30),
    json.dumps({"Event": "SparkListenerTaskStart", "Stage ID": 2}),
    ended(0, 100),
    ended(0, 300),
    ended(0, None),
    ended(2, 70),
]


def test_of_all_tasks_and_of_each_stage() -> None:
    whole, stages = shares(LINES)
    assert whole == Share(4, 500, 300) and whole.share == 0.6
    assert stages == {0: Share(2, 400, 300), 2: Share(2, 100, 70)} and list(stages) == [0, 2]


def test_where_nothing_ran() -> None:
    whole, stages = shares(LINES[:1])
    assert (whole, whole.share, stages) == (Share(0, 0, 0), 0.0, {})


@pytest.mark.parametrize("is_rolled", [False, True])
def test_a_log_is_a_file_or_a_folder(
    tmp_path: Path, is_rolled: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    if is_rolled:
        log.mkdir()
        for number, lines in enumerate((LINES[:4], LINES[4:]), 1):
            (log / f"events_{number}_app").write_text("\n".join(lines) + "\n")
        (log / "appstatus_app").touch()
    else:
        log.write_text("\n".join(LINES) + "\n")
    monkeypatch.setattr(sys, "argv", ["spark_tasks", str(log)])
    monkeypatch.delitem(sys.modules, "bench.spark_tasks")
    runpy.run_module("bench.spark_tasks", run_name="__main__")
    first, *stages = capsys.readouterr().out.splitlines()
    assert first == "4 tasks, 0.5 s; the largest has 60.0 % of it"
    assert stages == ["stage 0: 2 tasks, 0.4 s, the largest 75.0 %", "stage 2: 2 tasks, 0.1 s, the largest 70.0 %"]
