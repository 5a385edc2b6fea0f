"""How far Spark is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pyrepl.analysis.progress import Tasks, tasks_of


def test_tasks_of_the_present_stages() -> None:
    class Tracker:
        def getActiveStageIds(self) -> list[int]:
            return [1, 2, 3]

        def getStageInfo(self, stage: int) -> Any:
            return None if stage == 3 else SimpleNamespace(numTasks=4, numCompletedTasks=stage)

    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=Tracker))
    assert tasks_of(spark) == Tasks(done=3, total=8, stages=2)
