"""From what has been read to a report: asks all questions, collects what is shown.

    with session() as spark:
        ingest(reading.by_tasks(spark), wanted.logs, wanted.tables)
        report = answer(spark, wanted, steps, made_at_us)

Each step is told before it begins, so that somebody who watches knows what takes so long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, final

from pyrepl import VERSION
from pyrepl.metrics.jobs import analyse
from pyrepl.metrics.places import place
from pyrepl.metrics.report.model import Report, Row
from pyrepl.metrics.shown import shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyrepl.metrics.manifest import Manifest


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

    @property
    def answers(self) -> Path:
        """Where what tasks have answered stands, a folder a table."""
        return place(self.tables, (self.since_us, self.until_us))


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


def answer(spark: SparkSession, wanted: Wanted, steps: Steps, made_at_us: int, known: Manifest | None = None) -> Report:
    """The report from what has been read so far. Tables of which it has not all rows are then views of the session, for
    who writes them down. `known` is the manifest where the caller has it: that of a fleet is large."""
    steps.begin("analyse")
    found = analyse(spark, wanted.tables, wanted.since_us, wanted.until_us, known=known)
    steps.begin("collect")
    tables, cut = shown(spark, found.sizes, few=found.few)
    steps.end()
    return report_of(tables, cut, wanted, steps, made_at_us)


def report_of(
    tables: Mapping[str, Sequence[Row]], cut: frozenset[str], wanted: Wanted, steps: Steps, made_at_us: int
) -> Report:
    """Rows as shown.py has them, with where they come from."""
    return Report(tables, wanted.logs, made_at_us, VERSION, steps.seconds, cut)
