"""Ranges of log files: what a task reads, what it tells of it, and how ranges are dealt out to tasks, so that none has
more than its share of the bytes, one large range at the most.

Which ranges there are is plan.py's; they are read by part.py. Whoever plans needs neither Arrow nor Polars.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

UTC: Final = "UTC"
"""The zone of text logs' times where no other one is told."""
TASK_BYTES: Final = 8 << 20
"""A task reads about that much: up to a second's work of text logs, so that its start does not count."""
RANGE_BYTES: Final = 1 << 20
"""A range costs as much as that many bytes more, whatever its size: some hundredths of a second, to open its file and
to roll up and write what it says. A fleet has thousands of small files."""
TASKS_A_CORE: Final = 4
"""At least so many where there are ranges enough: cores that are done early take over from those that are not."""
PACKED: Final = 10
"""How many times larger the content of a packed file is taken to be than the file."""


class Split(NamedTuple):
    """What one task reads: bytes [start, end) of a file (end -1: to its end), and the node of text lines in it.

    `head` is the digest of the file's first `head_bytes` bytes (of a packed one: of what is in it): the path of a log
    that was rotated since leads to another file, of which nothing is to be read.
    """

    path: str
    file_id: str
    start: int
    end: int
    node: str
    packed: bool
    head_bytes: int = 0
    head: str = ""


@dataclass(slots=True)
class Told:
    """What became of a split; goes into the manifest. `seqs` are [table, run, lowest, highest seq,
    strictly rising?]; `marks` and `rollups`, the files of those, are rollup.py's."""

    file_id: str
    start: int
    read: int = 0
    lines: int = 0
    events: int = 0
    ignored: int = 0
    unparsed: int = 0
    json_lines: int = 0
    parts: list[str] = field(default_factory=list)
    seqs: list[list[Any]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    rollups: list[str] = field(default_factory=list)
    unknown: int = 0
    wrappers: dict[str, int] = field(default_factory=dict)
    error: str = ""


def dealt(splits: Sequence[Split], cores: int) -> list[list[Split]]:
    """The ranges of each task: the largest first, each to the task that has the least to do."""
    costs = {split: size_of(split) + RANGE_BYTES for split in splits}
    count = max(1, min(len(splits), max(cores * TASKS_A_CORE, sum(costs.values()) // TASK_BYTES)))
    tasks: list[list[Split]] = [[] for _ in range(count)]
    loads = [(0, number) for number in range(count)]
    for split in sorted(splits, key=lambda split: (-costs[split], split)):
        load, number = loads[0]
        tasks[number].append(split)
        heapq.heapreplace(loads, (load + costs[split], number))
    return tasks


def size_of(split: Split) -> int:
    """How many bytes of log a range holds; a guess for a packed file, 0 for one that cannot be seen."""
    if split.end >= 0:
        return split.end - split.start
    try:
        return Path(split.path).stat().st_size * PACKED
    except OSError:
        return 0
