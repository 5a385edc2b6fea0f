"""What Spark's event log says of tasks: the share of the largest, of all and of each stage."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from bench.spark_tasks import BOOT, INIT, Share, shares


def ended(stage: int, ms: int | None, **times: str) -> bytes:
    """A line of the log; a task that was lost has no metrics."""
    metrics = {} if ms is None else {"Task Metrics": {"Executor Run Time": ms, "JVM GC Time": 1}}
    told = [
        {"ID": 7, "Name": name, "Update": times[key]} for key, name in (("boot", BOOT), ("init", INIT)) if key in times
    ]
    info = {"Accumulables": [{"ID": 1}, {"ID": 2, "Name": "number of output rows", "Update": "5"}, *told]}
    return json.dumps({"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Task Info": info, **metrics}).encode()


LINES = [
    json.dumps({"Event": "SparkListenerApplicationStart", "App Name": "pyrepl metrics"}).encode(),
    ended(2, 30),
    json.dumps({"Event": "SparkListenerTaskStart", "Stage ID": 2}).encode(),
    ended(0, 100),
    ended(0, 300),
    ended(0, None),
    ended(2, 70),
]


def test_of_all_tasks_and_of_each_stage() -> None:
    whole, stages = shares(LINES)
    assert whole == Share(4, 500, 300, 0) and whole.share == 0.6
    assert stages == {0: Share(2, 400, 300, 0), 2: Share(2, 100, 70, 0)} and list(stages) == [0, 2]


def test_where_nothing_ran() -> None:
    whole, stages = shares(LINES[:1])
    assert (whole, whole.share, stages) == (Share(0, 0, 0, 0), 0.0, {})


def test_the_start_of_a_worker_is_no_work() -> None:
    whole, _ = shares([ended(0, 3000, boot="1000", init="1500"), ended(0, 400)])
    assert whole == Share(2, 900, 500, 2500)


def test_of_a_worker_that_is_used_again_the_wait_for_its_task_is_told_as_its_start() -> None:
    assert shares([ended(0, 500, init="1700")])[0] == Share(1, 500, 500, 0)


def test_a_start_is_no_longer_than_its_task() -> None:
    assert shares([ended(0, 500, boot="400", init="200")])[0] == Share(1, 0, 0, 500)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("is_rolled", [False, True])
def test_a_log_is_a_file_or_a_folder(
    tmp_path: Path,
    is_rolled: bool,
    is_packed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = tmp_path / "log"
    if is_rolled:
        log.mkdir()
        for number, lines in enumerate((LINES[:4], LINES[4:]), 1):
            write(log / f"events_{number}_app", lines, is_packed)
        (log / "appstatus_app").touch()
    else:
        write(log, LINES, is_packed)
    monkeypatch.setattr(sys, "argv", ["spark_tasks", str(log)])
    monkeypatch.delitem(sys.modules, "bench.spark_tasks")
    runpy.run_module("bench.spark_tasks", run_name="__main__")
    first, *stages = capsys.readouterr().out.splitlines()
    assert first == "4 tasks, 0.5 s; the largest has 60.0 % of it; Python workers took 0.0 s more to start"
    assert stages == ["stage 0: 2 tasks, 0.4 s, the largest 75.0 %", "stage 2: 2 tasks, 0.1 s, the largest 70.0 %"]


def write(path: Path, lines: list[bytes], is_packed: bool) -> None:
    data = b"\n".join([*lines, b""])
    with pa.output_stream(str(path), compression="zstd" if is_packed else None) as file:
        file.write(data)
