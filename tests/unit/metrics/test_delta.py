"""The result tables in Delta Lake's format, read back by its own library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from pyrepl.errors import ConfigError
from pyrepl.metrics import delta, parquet
from pyrepl.metrics.column import UNIX_US
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.model import Report
from pyrepl.metrics.results import MODES
from tests.unit.metrics.report.sample import empty, report


def written(folder: Path, found: Report) -> Path:
    """The folder of the tables, as after a run that found this."""
    parquet.write(found, None, folder / "results")
    delta.write((folder / "results").resolve(), folder / "delta")
    return folder / "delta"


def asked(place: Path, statement: str) -> list[dict[str, Any]]:
    """What the library's own engine says of the table t."""
    found = QueryBuilder().register("t", DeltaTable(place)).execute(statement)
    return list(pa.table(found.read_all()).to_pylist())


def test_every_table_with_its_columns_comments_and_days(tmp_path: Path) -> None:
    tables = written(tmp_path, report())
    for table in TABLES:
        found = DeltaTable(tables / table.name)
        fields = found.schema().fields
        assert {field.name: field.metadata["comment"] for field in fields} == {
            column.name: parquet.comment(column) for column in table.columns
        }
        assert {field.name for field in fields if "timestamp" in str(field.type)} == {
            column.name for column in table.columns if column.unit == UNIX_US
        }
        assert found.metadata().partition_columns == (["day"] if table.days else [])
        assert found.metadata().description == table.grain
        assert asked(tables / table.name, "SELECT count(*) AS n FROM t") == [{"n": len(report().rows(table.name))}]
    days = asked(tables / "syncs", "SELECT day, count(*) AS n, min(at_us) AS first FROM t GROUP BY day")
    syncs = report().rows("syncs")
    assert [(row["day"], row["n"]) for row in days] == [("2026-11-21", len(syncs))]
    assert days[0]["first"].timestamp() * 1e6 == min(float(str(row["at_us"])) for row in syncs)


def test_a_table_is_replaced_in_one_commit_and_left_alone_where_nothing_has_changed(tmp_path: Path) -> None:
    tables = written(tmp_path, report())
    before = DeltaTable(tables / "syncs")
    written(tmp_path, report())
    assert DeltaTable(tables / "syncs").version() == before.version() == 0
    written(tmp_path, empty())
    assert [one["operation"] for one in DeltaTable(tables / "syncs").history()].count("WRITE") == 2
    assert asked(tables / "syncs", "SELECT * FROM t") == []
    assert all(Path(uri).exists() for uri in before.file_uris()), "who reads the one before still finds it"
    written(tmp_path, report())
    assert asked(tables / "syncs", "SELECT count(*) AS n FROM t") == [{"n": len(report().rows("syncs"))}]


def test_a_table_of_another_schema_gets_that_of_this_version(tmp_path: Path) -> None:
    place = tmp_path / "delta" / "modes"
    write_deltalake(place, pa.table({"mode": [1], "gone": ["x"]}))
    written(tmp_path, report())
    found = DeltaTable(place)
    assert [field.name for field in found.schema().fields] == [*MODES.names]
    found.load_as_version(0)
    assert [field.name for field in found.schema().fields] == ["mode", "gone"]


def test_a_damaged_table_is_told_with_what_to_do(tmp_path: Path) -> None:
    (log,) = (written(tmp_path, report()) / "syncs" / "_delta_log").glob("*.json")
    log.write_text("{")
    with pytest.raises(ConfigError, match=r"delta/syncs is no table that can be written to .*: remove the folder"):
        written(tmp_path, empty())
