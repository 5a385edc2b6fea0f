"""Who answers for the groups of nodes: Spark's tasks, several at once and wherever they run.

Threads of the command do where there is little new (analysis/answers.py). What is answered is answers.py's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyrepl.metrics.answers import Answering, kept_or_made
from pyrepl.metrics.keep import answer_kept
from pyrepl.metrics.packing import Frames, Packed, packed, unpacked
from pyrepl.metrics.parts import Sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def by_tasks(spark: SparkSession) -> Answering:
    """Spark's tasks answer, one for each group."""
    return partial(_by_tasks, spark)


def _by_tasks(spark: SparkSession, groups: Sequence[Sources], tables: Path) -> list[Frames]:
    # The largest first, so that the last to end is a short one.
    order = sorted(range(len(groups)), key=lambda number: -sum(len(paths) for _, paths, _ in groups[number].kept))
    tasks = spark.sparkContext.parallelize([groups[number] for number in order], len(groups))
    told = dict(zip(order, tasks.mapPartitions(partial(answer_all, tables=str(tables))).collect(), strict=True))
    return [_taken(tables, wanted, told[number]) for number, wanted in enumerate(groups)]


def answer_all(groups: Iterator[Sources], tables: str) -> Iterator[Packed | None]:
    """For Spark's mapPartitions; None of what is kept now, where the driver finds it."""
    for wanted in groups:
        found = kept_or_made(Path(tables), wanted)
        yield None if wanted.bounds == (None, None) else packed(found)


def _taken(tables: Path, wanted: Sources, told: Packed | None) -> Frames:
    if told is not None:
        return unpacked(told)
    found = answer_kept(tables, wanted)
    return kept_or_made(tables, wanted) if found is None else found
