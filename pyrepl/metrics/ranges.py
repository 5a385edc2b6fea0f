"""Ranges of log files: what a task reads, what it tells of it, and how ranges are dealt out to tasks, so that none has
more than its share of the bytes, one large range at the most. Small ranges of several files are read together.

Which ranges there are is plan.py's; they are read by part.py. Whoever plans needs neither Arrow nor Polars.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

UTC: Final = "UTC"
"""The zone of text logs' times where no other one is told."""
TASK_BYTES: Final = 8 << 20
"""A task reads about that much: up to a second's work of text logs, so that its start does not count."""
RANGE_BYTES: Final = 1 << 20
"""A range costs as much as that many bytes more, whatever its size: some hundredths of a second, to open its file and
to roll up and write what it says; of several that are read together all of them, and each but a little."""
SMALL: Final = 64 << 10
"""A smaller range is read together with others."""
TOGETHER_BYTES: Final = 1 << 20
"""So many bytes are read together at most, so that whoever wants one node of them does not read much more."""
LITTLE_BYTES: Final = 32 << 10
"""What a range that is read together with others costs besides: to open its file, and to read a few lines."""
TASKS_A_CORE: Final = 4
"""At least so many where there are ranges enough: cores that are done early take over from those that are not."""
PACKED: Final = 10
"""How many times larger the content of a packed file is taken to be than the file."""


class Split(NamedTuple):
    """What one task reads: bytes [start, end) of a file (end -1: to its end), and the node of text lines in it.

    `head` is the digest of the file's first `head_bytes` bytes (of a packed one: of what is in it): the path of a log
    that was rotated since leads to another file, of which nothing is to be read. Ranges with the same number
    `together` are written as one (together.py), but for 0.
    """

    path: str
    file_id: str
    start: int
    end: int
    node: str
    packed: bool
    head_bytes: int = 0
    head: str = ""
    together: int = 0


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


def dealt(splits: Sequence[Split], cores: int, near: Mapping[str, int]) -> list[list[Split]]:
    """The ranges of each task: the largest first, each to the task that has the least to do; small ones several at
    once. Files with the same number in `near`, by their ids, are wanted together later (near.py)."""
    units = _units(splits, near)
    costs = [
        RANGE_BYTES + sum(size_of(split) + (LITTLE_BYTES if split.together else 0) for split in own) for own in units
    ]
    count = max(1, min(len(units), max(cores * TASKS_A_CORE, sum(costs) // TASK_BYTES)))
    tasks: list[list[Split]] = [[] for _ in range(count)]
    loads = [(0, number) for number in range(count)]
    for cost, own in sorted(zip(costs, units, strict=True), key=lambda one: (-one[0], one[1])):
        load, number = loads[0]
        tasks[number] += own
        heapq.heapreplace(loads, (load + cost, number))
    return tasks


def _units(splits: Iterable[Split], near: Mapping[str, int]) -> list[list[Split]]:
    """What is read as one: a large range, or small ones, numbered from 1 on."""
    small, units = [], []
    for split in splits:
        if split.end >= 0 and split.end - split.start < SMALL:
            small.append((near.get(split.file_id, -1), split))
        else:
            units.append([split])
    found: list[list[Split]] = []
    size, place = TOGETHER_BYTES, -1
    for share, split in sorted(small):
        size += split.end - split.start + LITTLE_BYTES // 4
        if size > TOGETHER_BYTES or share != place:
            found.append([])
            size, place = split.end - split.start, share
        found[-1].append(split)
    return units + [[split._replace(together=number) for split in own] for number, own in enumerate(found, 1)]


def size_of(split: Split) -> int:
    """How many bytes of log a range holds; a guess for a packed file, 0 for one that cannot be seen."""
    if split.end >= 0:
        return split.end - split.start
    try:
        return Path(split.path).stat().st_size * PACKED
    except OSError:
        return 0
