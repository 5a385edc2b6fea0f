"""Which groups of nodes (groups.py) one task answers for: shares of about the same size, the same ones in every run.

What is worked out about a group costs some hundred calls of Polars, whatever its size, so groups that are small are
answered for together; a large one has a task of its own. A small one's share follows from its name alone: so the same
nodes are together in the next run, which finds there what was kept of them (keep.py).
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from pyrepl.metrics.kinds import TEXT
from pyrepl.metrics.parts import Piece

LINES: Final = 20_000
"""Lines of text logs that are a task's work: about a second. A group that has as many is a share of its own."""
MOST_LINES: Final = 100_000
"""The same where there are more shares than ENOUGH: to answer for a share costs something besides."""
ENOUGH: Final = 64
"""So many shares let no task have a twentieth of the work."""
ROLLED_UP: Final = 16
"""So many lines of event logs are less work than one of a text log: what they come to is known when they are read."""
Group = tuple[str, ...]
"""Nodes by name."""


def weight(found: Sequence[Piece]) -> int:
    """How much work it is to answer for these pieces, in LINES."""
    return sum(max(1, count if form == TEXT else count // ROLLED_UP) for count, form in map(_size, found))


def _size(piece: Piece) -> tuple[int, str]:
    mark = piece.mark
    return int(mark["count"]), str(mark["form"])


def shares(groups: Sequence[Group], weights: Mapping[str, int]) -> list[tuple[Group, ...]]:
    """The groups of each share, the heaviest share first; `weights` are the nodes'."""
    heavy = {group: sum(weights[node] for node in group) for group in groups}
    light = [group for group in groups if heavy[group] < LINES]
    count = _count(sum(heavy[group] for group in light))
    together: defaultdict[int, list[Group]] = defaultdict(list)
    for group in light:
        together[zlib.crc32(group[0].encode()) % count].append(group)
    found = [tuple(own) for own in together.values()] + [(group,) for group in groups if heavy[group] >= LINES]
    return sorted(found, key=lambda own: (-sum(heavy[group] for group in own), own))


def _count(lines: int) -> int:
    """How many shares so many lines are. Doubled and not fitted, so that most groups stay where they are as the logs
    grow."""
    count = 1
    while lines > count * (LINES if count < ENOUGH else MOST_LINES):
        count *= 2
    return count
