"""Rows of many files as one frame."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa

from pyrepl.metrics.stored import MOST_FILES, read_batches, stored
from tests.unit.metrics.inline import session


def test_some_columns_of_all_files(tmp_path: Path) -> None:
    files = [tmp_path / f"{number} [1].parquet" for number in range(MOST_FILES + 1)]
    for number, path in enumerate(files):
        pl.DataFrame({"a": ["x"], "b": [number], "c": [1.5]}).write_parquet(path)
    found = stored(session(), files, pa.schema([("b", pa.int64()), ("a", pa.string())])).toArrow()
    assert found.schema.names == ["b", "a"] and sorted(found["b"].to_pylist()) == list(range(MOST_FILES + 1))


def test_of_nodes_whose_rows_count(tmp_path: Path) -> None:
    path, other = tmp_path / "several.parquet", tmp_path / "one.parquet"
    pl.DataFrame({"node": ["m", "n", "m"], "b": [1, 2, 3]}).write_parquet(path)
    pl.DataFrame({"node": ["n"], "b": [4]}).write_parquet(other)
    shape = pa.schema([("node", pa.string()), ("b", pa.int64())])
    found = stored(session(), [path, other], shape, {path: {"m"}, other: {"n", "m"}})
    assert sorted(found.toArrow()["b"].to_pylist()) == [1, 3, 4]


def test_no_files() -> None:
    assert list(read_batches([], pa.schema([("b", pa.int64())]))) == []
