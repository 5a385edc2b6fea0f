"""The job without Spark: what its tasks do is done here, one after another, so that many histories are cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics.answers import Answering
from pyrepl.metrics.asking import by_tasks
from pyrepl.metrics.ingest import count_in, planned
from pyrepl.metrics.jobs import analyse
from pyrepl.metrics.part import read_split
from pyrepl.metrics.ranges import UTC
from pyrepl.metrics.results import RESULTS

Row = dict[str, Any]


class _Frame:
    """A DataFrame of which each row is a partition."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def repartitionById(self, _count: int, _by: str) -> _Frame:
        return self

    def mapInArrow(self, task: Callable[[Iterator[Any]], Iterable[Any]], _shape: str) -> _Frame:
        parts = [self._rows.slice(number, 1).to_batches() for number in range(len(self._rows))]
        return _Frame(pa.Table.from_batches([made for part in parts for made in task(iter(part))]))

    def toArrow(self) -> Any:
        return self._rows


class Inline:
    """As much of a Spark session as is asked."""

    def createDataFrame(self, rows: Any) -> _Frame:
        return _Frame(rows)


def read(logs: Path, tables: Path, merge_bytes: int = 0, *, dies: bool = False) -> None:
    """A batch of ingest; one that `dies` does so before its manifest is written."""
    known = manifests.load(tables)
    ranges, tails = planned(known, [logs], tables, merge_bytes)
    told = [read_split(split, str(tables), UTC) for split in (*ranges, *tails)]
    if not dies:
        count_in(known, told, tails, tables)


def answering() -> Answering:
    """What answers."""
    spark: Any = Inline()
    return by_tasks(spark)


def told(tables: Path, since_us: int | None = None, until_us: int | None = None) -> dict[str, list[Row]]:
    """All results as rows."""
    found = analyse(answering(), tables, since_us, until_us)
    return {name: rows.collect().to_dicts() for name, rows in found.items()}


def plain(results: dict[str, list[Row]]) -> dict[str, list[str]]:
    """Without what tells of files, and to nine digits: sums of fractions depend on their order."""
    return {
        table.name: [repr({k: _round(v) for k, v in row.items()}) for row in results[table.name]] for table in RESULTS
    } | {"series": [repr(row) for row in results["series"]]}


def _round(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value
