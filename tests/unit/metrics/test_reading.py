"""Spark's tasks read: each has its share, and what they tell is what is read here."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pyrepl.metrics import reading
from pyrepl.metrics.part import read_split
from pyrepl.metrics.ranges import Split
from pyrepl.metrics.reading import SPLITS, read_batches
from tests.unit.metrics.conftest import LOGS, Row
from tests.unit.metrics.inline import session

FILES = sorted((LOGS / "events").rglob("*.jsonl"))[:5]


def test_what_is_told_comes_through_arrow_as_it_was(tmp_path: Path) -> None:
    splits = [Split(str(path), f"id{place}", 0, path.stat().st_size, "n", False) for place, path in enumerate(FILES)]
    rows = pa.Table.from_pylist([{**one._asdict(), "task": 0} for one in splits], SPLITS)
    found = [row for batch in read_batches(rows.to_batches(), str(tmp_path / "a"), "UTC") for row in batch.to_pylist()]
    assert [reading._told(row) for row in found] == [read_split(one, str(tmp_path / "b"), "UTC") for one in splits]


def test_what_is_told_comes_by_file_and_place(tmp_path: Path) -> None:
    """Also where there is more of it than is made values of Python at once."""
    split = Split(str(FILES[0]), "id", 0, FILES[0].stat().st_size, "n", False)
    (batch,) = read_batches(pa.Table.from_pylist([split._asdict()], SPLITS).to_batches(), str(tmp_path), "UTC")
    (row,) = batch.to_pylist()
    places = [(f"id{number % 7}", number) for number in range(2 * reading._PIECE + 9, 0, -1)]
    rows = [row | {"file_id": name, "start": start} for name, start in places]
    found = list(reading.told_of(session().createDataFrame(pa.Table.from_pylist(rows, reading.TOLD))))
    assert [(one.file_id, one.start) for one in found] == sorted(places)
    assert all(one.marks == found[0].marks and one.parts == found[0].parts for one in found) and found[0].marks


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("unwritten", "cannot write "),
        ("killed", "a process of Spark's that reads or computes has ended in the middle of it"),
    ],
)
def test_what_goes_wrong_is_told_in_our_words(seen: dict[str, list[Row]], name: str, told: str) -> None:
    (row,) = seen[name]
    assert row["told"].startswith(told)


def test_each_task_has_a_partition_and_reads_in_arrow(seen: dict[str, list[Row]]) -> None:
    (row,) = seen["plan"]
    assert "MapInArrow" in row["told"] and "Exchange" not in row["told"] and row["tasks"] == 3
