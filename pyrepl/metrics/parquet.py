"""The result tables as Parquet, for whoever wants to ask more: one folder a table, happenings by day.

    results/totals/part-4a3f0c2b9d8e7f61.parquet
    results/syncs/day=2026-11-21/part-0f3a5d6c7b8e9a10.parquet

Points in time are timestamps (UTC, microseconds); each column has its rule and unit as a comment, for Arrow and for
Spark. Tables that the report holds whole are written from there. Those that are too large for that are written by
Spark's tasks, straight from the files of the answers (keep.py) where it is they that tell them; what the report shows
of such a table is kept beside it (SHOWN). How a set of tables takes the place of the one before, while others read, is
versions.py's.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pyrepl.metrics import arrow, versions
from pyrepl.metrics.column import UNIX_US, Column, Kind, Table
from pyrepl.metrics.handing import handed, struct
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.columns import Columns
from pyrepl.metrics.report.model import Report, Row
from pyrepl.metrics.results import TOTALS
from pyrepl.metrics.stored import MOST_FILES
from pyrepl.temporary import SHARED, create

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA_VERSION: Final = 3
"""Of the results' files, which say it under VERSION_KEY. Raised when a column's name, type or rule changes, or the
folders do; each run writes all files anew, so that none of another version is among them."""
VERSION_KEY: Final = b"pyrepl.schema_version"
FILE: Final = "part-0.parquet"
SHOWN: Final = ".shown"
"""The folder of a version with what a report shows of the tables that have more rows."""
MOST: Final = 1 << 19
"""Rows that a task holds at once."""
DAY: Final = "day"
NO_DAY: Final = "1970-01-01"
"""The folder of a table by days that has no row: readers find its columns there."""
_SPARK_KEY: Final = b"org.apache.spark.sql.parquet.row.metadata"
_TYPES: Final = {Kind.TEXT: pa.string(), Kind.COUNT: pa.int64(), Kind.NUMBER: pa.float64(), Kind.FLAG: pa.bool_()}
_SPARK: Final = {Kind.TEXT: "string", Kind.COUNT: "long", Kind.NUMBER: "double", Kind.FLAG: "boolean"}
_STORED: Final = pa.schema([("name", pa.string()), ("path", pa.string())])
_WRITTEN: Final = pa.schema([("files", pa.int64())])
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")


def write(
    report: Report, spark: SparkSession | None, link: Path, digest: str = "", answers: Path | None = None
) -> None:
    """Write each table to a folder of its name below a new version, to which `link` leads then. Raises OSError.

    Tables of happenings are partitioned by the column `day`, which then stands in the folders' names. Those that the
    report has not whole are in folders of their names below `answers`, or are views of `spark`. `digest` is that of all
    that the results are made of (standing.py), where it is known.
    """
    rough = versions.begin(link)
    stored = _answered(report.cut, answers)
    if stored:
        assert spark is not None
        write_stored(spark, stored, rough)
    for table in TABLES:
        rows, place = report.rows(table.name), rough / table.name
        if table.name in report.cut:
            if table.name not in stored:
                assert spark is not None
                place.mkdir()
                write_by_tasks(spark.table(table.name), table, place)
            _put(_plain(table, rows), rough / SHOWN / f"{table.name}.parquet", arrow.schema(table))
        else:
            for path, part in _by_days(table, _plain(table, rows), place):
                versions.seal(_put(part, path / FILE, schema(table)))
    if digest:
        versions.sign(rough, digest)
    versions.publish(rough, link, report.made_at_us)


def read_shown(version: Path, table: Table) -> tuple[Any, bool]:
    """The rows of a table that the report has shown, in any order, as a table of Arrow's, and whether these are all.
    Raises OSError, ArrowInvalid."""
    path = version / SHOWN / f"{table.name}.parquet"
    if path.exists():
        return _rows_in(path), False
    files = sorted((version / table.name).rglob("*.parquet"))
    if not files:
        raise FileNotFoundError(version / table.name)
    return pa.concat_tables([_with_day(table, path).cast(arrow.schema(table)) for path in files]), True


def _rows_in(path: Path) -> Any:
    """Of one file. Neither here nor in what follows is a dataset, array or scalar made of Python's values: that loads
    pandas, which takes as long as all else."""
    with pq.ParquetFile(path) as file:
        return file.read()


def _with_day(table: Table, path: Path) -> Any:
    """The rows of a file with all columns of the table: the day stands in the folder's name alone."""
    rows = _rows_in(path)
    if table.days:
        rows = rows.append_column(DAY, arrow.named_days(rows["at_us"].cast(pa.date32())))
    return rows.select(table.names)


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


