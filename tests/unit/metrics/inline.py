"""The job without Spark: what its tasks do is done here, one after another, so that many histories are cheap."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics import near
from pyrepl.metrics.ingest import count_in, planned
from pyrepl.metrics.jobs import analyse
from pyrepl.metrics.plan import find
from pyrepl.metrics.ranges import UTC, Split, Told, dealt
from pyrepl.metrics.results import RESULTS
from pyrepl.metrics.shown import shown
from pyrepl.metrics.together import read_all

Row = dict[str, Any]


class _Frame:
    """A DataFrame of which each row is a partition."""

    def __init__(self, database: duckdb.DuckDBPyConnection, rows: Any) -> None:
        self._database, self._rows = database, rows

    def mapInArrow(self, task: Callable[[Iterator[Any]], Iterable[Any]], shape: StructType) -> _Frame:
        parts = [self._rows.slice(number, 1).to_batches() for number in range(len(self._rows))]
        made = [batch for part in parts for batch in task(iter(part))]
        return _Frame(self._database, pa.Table.from_batches(made, None if made else to_arrow_schema(shape)))

    def createOrReplaceTempView(self, name: str) -> None:
        self._database.register(name, self._rows)

    def toArrow(self) -> Any:
        return self._rows


class Inline:
    """As much of a Spark session as is asked; DuckDB answers what is SQL."""

    def __init__(self) -> None:
        self._database = duckdb.connect()
        self._database.execute("set default_null_order = 'nulls_first_on_asc_last_on_desc'")

    @property
    def sparkContext(self) -> SimpleNamespace:
        return SimpleNamespace(defaultParallelism=2)

    def createDataFrame(self, rows: Any) -> _Frame:
        return _Frame(self._database, rows)

    def sql(self, statement: str) -> _Frame:
        in_duckdb = statement.replace("named_struct(", "json_object(")
        return _Frame(self._database, self._database.sql(in_duckdb).to_arrow_table())

    def table(self, name: str) -> _Frame:
        return self.sql(f"select * from {name}")

    @property
    def read(self) -> Inline:
        return self

    def schema(self, _shape: StructType) -> Inline:
        return self

    def parquet(self, *paths: str) -> _Frame:
        found = [Path(re.sub(r"\\(.)", r"\1", path)) for path in paths]
        files = [file for path in found for file in (path.glob("*.parquet") if path.is_dir() else [path])]
        return _Frame(self._database, ds.dataset(files, format="parquet").to_table())


def read(logs: Path, tables: Path, merge_bytes: int = 0, *, dies: bool = False) -> None:
    """A batch of ingest; one that `dies` does so before its manifest is written."""
    known = manifests.load(tables)
    ranges, tails = planned(known, find([logs], tables), tables, merge_bytes)
    told = read_by_tasks([*ranges, *tails], tables)
    if not dies:
        count_in(known, told, tails, tables)


def read_by_tasks(splits: Sequence[Split], tables: Path) -> list[Told]:
    """What Spark's tasks do, one after the other."""
    return [one for own in dealt(splits, 1, near.load(tables)) for one in read_all(own, str(tables), UTC)]


def session() -> Any:
    """What answers."""
    return Inline()


def told(tables: Path, since_us: int | None = None, until_us: int | None = None) -> dict[str, list[Row]]:
    """All results as rows."""
    spark = session()
    most = 1 << 40
    found = analyse(spark, tables, since_us, until_us, most=most)
    return {name: [dict(row) for row in own] for name, own in shown(spark, found.sizes, most, found.few)[0].items()}


def plain(results: dict[str, list[Row]]) -> dict[str, list[str]]:
    """Without what tells of files, and to nine digits: sums of fractions depend on their order."""
    return {
        table.name: [repr({k: _round(v) for k, v in row.items()}) for row in results[table.name]] for table in RESULTS
    } | {"series": [repr(row) for row in results["series"]]}


def _round(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value
