"""The source of the stream, asked as Spark asks it; Spark itself asks it in test_follow.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyrepl.metrics import plans, reading
from pyrepl.metrics.source import LogReader, Logs, options
from pyrepl.metrics.wanted import Wanted
from tests.unit.metrics.test_plans import lines, log


def source(logs: Path, tables: Path, start: str) -> LogReader:
    return Logs(options(Wanted((str(logs),), tables), start, 2)).streamReader(None)


def test_the_offset_moves_with_the_logs_and_once_at_each_start(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    first = source(logs, tables, "a")
    assert first.initialOffset() == {"plan": ""}
    assert [first.latestOffset(), first.latestOffset()] == [{"plan": "a-1"}] * 2, "there are no logs"
    assert first.partitions({"plan": ""}, {"plan": "a-1"}) == []
    log(logs, 0, 50)
    assert first.latestOffset({"plan": "a-1"}, None) == {"plan": "a-2"}
    assert source(logs, tables, "b").latestOffset() == {"plan": "b-1"}


def test_a_batch_has_the_ranges_of_its_plan_each_time_until_it_is_counted_in(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    log(logs, 0, 50)
    log(logs, 50, 60, "b.log")
    begin, end = {"plan": ""}, source(logs, tables, "a").latestOffset()
    log(logs, 60, 70)
    reader = source(logs, tables, "b")
    assert reader.partitions(end, end) == []
    shares = reader.partitions(begin, end)
    assert [len(share.value) for share in shares] == [2], "small ranges are read together"
    told = [
        reading._told(dict(zip(reading.TOLD.names, row, strict=True))) for share in shares for row in reader.read(share)
    ]
    assert plans.take_in(tables, told).lines == 60
    assert reader.partitions(begin, end) == []
    assert reader.latestOffset() == {"plan": "b-1"}
    assert lines(tables) == 60


def test_who_plans_waits_for_no_library_that_only_readers_need() -> None:
    """Spark plans in several processes, whose start somebody waits for."""
    heavy = "{'polars', 'pyarrow', 'pandas'}"
    code = f"import sys, pyrepl.metrics.plans, pyrepl.metrics.source; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
