"""What Spark meets: reading that cannot be done, results that are replaced while it looks, statements; and its plan."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pyrepl.analysis.failures import CannotRun, in_our_words
from pyrepl.analysis.queries import Answer, ask
from pyrepl.metrics import asking, reading
from pyrepl.metrics.parquet import write
from pyrepl.metrics.parts import Sources, sources
from pyrepl.metrics.ranges import Split
from tests.house.source import ROOT
from tests.unit.metrics import asked_in_sql, notebook
from tests.unit.metrics.conftest import LOGS, Row
from tests.unit.metrics.publisher import is_torn, published
from tests.unit.metrics.report.sample import report

STATEMENTS = {*asked_in_sql.GOOD, *asked_in_sql.WRONG, *asked_in_sql.documented()}
NOTHING: Sources = sources([], (None, None), frozenset())
LOG = LOGS / "events" / "pyrepl-output-buffer" / "master.jsonl"


def told(spark: SparkSession, tables: Path) -> dict[str, list[Row]]:
    """Name of what was met -> a row that tells of it."""
    splits = [one := Split(str(LOG), "id", 0, LOG.stat().st_size, "n", False)]
    tables.mkdir()
    (tables / "events").write_bytes(b"in the way")
    ranges = reading.frame(spark, splits, {})
    apart = [one._replace(file_id=name) for name in "abc"]
    return {
        "unwritten": _failed(lambda: reading.by_tasks(spark)(splits, tables, "UTC")),
        "killed": _failed(lambda: ranges.mapInArrow(_killed, ranges.schema).collect()),
        "beside": [_beside(spark, tables / "beside" / "results")],
        "described": [_described(spark, tables / "written" / "results")],
        "asked": [_asked(spark, tables / "written" / "results", statement) for statement in STATEMENTS],
        "notebook": _notebook(tables / "written"),
        "answers_plan": [_planned(asking.asked(asking.frame(spark, [NOTHING] * 3), tables))],
        "plan": [_planned(reading.read(reading.frame(spark, apart, {"a": 0, "b": 1, "c": 2}), tables, "UTC"))],
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
    write(report(), None, link)
    spark.read.parquet(str(link.resolve() / "syncs")).createOrReplaceTempView("syncs")
    found = spark.sql("DESCRIBE syncs").collect()
    return {"columns": [(row["col_name"], row["data_type"], row["comment"]) for row in found]}


def _asked(spark: SparkSession, results: Path, statement: str) -> Row:
    """What is told of a statement: its answer, or what is wrong with it."""
    found: list[Answer] = []
    rows: list[tuple[Any, ...]] = []

    def tell(answer: Answer) -> None:
        found.append(answer)
        rows.extend(answer.rows)

    try:
        ask(spark, results, (statement,), tell)
    except CannotRun as error:
        return {"statement": statement, "error": str(error)}
    return {"statement": statement, "columns": found[0].columns, "rows": rows}


def _notebook(folder: Path) -> list[Row]:
    """What its cells show, beside a folder of results."""
    (folder / "report").mkdir()
    (folder / "report" / "results").symlink_to((folder / "results").resolve())
    with chdir(folder):
        return [_shown(value) for value in notebook.run(ROOT / "examples" / "metrics.ipynb")]


def _shown(value: Any) -> Row:
    if value is None:
        return {"columns": None}
    return {"columns": list(value.columns), "rows": json.loads(value.to_json(orient="values"))}


def _planned(rows: DataFrame) -> Row:
    """The plan, and how many tasks it makes."""
    given: Any = rows
    plan = given._jdf.queryExecution()
    return {"told": str(plan.toString()), "tasks": plan.toRdd().getNumPartitions()}


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
