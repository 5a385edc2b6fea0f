"""The result tables as Parquet."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pyrepl.metrics.parquet import write
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.model import Report
from pyrepl.metrics.results import SYNCS
from pyrepl.metrics.schemas import schema
from pyrepl.metrics.tables import UNPARSED
from tests.unit.metrics.report.sample import MADE_AT_US, empty, report, tables


def read(folder: Path) -> pa.Table:
    return ds.dataset(folder, partitioning="hive").to_table()


def test_every_table_with_its_columns_and_types(tmp_path: Path) -> None:
    write(report(), {}, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(table.name for table in TABLES)
    for table in TABLES:
        assert set(read(tmp_path / table.name).column_names) == set(table.names), table.name
    totals = pq.read_table(tmp_path / "totals")
    assert totals.to_pylist()[0]["syncs"] == 43
    assert totals.schema.field("partial_ratio").type == pa.float64()


def test_happenings_by_day_and_node(tmp_path: Path) -> None:
    write(report(), {}, tmp_path)
    (part,) = (tmp_path / "syncs" / "day=2026-11-21").iterdir()
    assert part.name == "node=cache-1%3A6379"
    rows = read(tmp_path / "syncs").to_pylist()
    assert len(rows) == 43 and {row["node"] for row in rows} == {"cache-1:6379"}


def test_a_second_run_takes_the_place_of_the_first(tmp_path: Path) -> None:
    write(report(), {}, tmp_path)
    write(empty(), {}, tmp_path)
    assert read(tmp_path / "syncs").num_rows == 0 and set(read(tmp_path / "syncs").column_names) > {"day", "node"}


def test_a_table_that_the_report_has_not_whole_is_written_whole(tmp_path: Path) -> None:
    whole = pl.DataFrame(list(report().rows("syncs")) * 3, schema=schema(SYNCS))
    lines = pl.LazyFrame({name: ["x"] * 9 for name in UNPARSED.names})
    cut = Report(tables(), (), MADE_AT_US, "0.1.0", {}, frozenset({"syncs", "unparsed"}))
    for _ in range(2):
        write(cut, {"syncs": whole.lazy(), "unparsed": lines}, tmp_path)
        assert sorted(read(tmp_path / "syncs").column_names) == sorted(SYNCS.names)
        assert (read(tmp_path / "syncs").num_rows, read(tmp_path / "unparsed").num_rows) == (3 * 43, 9)
