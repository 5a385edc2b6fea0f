"""How far an analysis is, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Tasks(NamedTuple):
    """What Spark does right now."""

    done: int
    total: int
    stages: int


class Progress(Protocol):
    """Is told. Any thread may call."""

    def step(self, name: str) -> None:
        """Another step begins."""
        ...

    def ask(self, tasks: Callable[[], Tasks] | None) -> None:
        """Ask this for tasks from now on; whatever it raises means that there is nothing to tell. None: nobody."""
        ...


def tasks_of(spark: SparkSession) -> Tasks:
    """The tasks of the stages that are under way. A session that is being stopped raises whatever error it likes."""
    tracker = spark.sparkContext.statusTracker()
    found = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
    return Tasks(sum(one.numCompletedTasks for one in found), sum(one.numTasks for one in found), len(found))
