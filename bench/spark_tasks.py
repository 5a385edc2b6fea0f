"""What Spark's event log says of its tasks: how the work was shared out.

    spark-submit --conf spark.eventLog.enabled=true --conf spark.eventLog.dir=file:/logs ...
    python -m bench.spark_tasks /logs/app-20261124221500-0000

Work is the time for which tasks ran, in ms. A task that has more than its share of a stage's work holds that stage up;
of the whole it is what no further worker makes shorter. The first task on each core starts a Python worker, which
imports all that it needs: that takes as long whatever there is to do, and is told apart.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyrepl.metrics.packed import opened

BOOT: Final = "time to start Python workers"
INIT: Final = "time to initialize Python workers"
"""Spark's own names: until a new worker's process runs, or a used one has cleaned up behind its last task, and then
until it has imported what its task needs, in ms. Where the first is not told, a used worker waited for its task, and
the second has that time."""
_PIECE: Final = 1 << 20


class Share(NamedTuple):
    """`largest_ms` of `whole_ms`, in `tasks` tasks; `started_ms` that workers took to start are not among these."""

    tasks: int
    whole_ms: int
    largest_ms: int
    started_ms: int

    @property
    def share(self) -> float:
        """Of the largest task; 0 where nothing ran."""
        return self.largest_ms / self.whole_ms if self.whole_ms else 0.0


class _Task(NamedTuple):
    work_ms: int
    started_ms: int


def shares(lines: Iterable[bytes]) -> tuple[Share, dict[int, Share]]:
    """Of all tasks that ended, and of each stage's."""
    took: defaultdict[int, list[_Task]] = defaultdict(list)
    for line in lines:
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd" and (metrics := event.get("Task Metrics")):
            took[event["Stage ID"]].append(_task(metrics["Executor Run Time"], event["Task Info"]))
    every = [task for own in took.values() for task in own]
    return _share(every), {stage: _share(own) for stage, own in sorted(took.items())}


def _task(ran_ms: int, info: Mapping[str, Any]) -> _Task:
    told = {one.get("Name"): int(one["Update"]) for one in info["Accumulables"] if one.get("Name") in (BOOT, INIT)}
    started_ms = min(ran_ms, told[BOOT] + told.get(INIT, 0)) if BOOT in told else 0
    return _Task(ran_ms - started_ms, started_ms)


def _share(took: list[_Task]) -> Share:
    work = [task.work_ms for task in took]
    return Share(len(took), sum(work), max(work, default=0), sum(task.started_ms for task in took))


def lines_of(log: Path) -> Iterator[bytes]:
    """A file's, or those of a folder of a log that was rolled over; packed ones too, if by zstd, as is Spark's way."""
    for path in log.glob("events_*") if log.is_dir() else [log]:
        with opened(path) as file:
            yield from b"".join(iter(partial(file.read, _PIECE), b"")).splitlines()


def main() -> None:
    """Print it, the stages with most work first."""
    whole, stages = shares(lines_of(Path(sys.argv[1])))
    print(
        f"{whole.tasks} tasks, {whole.whole_ms / 1000:.1f} s; the largest has {100 * whole.share:.1f} % of it; "
        f"Python workers took {whole.started_ms / 1000:.1f} s more to start"
    )
    for stage, one in sorted(stages.items(), key=lambda item: -item[1].whole_ms)[:10]:
        print(f"stage {stage}: {one.tasks} tasks, {one.whole_ms / 1000:.1f} s, the largest {100 * one.share:.1f} %")


if __name__ == "__main__":
    main()
