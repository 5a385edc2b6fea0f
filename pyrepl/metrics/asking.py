"""Spark answers: a DataFrame of shares of the nodes goes in, the tables of all of them come out.

    found = answered(spark, shares, Path("out/tables"), most=10_000)
    spark.sql("select count(*) from syncs")
    advice = few(Path("out/tables"), shares[0].bounds, ADVICE)

What answers for a share is answers.py's, in plain Arrow and Polars; it runs in mapInArrow, in Spark's Python workers,
each share in a task of its own, and writes the answers itself, as Parquet, a file for each table (keep.py). What goes
over all of them is asked of views, in SQL (fleet_sql.py, shown.py): of what grows with the logs the driver sees no
answer. A table of few rows it reads as it is, and of a table of happenings the newest rows, as each view takes Spark a
tenth of a second and more. Which groups of nodes are a share is shares.py's.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyrepl.metrics.answers import ANSWERED, COUNTS, DRAWN, STEPS, kept_or_made
from pyrepl.metrics.arrow import schema
from pyrepl.metrics.column import Table
from pyrepl.metrics.fleet_sql import READS
from pyrepl.metrics.handing import handed, struct
from pyrepl.metrics.keep import key, sweep
from pyrepl.metrics.newest import NEWEST, since
from pyrepl.metrics.parts import Again, Bounds, Sources
from pyrepl.metrics.places import of_answer, place
from pyrepl.metrics.results import SERIES
from pyrepl.metrics.schemas import schema as shape
from pyrepl.metrics.spans import Line, those

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES: Final = pa.list_(pa.string())
_PATTERN: Final = re.compile(r"[\\\[\]{}*?]")
SHARES: Final = pa.schema(
    [
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
        pa.field("passing", pa.list_(pa.struct([("node", pa.string()), ("path", pa.string())]))),
    ]
)  # fmt: skip
"""parts.Sources by its fields, a row a share; a mark, whose fields depend on its table, is
JSON."""
_TIMES: Final = ("first_us", "last_us")
_SUMS: Final = ("connect_failures", "dumps", *(table.name for table in ANSWERED), DRAWN)
COUNTED: Final = pa.schema(
    [*((name, pa.int64()) for name in (*_SUMS, *_TIMES)), *((STEPS + name, pa.list_(pa.int64())) for name in NEWEST)]
)
"""The row `counts` of a share (answers.py), and how many rows it has of each table."""


class Counts(NamedTuple):
    """Over all shares: how many rows each table has, and what else is counted by name; when the first and the last
    sample were taken (Unix us); since when the newest rows of tables of NEWEST are, where all are too many."""

    counted: Mapping[str, int]
    first_us: int | None
    last_us: int | None
    since_us: Mapping[str, int | None]


def answered(spark: SparkSession, shares: Sequence[Sources], tables: Path, most: int) -> Counts:
    """Have all shares answered, of the same bounds. Those tables are then views that SQL over all nodes reads, and
    those with more than `most` rows that are not of NEWEST. Raises what Spark raises."""
    found = counts_of(asked(frame(spark, shares), tables).toArrow(), most)
    sweep(tables, shares, map(key, shares))
    folder = place(tables, shares[0].bounds)
    for table in ANSWERED:
        name = table.name
        if name in READS or (name not in NEWEST and found.counted[name] > most):
            spark.read.schema(struct(schema(table))).parquet(plain(folder / name)).createOrReplaceTempView(name)
    return found


def counts_of(told: Any, most: int) -> Counts:
    """Rows of COUNTED, one of each share, over all; of NEWEST so many rows are wanted."""
    counted = {name: pc.sum(told[name]).as_py() or 0 for name in _SUMS}
    first_us, last_us = pc.min(told["first_us"]).as_py(), pc.max(told["last_us"]).as_py()
    since_us = {name: since(told[STEPS + name].to_pylist(), most) for name in NEWEST if counted[name] > most}
    return Counts(counted, first_us, last_us, since_us)


def few(tables: Path, bounds: Bounds, table: Table) -> Any:
    """All rows of one of the tables of ANSWERED, in any order, as a table of Arrow's: for who knows that they are few.
    Raises OSError, PolarsError."""
    return _as_arrow(_answers(tables, bounds, table), table)


def newest(tables: Path, bounds: Bounds, table: Table, since_us: int | None, most: int) -> Any:
    """The `most` newest rows of a table of NEWEST, and those as old as the last of them, in any order, of which none is
    older than `since_us`. Raises OSError, PolarsError."""
    at_us, found = pl.col("at_us"), _answers(tables, bounds, table)
    rows = (found if since_us is None else found.filter(at_us >= since_us)).collect()
    return _as_arrow(rows.filter(at_us >= at_us.top_k(most).min()).lazy() if len(rows) > most else rows.lazy(), table)


def of_lines(tables: Path, bounds: Bounds, lines: Sequence[Line]) -> Any:
    """The rows of SERIES that are of these lines, in any order. Raises OSError, PolarsError."""
    return _as_arrow(those(_answers(tables, bounds, SERIES), lines), SERIES)


def _answers(tables: Path, bounds: Bounds, table: Table) -> pl.LazyFrame:
    """Read by Polars, as Arrow's own reader takes five times the time, and 100 MB that it does not give back."""
    files = sorted((place(tables, bounds) / table.name).glob("*.parquet"))
    if not files:
        return pl.LazyFrame(schema=shape(table))
    return pl.scan_parquet(files, glob=False, hive_partitioning=False).select(table.names)


