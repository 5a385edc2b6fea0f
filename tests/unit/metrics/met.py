"""What Spark meets: reading that cannot be done, and results that are replaced while it looks; and its plan."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pyrepl.analysis.failures import in_our_words
from pyrepl.metrics import reading
from pyrepl.metrics.parquet import write
from pyrepl.metrics.part import Split
from tests.unit.metrics.conftest import LOGS, Row
from tests.unit.metrics.publisher import is_torn, published
from tests.unit.metrics.report.sample import report

LOG = LOGS / "events" / "pyrepl-output-buffer" / "master.jsonl"


def told(spark: SparkSession, tables: Path) -> dict[str, list[Row]]:
    """Name of what was met -> a row that tells of it."""
    splits = [Split(str(LOG), "id", 0, LOG.stat().st_size, "n", False)]
    tables.mkdir()
    (tables / "events").write_bytes(b"in the way")
    ranges = reading.frame(spark, splits)
    return {
        "unwritten": _failed(lambda: reading.by_tasks(spark)(splits, tables, "UTC")),
        "killed": _failed(lambda: ranges.mapInArrow(_killed, ranges.schema).collect()),
        "beside": [_beside(spark, tables / "beside" / "results")],
        "described": [_described(spark, tables / "written" / "results")],
        "plan": [{"told": _plan(reading.read(ranges, tables, "UTC"))}],
    }


def _beside(spark: SparkSession, link: Path) -> Row:
    """Reads while versions are published."""
    link.parent.mkdir()
    seen = []
    with published(link):
        for _ in range(40):
            rows = spark.read.parquet(str(link.resolve() / "table")).groupBy("version", "rows").count().collect()
            seen.append([tuple(row) for row in rows])
    return {
        "torn": [rows for rows in seen if is_torn(rows)],
        "versions": len({row[0] for rows in seen for row in rows}),
    }


def _described(spark: SparkSession, link: Path) -> Row:
    """What Spark knows of a table that was written."""
    link.parent.mkdir()
    write(report(), {}, link)
    spark.read.parquet(str(link.resolve() / "syncs")).createOrReplaceTempView("syncs")
    found = spark.sql("DESCRIBE syncs").collect()
    return {"columns": [(row["col_name"], row["data_type"], row["comment"]) for row in found]}


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
