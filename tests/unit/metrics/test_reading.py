"""Spark's tasks read: each has its share, and what they tell is what is read here."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.metrics import reading
from pyrepl.metrics.part import Split, read_split
from pyrepl.metrics.reading import PACKED, SPLITS, TASK_BYTES, TASKS_A_CORE, dealt, read_batches, size_of
from tests.unit.metrics.conftest import LOGS, Row

MB = 1 << 20
FILES = sorted((LOGS / "events").rglob("*.jsonl"))[:5]


def split(number: int, size: int) -> Split:
    return Split(f"/log{number}", f"id{number}", 0, size, "n", False)


@given(st.lists(st.integers(0, 64 * MB), max_size=200), st.integers(1, 16))
def test_no_task_has_more_than_its_share(sizes: list[int], cores: int) -> None:
    splits = [split(number, size) for number, size in enumerate(sizes)]
    tasks = dealt(splits, cores)
    assert sorted(one for own in tasks for one in own) == sorted(splits)
    loads = [sum(map(size_of, own)) for own in tasks]
    assert max(loads) - min(loads) <= max(sizes, default=0) + len(splits)
    assert len(tasks) == max(1, min(len(splits), max(cores * TASKS_A_CORE, sum(sizes) // TASK_BYTES)))


def test_of_a_fleet_no_task_has_a_twentieth() -> None:
    """Ten thousand nodes with 2 GB, of which some have said much more than others."""
    sizes = [2000 * MB // 20_000] * 9_990 + [64 * MB] * 16
    loads = [sum(map(size_of, own)) for own in dealt([split(*one) for one in enumerate(sizes)], 2)]
    assert max(loads) * 20 < sum(sizes)


def test_files_that_cannot_be_seen_are_spread() -> None:
    tasks = dealt([Split(f"/none{number}", str(number), 0, -1, "n", True) for number in range(80)], 2)
    assert {len(own) for own in tasks} == {10}


def test_a_size_that_is_not_known_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(b"x" * 100)
    packed = Split(str(tmp_path / "log.gz"), "id", 0, -1, "n", True)
    assert (size_of(packed), size_of(packed._replace(path="/none"))) == (100 * PACKED, 0)


def test_what_is_told_comes_through_arrow_as_it_was(tmp_path: Path) -> None:
    splits = [Split(str(path), f"id{place}", 0, path.stat().st_size, "n", False) for place, path in enumerate(FILES)]
    rows = pa.Table.from_pylist([{**one._asdict(), "task": 0} for one in splits], SPLITS)
    found = [row for batch in read_batches(rows.to_batches(), str(tmp_path / "a"), "UTC") for row in batch.to_pylist()]
    assert [reading._told(row) for row in found] == [read_split(one, str(tmp_path / "b"), "UTC") for one in splits]


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


def test_the_plan_is_spread_by_task_and_read_in_arrow(seen: dict[str, list[Row]]) -> None:
    (row,) = seen["plan"]
    assert "MapInArrow" in row["told"] and "REPARTITION_BY_NUM" in row["told"]