def _as_arrow(rows: pl.LazyFrame, table: Table) -> Any:
    return rows.collect().to_arrow().cast(schema(table))


def plain(path: Path) -> str:
    """The path for Spark, which takes some letters for patterns."""
    return _PATTERN.sub(r"\\\g<0>", str(path))


def frame(spark: SparkSession, shares: Sequence[Sources]) -> DataFrame:
    """The shares as SHARES has them, each in a partition of its own."""
    return handed(spark, [rows([share]) for share in shares])


def asked(shares: DataFrame, tables: Path) -> DataFrame:
    """Shares as SHARES has them -> COUNTED."""
    return shares.mapInArrow(partial(answer_batches, tables=str(tables)), struct(COUNTED))


def rows(shares: Sequence[Sources]) -> Any:
    """A table of SHARES."""
    return pa.Table.from_pylist(list(map(_row, shares)), SHARES)


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
            yield pa.RecordBatch.from_pylist([counts], COUNTED)


def _row(wanted: Sources) -> dict[str, Any]:
    since_us, until_us = wanted.bounds
    return {
        "marks": wanted.marks,
        "kept": [{"name": name, "paths": paths, "nodes": sorted(nodes)} for name, paths, nodes in wanted.kept],
        "again": [{"table": one.table, "node": one.node, "rows": one.rows, "once": one.once} for one in wanted.again],
        "text": _listed(wanted.text),
        "told_elsewhere": [{"node": node, "run": run} for node, run in sorted(wanted.told_elsewhere)],
        "samples": _listed(wanted.samples),
        "named": wanted.named,
        "since_us": since_us,
        "until_us": until_us,
        "groups": wanted.groups,
        "passing": [{"node": node, "path": path} for node, path in sorted(wanted.passing)],
    }


def _listed(files: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    return [{"node": node, "rows": paths} for node, paths in files.items()]


def _sources(row: Mapping[str, Any]) -> Sources:
    return Sources(
        marks=row["marks"],
        kept=[(one["name"], tuple(one["paths"]), frozenset(one["nodes"])) for one in row["kept"]],
        again=[Again(one["table"], one["node"], tuple(one["rows"]), one["once"]) for one in row["again"]],
        text={one["node"]: tuple(one["rows"]) for one in row["text"]},
        told_elsewhere=frozenset((one["node"], one["run"]) for one in row["told_elsewhere"]),
        samples={one["node"]: tuple(one["rows"]) for one in row["samples"]},
        named=tuple(row["named"]),
        bounds=(row["since_us"], row["until_us"]),
        groups=tuple(tuple(group) for group in row["groups"]),
        passing=frozenset((one["node"], one["path"]) for one in row["passing"]),
    )
