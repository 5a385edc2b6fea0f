"""The result tables as Parquet, for whoever wants to ask more: one folder a table, happenings by day and node.

Tables that the report holds whole are written from there; one that is too large for that, from the results.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pyrepl.metrics.column import Kind, Table
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.model import Report, Row

FILE: Final = "part-0.parquet"
PARTITIONS: Final = ["day", "node"]
_TYPES: Final = {Kind.TEXT: pa.string(), Kind.COUNT: pa.int64(), Kind.NUMBER: pa.float64(), Kind.FLAG: pa.bool_()}


def write(report: Report, results: Mapping[str, pl.LazyFrame], folder: Path) -> None:
    """Write each table to `folder`/<its name>, in place of what an earlier run left there.

    Tables of happenings are partitioned by the columns `day` and `node`, which then stand in the folders' names.
    """
    for table in TABLES:
        place = folder / table.name
        if table.name in report.cut:
            _large(table, results[table.name], _emptied(place))
        else:
            _small(table, report.rows(table.name), _emptied(place))


def _emptied(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


def _small(table: Table, rows: Sequence[Row], place: Path) -> None:
    schema = pa.schema([(column.name, _TYPES[column.kind]) for column in table.columns])
    found = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    if table.days and rows:
        _partitioned(found, place)
    else:
        pq.write_table(found, place / FILE)


def _large(table: Table, rows: pl.LazyFrame, place: Path) -> None:
    """Happenings are in memory; what else there is that much of, lines not understood, need not be."""
    if table.days:
        _partitioned(rows.collect().to_arrow(compat_level=pl.CompatLevel.oldest()), place)
    else:
        rows.sink_parquet(place / FILE)


def _partitioned(found: Any, place: Path) -> None:
    pq.write_to_dataset(found, place, partition_cols=PARTITIONS, basename_template="part-{i}.parquet")
