"""What reading by Spark comes to where it cannot be done, and its plan."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pyrepl.analysis.failures import in_our_words
from pyrepl.metrics import reading
from pyrepl.metrics.part import Split
from tests.unit.metrics.conftest import LOGS, Row

LOG = LOGS / "events" / "pyrepl-output-buffer" / "master.jsonl"


def told(spark: SparkSession, tables: Path) -> dict[str, list[Row]]:
    """Name of the failure -> a row with the words for it."""
    splits = [Split(str(LOG), "id", 0, LOG.stat().st_size, "n", False)]
    tables.mkdir()
    (tables / "events").write_bytes(b"in the way")
    ranges = reading.frame(spark, splits)
    return {
        "unwritten": _failed(lambda: reading.by_tasks(spark)(splits, tables, "UTC")),
        "killed": _failed(lambda: ranges.mapInArrow(_killed, ranges.schema).collect()),
        "plan": [{"told": _plan(reading.read(ranges, tables, "UTC"))}],
    }


def _plan(rows: DataFrame) -> str:
    given: Any = rows
    return str(given._jdf.queryExecution().toString())


def _failed(call: Callable[[], object]) -> list[Row]:
    try:
        call()
    except Exception as error:
        return [{"told": in_our_words(error)}]
    return []


def _killed(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        os.kill(os.getpid(), signal.SIGKILL)
        yield batch
