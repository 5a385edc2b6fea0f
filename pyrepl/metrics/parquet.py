"""The result tables as Parquet, for whoever wants to ask more: one folder a table, happenings by day.

    results/totals/part-4a3f0c2b9d8e7f61.parquet
    results/syncs/day=2026-11-21/part-0f3a5d6c7b8e9a10.parquet

Points in time are timestamps (UTC, microseconds); each column has its rule and unit as a comment, for Arrow and for
Spark. Tables that the report holds whole are written from there; one that is too large for that, from the results. How
a set of tables takes the place of the one before, while others read, is versions.py's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyrepl.metrics import versions
from pyrepl.metrics.column import UNIX_US, Column, Kind, Table
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.model import Report, Row
from pyrepl.metrics.results import TOTALS
from pyrepl.temporary import SHARED, create

SCHEMA_VERSION: Final = 2
"""Of the results' files, which say it under VERSION_KEY. Raised when a column's name, type or rule changes, or the
folders do; each run writes all files anew, so that none of another version is among them."""
VERSION_KEY: Final = b"pyrepl.schema_version"
FILE: Final = "part-0.parquet"
DAY: Final = "day"
NO_DAY: Final = "1970-01-01"
"""The folder of a table by days that has no row: readers find its columns there."""
_SPARK_KEY: Final = b"org.apache.spark.sql.parquet.row.metadata"
_TYPES: Final = {Kind.TEXT: pa.string(), Kind.COUNT: pa.int64(), Kind.NUMBER: pa.float64(), Kind.FLAG: pa.bool_()}
_SPARK: Final = {Kind.TEXT: "string", Kind.COUNT: "long", Kind.NUMBER: "double", Kind.FLAG: "boolean"}
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")


def write(report: Report, results: Mapping[str, pl.LazyFrame], link: Path, digest: str = "") -> None:
    """Write each table to a folder of its name below a new version, to which `link` leads then. Raises OSError.

    Tables of happenings are partitioned by the column `day`, which then stands in the folders' names. `digest` is that
    of all that the results are made of (standing.py), where it is known.
    """
    rough = versions.begin(link)
    for table in TABLES:
        if table.name in report.cut:
            _large(table, results[table.name], rough / table.name)
        else:
            _small(table, report.rows(table.name), rough / table.name)
    if digest:
        versions.sign(rough, digest)
    versions.publish(rough, link, report.made_at_us)


def schema(table: Table) -> Any:
    """The Arrow schema of a table's files; of one by days without that column."""
    columns = stored(table)
    fields = [pa.field(one.name, _type(one), metadata={"comment": comment(one)}) for one in columns]
    about = {
        VERSION_KEY: str(SCHEMA_VERSION), "pyrepl.table": table.name, "comment": table.grain,
        _SPARK_KEY: json.dumps(spark_schema(columns)),
    }  # fmt: skip
    return pa.schema(fields, about)


def spark_schema(columns: Iterable[Column]) -> dict[str, Any]:
    """Spark's schema of some columns, as its JSON has it."""
    return {"type": "struct", "fields": [
        {"name": one.name, "type": "timestamp" if one.unit == UNIX_US else _SPARK[one.kind], "nullable": True,
         "metadata": {"comment": comment(one)}} for one in columns
    ]}  # fmt: skip


def version_of(results: Path) -> int | None:
    """The SCHEMA_VERSION of results that were written; None where there are none."""
    for path in (results / TOTALS.name).glob("*.parquet"):
        return int(pq.read_schema(path).metadata.get(VERSION_KEY, b"0"))
    return None


def stored(table: Table) -> list[Column]:
    """The columns that stand in the files."""
    return [column for column in table.columns if not (table.days and column.name == DAY)]


def comment(column: Column) -> str:
    """What stands in the column, with its unit."""
    return f"{column.rule} ({column.unit})" if column.unit and column.unit != UNIX_US else column.rule


def _type(column: Column) -> Any:
    return _TIMESTAMP if column.unit == UNIX_US else _TYPES[column.kind]


def _small(table: Table, rows: Sequence[Row], place: Path) -> None:
    plain = pa.schema([(column.name, _TYPES[column.kind]) for column in table.columns])
    _by_days(table, pa.Table.from_pylist([dict(row) for row in rows], schema=plain), place)


def _large(table: Table, rows: pl.LazyFrame, place: Path) -> None:
    """Happenings are in memory; what else there is that much of, lines not understood, need not be."""
    if table.days:
        _by_days(table, rows.collect().to_arrow(compat_level=pl.CompatLevel.oldest()), place)
        return
    place.mkdir()
    rough = place / ".rough"
    rows.sink_parquet(rough)
    batches = pq.ParquetFile(rough).iter_batches()
    _put(table, (pa.Table.from_batches([batch]) for batch in batches), place / FILE)
    rough.unlink()


def _by_days(table: Table, found: Any, place: Path) -> None:
    if not table.days:
        _put(table, [found], place / FILE)
        return
    found = found.sort_by([("node", "ascending"), ("at_us", "ascending")])
    for day in pc.unique(found[DAY]).to_pylist() or [NO_DAY]:
        _put(table, [found.filter(pc.equal(found[DAY], day))], place / f"{DAY}={day}" / FILE)


def _put(table: Table, parts: Iterator[Any] | Sequence[Any], path: Path) -> None:
    shape = schema(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    with create(path, SHARED) as file, pq.ParquetWriter(file, shape) as writer:
        for part in parts:
            writer.write_table(part.select(shape.names).cast(shape))
    versions.seal(path)
