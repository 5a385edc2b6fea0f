"""Spark answers: a DataFrame of shares of the nodes goes in, one of what became of each comes out.

    analyse(by_tasks(spark), Path("out/tables"))

What answers for a share is answers.py's, in plain Arrow and Polars; it runs in mapInArrow, in Spark's Python workers,
each share in a task of its own, and writes the answers itself, as Parquet, a file for each table (keep.py): no result
passes through Java or the driver. Which groups of nodes are a share is shares.py's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyrepl.metrics.answers import Answering, kept_or_made
from pyrepl.metrics.parts import Again, Sources

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES: Final = pa.list_(pa.string())
SHARES: Final = pa.schema(
    [
        pa.field("task", pa.int32(), nullable=False),
        pa.field("marks", _FILES),
        pa.field("kept", pa.list_(pa.struct([("name", pa.string()), ("paths", _FILES), ("nodes", _FILES)]))),
        pa.field("again", pa.list_(pa.struct(
            [("table", pa.string()), ("node", pa.string()), ("rows", _FILES), ("once", pa.bool_())]
        ))),
        pa.field("text", pa.list_(pa.struct([("node", pa.string()), ("rows", _FILES)]))),
        pa.field("told_elsewhere", pa.list_(pa.struct([("node", pa.string()), ("run", pa.string())]))),
        pa.field("samples", pa.list_(pa.struct([("node", pa.string()), ("rows", _FILES)]))),
        pa.field("named", _FILES),
        pa.field("since_us", pa.int64()),
        pa.field("until_us", pa.int64()),
        pa.field("groups", pa.list_(_FILES)),
        pa.field("passing", _FILES),
    ]
)  # fmt: skip
"""parts.Sources by its fields, a row a share, and which task answers; a mark, whose fields depend on its table, is
JSON."""
ANSWERED: Final = "key string"
"""By what name the answers of a share are kept."""
_ANSWERED: Final = pa.schema([("key", pa.string())])


def by_tasks(spark: SparkSession) -> Answering:
    """Spark's tasks answer, one for each share."""
    return partial(_by_tasks, spark)


def _by_tasks(spark: SparkSession, shares: Sequence[Sources], tables: Path) -> list[str]:
    return list(map(str, asked(frame(spark, shares), tables).toArrow()["key"].to_pylist()))


def frame(spark: SparkSession, shares: Sequence[Sources]) -> DataFrame:
    """The shares as SHARES has them, each in a partition of its own."""
    return spark.createDataFrame(rows(shares)).repartitionById(len(shares), "task")


def asked(shares: DataFrame, tables: Path) -> DataFrame:
    """Shares as SHARES has them -> ANSWERED."""
    return shares.mapInArrow(partial(answer_batches, tables=str(tables)), ANSWERED)


def rows(shares: Sequence[Sources]) -> Any:
    """A table of SHARES."""
    return pa.Table.from_pylist([_row(number, wanted) for number, wanted in enumerate(shares)], SHARES)


def answer_batches(batches: Iterable[Any], tables: str) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of SHARES in, of ANSWERED out, one for each share as soon as it is answered."""
    for batch in batches:
        for row in batch.to_pylist():
            key = kept_or_made(Path(tables), _sources(row))
            yield pa.RecordBatch.from_pylist([{"key": key}], _ANSWERED)


def _row(task: int, wanted: Sources) -> dict[str, Any]:
    since_us, until_us = wanted.bounds
    return {
        "task": task,
        "marks": [json.dumps(mark) for mark in wanted.marks],
        "kept": [{"name": name, "paths": paths, "nodes": sorted(nodes)} for name, paths, nodes in wanted.kept],
        "again": [{"table": one.table, "node": one.node, "rows": one.rows, "once": one.once} for one in wanted.again],
        "text": _listed(wanted.text),
        "told_elsewhere": [{"node": node, "run": run} for node, run in sorted(wanted.told_elsewhere)],
        "samples": _listed(wanted.samples),
        "named": wanted.named,
        "since_us": since_us,
        "until_us": until_us,
        "groups": wanted.groups,
        "passing": sorted(wanted.passing),
    }


def _listed(files: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    return [{"node": node, "rows": paths} for node, paths in files.items()]


def _sources(row: Mapping[str, Any]) -> Sources:
    return Sources(
        marks=[json.loads(mark) for mark in row["marks"]],
        kept=[(one["name"], tuple(one["paths"]), frozenset(one["nodes"])) for one in row["kept"]],
        again=[Again(one["table"], one["node"], tuple(one["rows"]), one["once"]) for one in row["again"]],
        text={one["node"]: tuple(one["rows"]) for one in row["text"]},
        told_elsewhere=frozenset((one["node"], one["run"]) for one in row["told_elsewhere"]),
        samples={one["node"]: tuple(one["rows"]) for one in row["samples"]},
        named=tuple(row["named"]),
        bounds=(row["since_us"], row["until_us"]),
        groups=tuple(tuple(group) for group in row["groups"]),
        passing=frozenset(row["passing"]),
    )
