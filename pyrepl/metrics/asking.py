"""Spark answers: a DataFrame of shares of the nodes goes in, the tables of all of them come out.

    counts = answered(spark, shares, Path("out/tables"), most=10_000)
    spark.sql("select count(*) from syncs")
    advice = few(Path("out/tables"), shares[0].bounds, ADVICE)

What answers for a share is answers.py's, in plain Arrow and Polars; it runs in mapInArrow, in Spark's Python workers,
each share in a task of its own, and writes the answers itself, as Parquet, a file for each table (keep.py). What goes
over all of them is asked of views, in SQL (fleet_sql.py, shown.py): of what grows with the logs the driver sees no
answer. A table of few rows it reads as it is, as each view takes Spark a tenth of a second and more. Which groups of
nodes are a share is shares.py's.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pyrepl.metrics.answers import ANSWERED, COUNTS, DRAWN, kept_or_made
from pyrepl.metrics.arrow import schema
from pyrepl.metrics.column import Table, types
from pyrepl.metrics.fleet_sql import READS
from pyrepl.metrics.keep import key, sweep
from pyrepl.metrics.parts import Again, Bounds, Sources
from pyrepl.metrics.places import of_answer, place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES: Final = pa.list_(pa.string())
_PATTERN: Final = re.compile(r"[\\\[\]{}*?]")
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
_TIMES: Final = {"first_us": "min", "last_us": "max"}
_COUNTED: Final = ("connect_failures", "dumps", *_TIMES, *(table.name for table in ANSWERED), DRAWN)
COUNTED: Final = ", ".join(f"{name} bigint" for name in _COUNTED)
"""The row `counts` of a share (answers.py), and how many rows it has of each table."""
_SUMS: Final = ", ".join(f"{_TIMES.get(name, 'sum')}({name}) as {name}" for name in _COUNTED)
_OF_DRAWN: Final = {
    "node": "string", "peer": "string", "at_us": "bigint", "called": "string",
    "lag_bytes": "bigint", "lag_s": "double", "output_bytes": "bigint", "sync_buffer_bytes": "bigint",
    "writes_per_s": "double", "stream_bytes_per_s": "double",
}  # fmt: skip


def answered(spark: SparkSession, shares: Sequence[Sources], tables: Path, most: int) -> dict[str, int | None]:
    """Have all shares answered, of the same bounds. What COUNTED says, over all. Those tables are then views that have
    more than `most` rows, or that SQL over all nodes reads, DRAWN among them. Raises what Spark raises."""
    asked(frame(spark, shares), tables).createOrReplaceTempView("counted")
    (counts,) = spark.sql(f"select {_SUMS} from counted").toArrow().to_pylist()
    sweep(tables, shares, map(key, shares))
    folder = place(tables, shares[0].bounds)
    for name, columns in ({table.name: types(table) for table in ANSWERED} | {DRAWN: _OF_DRAWN}).items():
        if name not in READS and (counts[name] or 0) <= most:
            continue
        shape = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
        spark.read.schema(shape).parquet(plain(folder / name)).createOrReplaceTempView(name)
    return dict(counts)


def few(tables: Path, bounds: Bounds, table: Table) -> list[dict[str, Any]]:
    """All rows of one of the tables of ANSWERED, in any order: for who knows that they are few. Raises OSError,
    ArrowInvalid."""
    files = [str(path) for path in (place(tables, bounds) / table.name).glob("*.parquet")]
    found: list[dict[str, Any]] = ds.dataset(files, schema(table), format="parquet").to_table().to_pylist()
    return found


def plain(path: Path) -> str:
    """The path for Spark, which takes some letters for patterns."""
    return _PATTERN.sub(r"\\\g<0>", str(path))


def frame(spark: SparkSession, shares: Sequence[Sources]) -> DataFrame:
    """The shares as SHARES has them, each in a partition of its own."""
    return spark.createDataFrame(rows(shares)).repartitionById(len(shares), "task")


def asked(shares: DataFrame, tables: Path) -> DataFrame:
    """Shares as SHARES has them -> COUNTED."""
    return shares.mapInArrow(partial(answer_batches, tables=str(tables)), COUNTED)


def rows(shares: Sequence[Sources]) -> Any:
    """A table of SHARES."""
    return pa.Table.from_pylist([_row(number, wanted) for number, wanted in enumerate(shares)], SHARES)


def answer_batches(batches: Iterable[Any], tables: str) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of SHARES in, of COUNTED out, one for each share as soon as it is answered."""
    # As in reading.py.
    gc.freeze()
    for batch in batches:
        for row in batch.to_pylist():
            wanted = _sources(row)
            folder, named = place(Path(tables), wanted.bounds), kept_or_made(Path(tables), wanted)
            (counts,) = pq.read_table(of_answer(folder, named, COUNTS)).to_pylist()
            counts |= {
                name: pq.read_metadata(of_answer(folder, named, name)).num_rows
                for name in (*(table.name for table in ANSWERED), DRAWN)
            }
            yield pa.RecordBatch.from_pylist([counts], pa.schema([(name, pa.int64()) for name in _COUNTED]))


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
