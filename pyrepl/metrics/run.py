"""From what has been read to a report: asks all questions, collects what is shown.

    with session() as spark:
        ingest(reading.by_tasks(spark), wanted.logs, wanted.tables)
        report, results = answer(asking.by_tasks(spark), wanted, steps, made_at_us)

Each step is told before it begins, so that somebody who watches knows what takes so long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

import polars as pl

from pyrepl import VERSION
from pyrepl.metrics.answers import Answering
from pyrepl.metrics.column import Table
from pyrepl.metrics.jobs import analyse
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.model import Report, Row
from pyrepl.metrics.tables import UNPARSED

MOST_ROWS: Final = 50_000
"""Rows of a table that are collected, the newest of happenings; Parquet has all."""
MOST_UNPARSED: Final = 200


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for. `tables` is the folder of the canonical tables, which a later run goes on with.

    `since_us` and `until_us` bound what is told, Unix us, the first inclusive, the last not. `zone` is that of text
    logs' times.
    """

    logs: tuple[str, ...]
    tables: Path
    since_us: int | None = None
    until_us: int | None = None
    zone: str = "UTC"


@final
@dataclass(slots=True)
class Steps:
    """How long each step took. `tell` is called as one begins; `now` gives seconds that do not go back."""

    tell: Callable[[str], None]
    now: Callable[[], float]
    seconds: dict[str, float] = field(default_factory=dict)
    _name: str = ""
    _since: float = 0.0

    def begin(self, name: str) -> None:
        """The step before has ended."""
        self.end()
        self._name, self._since = name, self.now()
        self.tell(name)

    def end(self) -> None:
        """The last step has ended."""
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + self.now() - self._since
        self._name = ""


def answer(
    answering: Answering, wanted: Wanted, steps: Steps, made_at_us: int
) -> tuple[Report, Mapping[str, pl.LazyFrame]]:
    """The report from what has been read so far, and every result table for who writes them down."""
    steps.begin("analyse")
    results = analyse(answering, wanted.tables, wanted.since_us, wanted.until_us)
    return collected(results, wanted, steps, made_at_us), results


def collected(results: Mapping[str, pl.LazyFrame], wanted: Wanted, steps: Steps, made_at_us: int) -> Report:
    """What is shown of the results."""
    steps.begin("collect")
    found = [_collected(results[table.name], _most(table)) for table in TABLES]
    steps.end()
    tables = {table.name: rows for table, (rows, _) in zip(TABLES, found, strict=True)}
    cut = frozenset(table.name for table, (_, whole) in zip(TABLES, found, strict=True) if not whole)
    return Report(tables, wanted.logs, made_at_us, VERSION, steps.seconds, cut)


def _most(table: Table) -> int:
    return MOST_UNPARSED if table is UNPARSED else MOST_ROWS


def _collected(rows: pl.LazyFrame, most: int) -> tuple[list[Row], bool]:
    """Rows as plain values, in the table's order, and whether that is all; the newest `most` if there are more."""
    found = rows.limit(most + 1).collect()
    if len(found) <= most:
        return list(found.iter_rows(named=True)), True
    if "at_us" in found.columns:
        found = rows.sort("at_us").tail(most).collect()
    return list(found.head(most).iter_rows(named=True)), False
