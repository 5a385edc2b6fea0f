"""The result tables as Parquet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from pyrepl.metrics import arrow, parquet
from pyrepl.metrics.column import UNIX_US
from pyrepl.metrics.parquet import SCHEMA_VERSION, VERSION_KEY, comment, read_shown, schema, version_of, write
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.model import Report
from pyrepl.metrics.results import SYNCS
from pyrepl.metrics.shown import ordered
from pyrepl.metrics.tables import UNPARSED
from tests.unit.metrics.conftest import Row
from tests.unit.metrics.inline import Inline
from tests.unit.metrics.report.sample import DAY_US, MADE_AT_US, empty, report, tables


def read(folder: Path) -> pa.Table:
    return ds.dataset(folder, partitioning="hive").to_table()


def test_every_table_with_its_columns_and_types(tmp_path: Path) -> None:
    link = tmp_path / "results"
    write(report(), None, link)
    assert sorted(path.name for path in link.iterdir()) == sorted(table.name for table in TABLES)
    for table in TABLES:
        assert set(read(link / table.name).column_names) == set(table.names), table.name
    totals = pq.read_table(link / "totals")
    assert totals.to_pylist()[0]["syncs"] == 43
    assert totals.schema.field("partial_ratio").type == pa.float64()


def test_happenings_by_day(tmp_path: Path) -> None:
    link = tmp_path / "results"
    write(report(), None, link)
    assert [path.name for path in (link / "syncs").iterdir()] == ["day=2026-11-21"]
    rows = read(link / "syncs").to_pylist()
    assert len(rows) == 43 and {row["node"] for row in rows} == {"cache-1:6379"}
    assert [row["at_us"] for row in rows] == sorted(row["at_us"] for row in rows)


def test_points_in_time_are_timestamps(tmp_path: Path) -> None:
    link = tmp_path / "results"
    write(report(), None, link)
    first = min(row["at_us"] for row in report().rows("syncs") if isinstance(row["at_us"], int))
    (row,) = (
        duckdb.connect()
        .execute(
            f"SELECT epoch_us(min(at_us)), any_value(day) FROM read_parquet('{link.resolve()}/syncs/**/*.parquet', "
            "hive_partitioning = true)"
        )
        .fetchall()
    )
    assert row[0] == first >= DAY_US and str(row[1]) == "2026-11-21"
    for table in TABLES:
        for column in table.columns:
            if column.unit == UNIX_US:
                assert read(link / table.name).schema.field(column.name).type == pa.timestamp("us", tz="UTC")


def test_every_column_says_what_stands_in_it(tmp_path: Path) -> None:
    link = tmp_path / "results"
    write(report(), None, link)
    for table in TABLES:
        found = pq.read_schema(next((link / table.name).rglob("*.parquet")))
        assert found.metadata[b"comment"].decode() == table.grain
        assert found.metadata[VERSION_KEY] == str(SCHEMA_VERSION).encode()
        for field in found:
            assert field.metadata[b"comment"].decode() == comment(table.column(field.name))
    assert comment(SYNCS.column("gap_bytes")).endswith("(bytes)")


def test_spark_reads_comments_and_timestamps(seen: dict[str, list[Row]]) -> None:
    (row,) = seen["described"]
    told = {name: (kind, said) for name, kind, said in row["columns"]}
    assert told["at_us"] == ("timestamp", comment(SYNCS.column("at_us")))
    assert told["gap_bytes"] == ("bigint", comment(SYNCS.column("gap_bytes")))
    assert {name for name, *_ in row["columns"]} >= set(SYNCS.names)


def test_the_schema_for_spark_is_that_of_arrow() -> None:
    for table in TABLES:
        made = schema(table)
        spark = json.loads(made.metadata[b"org.apache.spark.sql.parquet.row.metadata"])
        assert [field["name"] for field in spark["fields"]] == made.names


def test_results_tell_their_version(tmp_path: Path) -> None:
    link = tmp_path / "results"
    assert version_of(link) is None
    write(report(), None, link)
    assert version_of(link) == SCHEMA_VERSION


def test_a_second_run_takes_the_place_of_the_first(tmp_path: Path) -> None:
    link = tmp_path / "results"
    write(report(), None, link)
    before = link.resolve()
    write(empty(), None, link)
    assert read(link / "syncs").num_rows == 0 and set(read(link / "syncs").column_names) > {"day", "node"}
    assert read(before / "syncs").num_rows == 43, "who reads the first still finds it"


class _InDuckDb(Inline):
    """A session whose tables are split into many partitions."""

    def __init__(self, **rows: list[Row]) -> None:
        super().__init__()
        for table in TABLES:
            if table.name in rows:
                found = pa.Table.from_pylist(rows[table.name], arrow.schema(table))
                self.createDataFrame(found).createOrReplaceTempView(table.name)


def test_a_table_that_the_report_has_not_whole_is_written_by_tasks(tmp_path: Path) -> None:
    link = tmp_path / "results"
    syncs = [dict(row) | {"sync": f"{row['sync']}-{n}"} for row in report().rows("syncs") for n in range(3)]
    lines = [{"file": "x", "why": "text", "line": "x", "position": at, "size": 2} for at in range(9)]
    spark: Any = _InDuckDb(syncs=syncs, unparsed=lines)
    cut = Report(tables(), (), MADE_AT_US, "0.1.0", {}, frozenset({"syncs", "unparsed"}))
    for _ in range(2):
        write(cut, spark, link)
        assert sorted(read(link / "syncs").column_names) == sorted(SYNCS.names)
        assert (read(link / "syncs").num_rows, read(link / "unparsed").num_rows) == (3 * 43, 9)
        files = sorted((link / "unparsed").iterdir())
        assert len(files) == 9 and all(path.match("part-????????????????.parquet") for path in files)
        assert pq.read_schema(files[0]).metadata[b"comment"].decode() == UNPARSED.grain
        shown, whole = read_shown(link, SYNCS)
        assert sorted(shown["sync"].to_pylist()) == sorted(str(row["sync"]) for row in cut.rows("syncs"))
        assert not whole


def test_a_table_that_tasks_have_answered_is_written_from_their_files(tmp_path: Path) -> None:
    link, answers = tmp_path / "results", tmp_path / "answers"
    (answers / "syncs").mkdir(parents=True)
    rows = [dict(row) for row in report().rows("syncs")]
    for number in range(3):
        part = pa.Table.from_pylist(rows[number::3], arrow.schema(SYNCS))
        pq.write_table(part, answers / "syncs" / f"{number}.parquet")
    lines = [{"file": "x", "why": "text", "line": "x", "position": 1, "size": 2}]
    spark: Any = _InDuckDb(unparsed=lines)
    cut = Report(tables() | {"syncs": rows[:5]}, (), MADE_AT_US, "0.1.0", {}, frozenset({"syncs", "unparsed"}))
    write(cut, spark, link, answers=answers)
    found = read(link / "syncs").to_pylist()
    assert {row["sync"] for row in found} == {row["sync"] for row in rows} and len(found) == len(rows)
    assert read(link / "unparsed").num_rows == 1
    shown, whole = read_shown(link, SYNCS)
    assert len(shown) == 5 and not whole


def test_tasks_hold_so_many_rows_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MOST", 20)
    rows = pa.Table.from_pylist([dict(row) for row in report().rows("syncs")], arrow.schema(SYNCS))
    (tmp_path / "syncs").mkdir()
    told = parquet.write_batches(rows.to_batches(max_chunksize=10), "syncs", str(tmp_path / "syncs"))
    assert [batch["files"].to_pylist() for batch in told] == [[1], [1], [1]]
    assert read(tmp_path / "syncs").num_rows == 43
    assert [path.name for path in (tmp_path / "syncs").iterdir()] == ["day=2026-11-21"]


def test_what_was_shown_is_read_again(tmp_path: Path) -> None:
    link = tmp_path / "results"
    write(report(), None, link)
    for table in TABLES:
        found, whole = read_shown(link, table)
        assert whole and len(found) == len(report().rows(table.name))
    written = pa.Table.from_pylist(list(map(dict, report().rows("syncs"))), arrow.schema(SYNCS))
    assert ordered(read_shown(link, SYNCS)[0], "at_us, sync") == ordered(written, "at_us, sync")
