"""What Spark's event log says of its tasks: how the work was shared out.

    spark-submit --conf spark.eventLog.enabled=true --conf spark.eventLog.dir=file:/logs ...
    python -m bench.spark_tasks /logs/app-20261124221500-0000

Work is the time for which tasks ran, in ms. A task that has more than its share of a stage's work holds that stage up;
of the whole it is what no further worker makes shorter.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Share(NamedTuple):
    """`largest_ms` of `whole_ms`, in `tasks` tasks."""

    tasks: int
    whole_ms: int
    largest_ms: int

    @property
    def share(self) -> float:
        """Of the largest task; 0 where nothing ran."""
        return self.largest_ms / self.whole_ms if self.whole_ms else 0.0


def shares(lines: Iterable[str]) -> tuple[Share, dict[int, Share]]:
    """Of all tasks that ended, and of each stage's."""
    took: defaultdict[int, list[int]] = defaultdict(list)
    for line in lines:
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd" and (metrics := event.get("Task Metrics")):
            took[event["Stage ID"]].append(metrics["Executor Run Time"])
    every = [ms for own in took.values() for ms in own]
    return _share(every), {stage: _share(own) for stage, own in sorted(took.items())}


def _share(took: list[int]) -> Share:
    return Share(len(took), sum(took), max(took, default=0))


def main() -> None:
    """Print it, the stages with most work first. The log is a file, or a folder of a log that was rolled over."""
    path = Path(sys.argv[1])
    files = sorted(path.glob("events_*")) if path.is_dir() else [path]
    whole, stages = shares(line for file in files for line in file.read_text().splitlines())
    print(f"{whole.tasks} tasks, {whole.whole_ms / 1000:.1f} s; the largest has {100 * whole.share:.1f} % of it")
    for stage, one in sorted(stages.items(), key=lambda item: -item[1].whole_ms)[:10]:
        print(f"stage {stage}: {one.tasks} tasks, {one.whole_ms / 1000:.1f} s, the largest {100 * one.share:.1f} %")


if __name__ == "__main__":
    main()
