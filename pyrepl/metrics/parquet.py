"""The result tables as Parquet, for whoever wants to ask more: one folder a table, happenings by day and node.

Tables that the report holds whole are written from there; one that is too large for that, by Spark.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from pyrepl.metrics.column import Kind, Table
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.model import Report, Row

PARTITIONS: Final = ["day", "node"]
_TYPES: Final = {Kind.TEXT: pa.string(), Kind.COUNT: pa.int64(), Kind.NUMBER: pa.float64(), Kind.FLAG: pa.bool_()}


def write(report: Report, results: Mapping[str, DataFrame], folder: Path) -> None:
    """Write each table to `folder`/<its name>, in place of what an earlier run left there.

    Tables of happenings are partitioned by the columns `day` and `node`, which then stand in the folders' names.
    """
    for table in TABLES:
        place = folder / table.name
        if table.name in report.cut:
            _by_spark(table, results[table.name], place)
        else:
            _by_arrow(table, report.rows(table.name), place)


def _by_arrow(table: Table, rows: Sequence[Row], place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    schema = pa.schema([(column.name, _TYPES[column.kind]) for column in table.columns])
    found = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    if table.days and rows:
        pq.write_to_dataset(found, place, partition_cols=PARTITIONS, basename_template="part-{i}.parquet")
    else:
        pq.write_table(found, place / "part-0.parquet")


def _by_spark(table: Table, rows: DataFrame, place: Path) -> None:
    writer = rows.write.mode("overwrite")
    if table.days:
        writer = writer.partitionBy(*PARTITIONS)
    writer.parquet(str(place))