def _plain(table: Table, rows: Sequence[Row]) -> Any:
    if isinstance(rows, Columns):
        return rows.table
    return pa.Table.from_pylist([dict(row) for row in rows], schema=arrow.schema(table))


def _answered(names: Iterable[str], answers: Path | None) -> dict[str, list[Path]]:
    """The files of those of these tables that stand below `answers`."""
    found = {name: sorted((answers / name).glob("*.parquet")) for name in names} if answers is not None else {}
    return {name: files for name, files in found.items() if files}


def write_stored(spark: SparkSession, stored: Mapping[str, Sequence[Path]], place: Path) -> None:
    """Write tables that are files already, by their names, below `place`: all in one job. Raises what Spark raises."""
    for name in stored:
        (place / name).mkdir()
    files = [{"name": name, "path": str(path)} for name in sorted(stored) for path in stored[name]]
    count = max(spark.sparkContext.defaultParallelism, len(files) // MOST_FILES + 1)
    parts = [pa.Table.from_pylist(own, _STORED) for number in range(count) if (own := files[number::count])]
    handed(spark, parts).mapInArrow(partial(write_files, place=str(place)), struct(_WRITTEN)).toArrow()


def write_files(batches: Iterable[Any], place: str) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of _STORED in, how many files their rows became out."""
    stored: dict[str, list[str]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            stored.setdefault(row["name"], []).append(row["path"])
    for name, paths in stored.items():
        yield from write_batches(_batches(paths), name, str(Path(place) / name))


def _batches(paths: Iterable[str]) -> Iterator[Any]:
    for path in paths:
        yield from pq.ParquetFile(path).iter_batches()


def write_by_tasks(rows: DataFrame, table: Table, place: Path) -> None:
    """Each partition of the rows becomes a file, or one a day. Raises what Spark raises."""
    rows.mapInArrow(partial(write_batches, name=table.name, place=str(place)), struct(_WRITTEN)).toArrow()


def write_batches(batches: Iterable[Any], name: str, place: str) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of a table in, how many files they became out."""
    table = next(table for table in TABLES if table.name == name)
    for rows in _gathered(batches):
        # Tasks write side by side, and one that is run again may find what it left.
        rough = Path(place) / f".{uuid.uuid4().hex}"
        parts = _by_days(table, rows.select(table.names), Path(place))
        for number, (path, part) in enumerate(parts):
            versions.seal(_put(part, rough / str(number) / FILE, schema(table)), path)
        shutil.rmtree(rough)
        yield pa.RecordBatch.from_pylist([{"files": len(parts)}], _WRITTEN)


def _gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of about MOST rows."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= MOST:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _by_days(table: Table, found: Any, place: Path) -> list[tuple[Path, Any]]:
    """Folders, and the rows of each."""
    if not table.days:
        return [(place, found)]
    found = found.sort_by([("node", "ascending"), ("at_us", "ascending")])
    return [(place / f"{DAY}={day}", rows) for day, rows in arrow.by_day(found) or [(NO_DAY, found)]]


def _put(rows: Any, path: Path, shape: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with create(path, SHARED) as file, pq.ParquetWriter(file, shape) as writer:
        writer.write_table(rows.select(shape.names).cast(shape))
    return path
