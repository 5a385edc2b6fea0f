"""`pyrepl metrics` beside DuckDB and Polars: the same event logs parsed, and the same questions asked of them.

Each is a command that starts from nothing; its processor time is that of all processes that it starts, Java's and
Python's workers' included. Of 1 GB of logs of four nodes (`--scale`), of ten small ones, and of what `pyrepl metrics
--out` alone can do: go on from a first run, when a hundredth more has come at the end of each log, and when nothing
has. There the rival's figure is that of our own first run.

The rivals parse into Parquet, as we do, and ask of that (metrics_rivals.py, metrics_sql.py). We write a report besides.
Java's classes are kept ready by a run before, as for whoever runs it a second time.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from bench.event_logs import generate
from bench.report import Row
from bench.spent import Spent, spent

RIVAL: Final = "duckdb"
BESIDE: Final = "polars"
NODES: Final = 4
LINES: Final = 2_600_000
"""1 GB."""
PERCENT: Final = 100
SMALL: Final = 10
SMALL_LINES: Final = 1000
GOAL: Final = "<= 3x"
GOAL_MORE: Final = "<= 0.2x"
GOAL_SMALL: Final = "<= 15 s"
GOAL_NOTHING: Final = "<= 5 s"


def measure(rounds: int, scale: float) -> list[Row]:
    """Processor seconds, and seconds where that is said."""
    with tempfile.TemporaryDirectory(prefix="pyrepl-bench-") as folder:
        work = Path(folder)
        share = max(PERCENT, round(LINES * scale) // NODES)
        large = made(work / "large", NODES, share)
        small = made(work / "small", SMALL, SMALL_LINES)
        ours(work, small)
        rows = [Runs(work, small).compared("ten small logs", rounds, GOAL_SMALL)]
        size = sum(path.stat().st_size for path in large.iterdir())
        runs = Runs(work, large)
        rows.append(runs.compared(f"{size / 1e9:.2f} GB", rounds, GOAL))
        return [row for pair in rows for row in pair] + again(work, large, share, runs.firsts)


def made(folder: Path, nodes: int, lines: int) -> Path:
    """A folder of event logs, of so many lines each."""
    folder.mkdir()
    with ProcessPoolExecutor() as writers:
        for done in [writers.submit(generate, folder / f"node{node}.jsonl", lines) for node in range(nodes)]:
            done.result()
    return folder


class Runs:
    """All three over the same logs, in turn. `firsts` are ours."""

    def __init__(self, work: Path, logs: Path) -> None:
        self._work = work
        self._logs = logs
        self.firsts: list[Spent] = []

    def compared(self, what: str, rounds: int, goal: str) -> list[Row]:
        """Processor time, and time."""
        figures: dict[str, list[Spent]] = {"ours": self.firsts, RIVAL: [], BESIDE: []}
        for _ in range(rounds):
            self.firsts.append(ours(self._work, self._logs, anew=True))
            for name in (RIVAL, BESIDE):
                figures[name].append(theirs(self._work, self._logs, name))
        processor, wall = ({name: [one[field] for one in found] for name, found in figures.items()} for field in (1, 0))
        return [
            Row(f"{what}, processor", "s", processor["ours"], processor[RIVAL], goal, processor[BESIDE]),
            Row(f"{what}, as a whole", "s", wall["ours"], wall[RIVAL], "", wall[BESIDE]),
        ]


def again(work: Path, logs: Path, share: int, firsts: list[Spent]) -> list[Row]:
    """Over the logs of the last first run, which have `share` lines each: a hundredth more, then nothing."""
    for log in logs.iterdir():
        generate(log, share // PERCENT, share)
    first = [one.processor_s for one in firsts]
    more, nothing = ours(work, logs), ours(work, logs)
    return [
        Row("1 % more, to the first run, processor", "s", [more.processor_s] * len(first), first, GOAL_MORE),
        Row("nothing new, to the first run, processor", "s", [nothing.processor_s] * len(first), first, GOAL_NOTHING),
    ]


def ours(work: Path, logs: Path, *, anew: bool = False) -> Spent:
    """`pyrepl metrics LOGS --out`; with `anew` without what runs before have left there."""
    out = work / f"out-{logs.name}"
    if anew:
        shutil.rmtree(out, ignore_errors=True)
    command = str(Path(sys.executable).with_name("pyrepl"))
    return spent([command, "metrics", str(logs), "--out", str(out), "--quiet"], {"XDG_CACHE_HOME": str(work / "cache")})


def theirs(work: Path, logs: Path, name: str) -> Spent:
    """One of metrics_rivals.py."""
    return spent([sys.executable, "-m", "bench.metrics_rivals", name, str(logs), str(work / f"{name}.parquet")], {})
