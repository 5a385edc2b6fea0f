"""A set of tables that is published over and over, for those who read it meanwhile.

python -m tests.unit.metrics.publisher FOLDER publishes until it is killed. Each row says of which version it is, and
how many such rows there are in its table.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyrepl.metrics import versions
from tests.peers.lab import wait_until

DAYS = ("2026-11-20", "2026-11-21", "2026-11-22")
STEP_US = 100_000
"""More than a second of real time to a minute of grace, so that a slow reader comes to its end."""
Seen = tuple[int, int, int]
"""A version, how many rows it has, how many of them were seen."""


def publish(link: Path, version: int) -> None:
    """The days of `table` differ from version to version, `flat` has no days, `steady` is always the same."""
    rough = versions.begin(link)
    days = DAYS[: 1 + version % 3]
    count = 1000 + version % 7 * 100
    for day in days:
        _put(rough / "table" / f"day={day}", _rows(version, count, count * len(days)))
    _put(rough / "flat", _rows(version, count, count))
    _put(rough / "steady", {"version": [0], "rows": [1]})
    versions.publish(rough, link, version * STEP_US)


def _rows(version: int, count: int, whole: int) -> dict[str, list[Any]]:
    return {"version": [version] * count, "rows": [whole] * count, "filler": [str(n) for n in range(count)]}


def _put(folder: Path, rows: dict[str, list[Any]]) -> None:
    folder.mkdir(parents=True)
    pq.write_table(pa.table(rows), folder / "part-0.parquet")
    versions.seal(folder / "part-0.parquet")


def is_torn(seen: list[Seen]) -> bool:
    """Is it anything but all rows of one version?"""
    return len(seen) != 1 or seen[0][1] != seen[0][2]


@contextlib.contextmanager
def published(link: Path) -> Iterator[None]:
    """It goes on until the end of the block."""
    publish(link, 1)
    process = subprocess.Popen([sys.executable, "-m", "tests.unit.metrics.publisher", str(link)])
    try:
        wait_until("another version is there", lambda: len(versions.numbers(link.parent / versions.FOLDER)) > 1)
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    version = 1
    while True:
        version += 1
        publish(Path(sys.argv[1]), version)
