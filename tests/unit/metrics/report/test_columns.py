"""Rows that are kept as columns: what they hold, in which order, and that little of it is made."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyrepl.metrics.report.columns import PIECE, Columns

COUNT = 2 * PIECE + 3


def rows() -> Columns:
    """In two pieces of a chunked table, of which neither ends where values are made."""
    every = pa.table({"a": range(COUNT), "b": [None if place % 3 else str(place) for place in range(COUNT)]})
    return Columns(pa.concat_tables([every.slice(0, PIECE + 1), every.slice(PIECE + 1)]))


def test_rows_are_those_of_the_table() -> None:
    assert [dict(row) for row in rows()] == rows().table.to_pylist()
    assert len(rows()) == COUNT and rows() and not Columns(rows().table.slice(0, 0))


def test_a_row_is_a_mapping() -> None:
    row = rows()[4]
    assert row == {"a": 4, "b": None} and list(row) == ["a", "b"] and len(row) == 2
    assert row.get("c", 1) == 1 and "c" not in row and {**row, "a": 5} == {"a": 5, "b": None}
    with pytest.raises(KeyError):
        row["c"]


@pytest.mark.parametrize("place", [0, 1, -1, PIECE, COUNT - 1, -COUNT])
def test_one_row(place: int) -> None:
    assert rows()[place]["a"] == range(COUNT)[place]


@pytest.mark.parametrize("place", [slice(3), slice(-3, None), slice(5, 2), slice(7, 9), slice(None), slice(9, 9999)])
def test_some_rows(place: slice) -> None:
    assert [row["a"] for row in rows()[place]] == list(range(COUNT)[place])


def test_no_such_row() -> None:
    with pytest.raises(IndexError):
        rows()[COUNT]
    with pytest.raises(ValueError, match="not by 2"):
        rows()[::2]


def test_columns_that_nobody_asks_for_are_not_made() -> None:
    made: list[str] = []

    class Batch:
        """One that tells what is asked of it."""

        def __init__(self, batch: pa.RecordBatch) -> None:
            self._batch = batch

        def __len__(self) -> int:
            return len(self._batch)

        def column(self, name: str) -> pa.Array:
            made.append(name)
            return self._batch.column(name)

    class Table:
        """One of such batches."""

        def to_batches(self, size: int) -> list[Batch]:
            return [Batch(batch) for batch in rows().table.to_batches(size)]

    assert sum(row["a"] for row in Columns(Table())) == sum(range(COUNT))  # type: ignore[misc]
    assert made == ["a"] * len(rows().table.to_batches(PIECE))
