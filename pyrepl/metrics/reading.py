"""Spark reads: a DataFrame of ranges of files goes in, one of what became of each range comes out.

    ingest(by_tasks(spark), ["logs/"], Path("out/tables"))

What reads a range is part.py's, and small ones together.py's, in plain Arrow; it runs in mapInArrow, in Spark's Python
workers, and writes the parts itself, so that no line passes through Java or the driver. Which ranges there are is
plan.py's, how they are dealt out ranges.py's.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyrepl.metrics import near as nears
from pyrepl.metrics.handing import handed, struct
from pyrepl.metrics.ranges import Split, Told, dealt
from pyrepl.metrics.together import read_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pyrepl.metrics.ingest import Reading

SPLITS: Final = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("file_id", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("node", pa.string(), nullable=False),
        pa.field("packed", pa.bool_(), nullable=False),
        pa.field("head_bytes", pa.int64(), nullable=False),
        pa.field("head", pa.string(), nullable=False),
        pa.field("together", pa.int64(), nullable=False),
    ]
)
"""ranges.Split by its fields."""
_SEQ: Final = ("table", "run", "lowest", "highest", "rising")
TOLD: Final = pa.schema(
    [
        *((name, pa.int64() if name not in ("file_id",) else pa.string()) for name in (
            "file_id", "start", "read", "lines", "events", "ignored", "unparsed", "json_lines"
        )),
        ("parts", pa.list_(pa.string())),
        ("seqs", pa.list_(pa.struct(
            [("table", pa.string()), ("run", pa.string()), ("lowest", pa.int64()), ("highest", pa.int64()),
             ("rising", pa.bool_())]
        ))),
        ("marks", pa.list_(pa.string())),
        ("rollups", pa.list_(pa.string())),
        ("unknown", pa.int64()),
        ("wrappers", pa.map_(pa.string(), pa.int64())),
        ("error", pa.string()),
    ]
)  # fmt: skip
"""ranges.Told by its fields; a mark, whose fields depend on its table, is JSON."""
_PIECE: Final = 256
"""So many rows are made values of Python at once."""


def by_tasks(spark: SparkSession) -> Reading:
    """Spark's tasks read."""
    return partial(_by_tasks, spark)


def _by_tasks(spark: SparkSession, splits: Sequence[Split], tables: Path, zone: str) -> Iterator[Told]:
    return told_of(read(frame(spark, splits, nears.load(tables)), tables, zone))


def frame(spark: SparkSession, splits: Sequence[Split], near: Mapping[str, int]) -> DataFrame:
    """The ranges as SPLITS has them, each partition a task's."""
    tasks = dealt(splits, spark.sparkContext.defaultParallelism, near)
    return handed(spark, [pa.Table.from_pylist([split._asdict() for split in own], SPLITS) for own in tasks])


def read(ranges: DataFrame, tables: Path, zone: str) -> DataFrame:
    """Ranges as SPLITS has them, partitioned as they are to be read -> TOLD."""
    return ranges.mapInArrow(partial(read_batches, tables=str(tables), zone=zone), struct(TOLD))


def read_batches(batches: Iterable[Any], tables: str, zone: str) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of SPLITS in, of TOLD out, one for each range as soon as it is read."""
    # Spark lets Python collect its garbage behind each task: all that was imported need not be looked through then.
    gc.freeze()
    for batch in batches:
        splits = [Split(**row) for row in batch.select(Split._fields).to_pylist()]
        for told in read_all(splits, tables, zone):
            row = _row(told) | {"wrappers": list(told.wrappers.items())}
            yield pa.RecordBatch.from_pylist([row], TOLD)


def read_ranges(ranges: Iterable[tuple[Any, ...]], tables: str, zone: str) -> Iterator[tuple[Any, ...]]:
    """For a stream's source: ranges by the fields of Split in, rows of TOLD out, one for each as soon as it is read."""
    for told in read_all([Split(*split) for split in ranges], tables, zone):
        yield tuple(_row(told).values())


def _row(told: Told) -> dict[str, Any]:
    row = {one.name: getattr(told, one.name) for one in fields(told)}
    row["seqs"] = [dict(zip(_SEQ, seq, strict=True)) for seq in told.seqs]
    row["marks"] = [json.dumps(mark) for mark in told.marks]
    return row


def told_of(found: DataFrame) -> Iterator[Told]:
    """What became of the ranges, by file and place; runs the job."""
    return _each(found.toArrow())


def _each(told: Any) -> Iterator[Told]:
    """One after the other: of a fleet all of them would be more than the rest of what the driver holds."""
    order = pc.sort_indices(told.select(["file_id", "start"]), [("file_id", "ascending"), ("start", "ascending")])
    for begin in range(0, len(order), _PIECE):
        for row in told.take(order.slice(begin, _PIECE)).to_pylist():
            yield _told(row)


def _told(row: Mapping[str, Any]) -> Told:
    seqs = [[seq[name] for name in _SEQ] for seq in row["seqs"]]
    marks = [json.loads(mark) for mark in row["marks"]]
    return Told(**{**row, "seqs": seqs, "marks": marks, "wrappers": dict(row["wrappers"])})
