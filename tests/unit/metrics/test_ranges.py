"""Ranges are dealt out so that no task has more than its share."""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.metrics.ranges import (
    PACKED,
    RANGE_BYTES,
    SMALL,
    TASK_BYTES,
    TASKS_A_CORE,
    TOGETHER_BYTES,
    Split,
    dealt,
    size_of,
)

MB = 1 << 20


def split(number: int, size: int) -> Split:
    return Split(f"/log{number}", f"id{number}", 0, size, "n", False)


def cost(own: list[Split]) -> int:
    return sum(size_of(one) + RANGE_BYTES for one in own)


@given(st.lists(st.integers(SMALL, 64 * MB), max_size=200), st.integers(1, 16))
def test_no_task_has_more_than_its_share(sizes: list[int], cores: int) -> None:
    splits = [split(number, size) for number, size in enumerate(sizes)]
    tasks = dealt(splits, cores, {})
    assert sorted(one for own in tasks for one in own) == sorted(splits)
    loads = list(map(cost, tasks))
    assert max(loads) - min(loads) <= max(sizes, default=0) + RANGE_BYTES
    assert len(tasks) == max(1, min(len(splits), max(cores * TASKS_A_CORE, sum(loads) // TASK_BYTES)))


def test_of_a_fleet_no_task_has_a_twentieth() -> None:
    """Ten thousand nodes with 2 GB, of which some have said much more than others."""
    sizes = [2000 * MB // 20_000] * 9_990 + [64 * MB] * 16
    loads = [sum(map(size_of, own)) for own in dealt([split(*one) for one in enumerate(sizes)], 2, {})]
    assert max(loads) * 20 < sum(sizes)


def test_of_a_thousand_small_files_no_task_has_more_than_a_second() -> None:
    """What each of them costs besides is most of the work."""
    tasks = dealt([split(number, SMALL) for number in range(1000)], 2, {})
    assert {len(own) for own in tasks} <= {7, 8}


@given(st.lists(st.tuples(st.integers(0, SMALL + 9), st.integers(-1, 3)), max_size=400), st.integers(1, 4))
def test_small_ranges_are_read_with_those_that_are_wanted_with_them(drawn: list[tuple[int, int]], cores: int) -> None:
    splits = [split(number, size) for number, (size, _) in enumerate(drawn)]
    near = {f"id{number}": share for number, (_, share) in enumerate(drawn) if share >= 0}
    tasks = dealt(splits, cores, near)
    assert sorted(one._replace(together=0) for own in tasks for one in own) == sorted(splits)
    together: dict[int, list[Split]] = {}
    for own in tasks:
        for number, ranges in itertools.groupby(own, lambda one: one.together):
            if number:
                assert number not in together, "one task reads them, one after the other"
                together[number] = list(ranges)
    for found in together.values():
        assert len({near.get(one.file_id) for one in found}) == 1
        assert sum(map(size_of, found)) <= TOGETHER_BYTES and all(size_of(one) < SMALL for one in found)
    alone = [one for own in tasks for one in own if not one.together]
    assert all(size_of(one) >= SMALL for one in alone)


def test_of_a_fleet_with_a_few_new_lines_each_there_are_few_tasks() -> None:
    near = {f"id{number}": number // 80 for number in range(10_000)}
    tasks = dealt([split(number, 2000) for number in range(10_000)], 2, near)
    assert len(tasks) < 100 and len({one.together for own in tasks for one in own}) == 125


def test_files_that_cannot_be_seen_are_spread() -> None:
    tasks = dealt([Split(f"/none{number}", str(number), 0, -1, "n", True) for number in range(80)], 2, {})
    assert {len(own) for own in tasks} == {8}


def test_a_size_that_is_not_known_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(b"x" * 100)
    packed = Split(str(tmp_path / "log.gz"), "id", 0, -1, "n", True)
    assert (size_of(packed), size_of(packed._replace(path="/none"))) == (100 * PACKED, 0)
