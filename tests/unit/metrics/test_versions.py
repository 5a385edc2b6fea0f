"""A set of tables takes the place of another while readers of all kinds look at it: nobody sees half of one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest

from pyrepl.metrics import versions
from pyrepl.metrics.versions import FOLDER, GRACE_US, LONGER_US, begin, is_signed, numbers, publish, seal, sign
from tests.unit.metrics.conftest import Row
from tests.unit.metrics.publisher import Seen, is_torn, published

READS = pytest.mark.parametrize("reads", [80, pytest.param(1000, marks=pytest.mark.matrix)])
"""How often a reader looks while versions come and go: CI has it look 80 times, `make matrix` longer."""
OTHERS = 10
"""It has to see more versions than these, and goes on looking until it has, however slowly they come."""
GONE = (duckdb.IOException, OSError, ValueError, KeyError, pl.exceptions.PolarsError)
"""What readers say of a file that is gone."""


@functools.cache
def base() -> duckdb.DuckDBPyConnection:
    """One for all reads, as to make one takes ten times as long as a read. It keeps nothing of files between reads."""
    return duckdb.connect(config={"enable_external_file_cache": False, "threads": 1})


def by_duckdb(folder: Path) -> list[Seen]:
    files = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
    return base().execute(f"SELECT version, rows, count(*) FROM {files} GROUP BY ALL").fetchall()


def by_polars(folder: Path) -> list[Seen]:
    rows = pl.scan_parquet(folder / "**" / "*.parquet", hive_partitioning=True)
    return rows.group_by("version", "rows").len().collect().rows()


def by_pandas(folder: Path) -> list[Seen]:
    rows = pd.read_parquet(folder).groupby(["version", "rows"]).size().reset_index()
    return [tuple(row) for row in rows.itertuples(index=False)]


def by_arrow(folder: Path) -> list[Seen]:
    rows = ds.dataset(folder, partitioning="hive").to_table().group_by(["version", "rows"])
    return [tuple(row.values()) for row in rows.aggregate([([], "count_all")]).to_pylist()]


READERS = pytest.mark.parametrize("read", [by_duckdb, by_polars, by_pandas, by_arrow])


@READS
@READERS
def test_whoever_resolves_the_link_sees_one_version(
    tmp_path: Path, read: Callable[[Path], list[Seen]], reads: int
) -> None:
    link = tmp_path / "results"
    with published(link):
        seen: list[list[Seen]] = []
        while len(seen) < reads or (len({rows[0][0] for rows in seen}) <= OTHERS and len(seen) < 100 * reads):
            version = link.resolve()
            seen.append([*read(version / "table"), *read(version / "table")])
            assert read(version / "steady") == [(0, 1, 1)]
    assert not [rows for rows in seen if rows[0] != rows[1] or is_torn(rows[:1])]
    assert len({rows[0][0] for rows in seen}) > OTHERS, "it was published meanwhile"


@READS
@READERS
def test_whoever_does_not_sees_a_file_whole_or_not_at_all(
    tmp_path: Path, read: Callable[[Path], list[Seen]], reads: int
) -> None:
    link = tmp_path / "results"
    seen: list[list[Seen]] = []
    with published(link):
        for _ in range(reads):
            with contextlib.suppress(*GONE):
                seen.append(read(link / "flat"))
            assert read(link / "steady") == [(0, 1, 1)], "what stays the same is always there"
    assert seen and not [rows for rows in seen if is_torn(rows)]


def test_spark_beside_it(seen: dict[str, list[Row]]) -> None:
    (row,) = seen["beside"]
    assert row["torn"] == [] and row["versions"] > 3


def made(link: Path, at_us: int, **files: bytes) -> Path:
    rough = begin(link)
    for name, content in files.items():
        (rough / name).write_bytes(content)
    return publish(rough, link, at_us)


def test_versions_stay_for_a_while(tmp_path: Path) -> None:
    link = tmp_path / "results"
    for at_us in (1, 2, LONGER_US, LONGER_US + 2):
        made(link, at_us, a=b"1")
    assert numbers(tmp_path / FOLDER) == [2, LONGER_US, LONGER_US + 2], "the first was the newest until 2"
    assert link.resolve().name == str(LONGER_US + 2)
    made(link, 3 * LONGER_US, a=b"1")
    assert numbers(tmp_path / FOLDER) == [LONGER_US + 2, 3 * LONGER_US]


def test_a_minute_is_sure_and_the_rest_as_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What versions share takes room once."""
    link, second = tmp_path / "results", GRACE_US // 60
    monkeypatch.setattr(versions, "MOST_BYTES", 1000)
    for number in range(1, 101):
        made(link, number * second, **{"same": b"x" * 900, f"own-{number}": b"y" * 9})
    assert len(numbers(tmp_path / FOLDER)) == 100
    for number in range(101, 121):
        made(link, number * second, **{"same": b"x" * 900, f"own-{number}": b"y" * 100})
    there = numbers(tmp_path / FOLDER)
    assert there[0] == 60 * second, "the one after it came less than a minute ago"
    monkeypatch.setattr(versions, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(versions, "MOST", 70)
    for number in range(121, 140):
        made(link, number * second)
    assert len(numbers(tmp_path / FOLDER)) == 71


def test_a_clock_that_went_back(tmp_path: Path) -> None:
    link = tmp_path / "results"
    made(link, 1000)
    assert made(link, 10).name == "1001"


def test_what_is_the_same_is_there_once(tmp_path: Path) -> None:
    link = tmp_path / "results"
    one, two = made(link, 1, a=b"1"), made(link, 2, a=b"1", b=b"2")
    assert (one / "a").stat().st_ino == (two / "a").stat().st_ino
    assert sorted(path.name for path in two.iterdir()) == ["a", "b"]


def test_a_name_stands_for_its_content(tmp_path: Path) -> None:
    names = []
    for content in (b"1", b"2", b"1"):
        (tmp_path / "part-0.parquet").write_bytes(content)
        names.append(seal(tmp_path / "part-0.parquet").name)
    assert names[0] == names[2] != names[1] and all(len(name) == len("part-.parquet") + 16 for name in names)


def test_a_folder_of_before_gives_way(tmp_path: Path) -> None:
    link = tmp_path / "results"
    (link / "syncs").mkdir(parents=True)
    (link / "syncs" / "part-0.parquet").write_bytes(b"old")
    made(link, 1, a=b"1")
    assert link.is_symlink() and [path.name for path in link.iterdir()] == ["a"]


def test_what_was_left_unfinished_is_no_version(tmp_path: Path) -> None:
    link = tmp_path / "results"
    (begin(link) / "half").write_bytes(b"")
    assert [path.name for path in made(link, 1, a=b"1").iterdir()] == ["a"]
    assert versions.numbers(tmp_path / FOLDER) == [1]


def test_a_version_says_what_it_is_made_of(tmp_path: Path) -> None:
    link = tmp_path / "results"
    for at_us, digest in ((1, "a"), (2, "b")):
        rough = begin(link)
        sign(rough, digest)
        publish(rough, link, at_us)
    assert is_signed(link, "b") and not is_signed(link, "a")
