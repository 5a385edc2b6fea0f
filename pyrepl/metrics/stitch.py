"""Which attempt in a master's log is which in a replica's, where no sync id says it: text logs, or one end of another
make.

A master calls its replica by an address, a replica its master by another, and clocks differ. So for each pair that
addresses and replication ids allow (candidates.py), the difference of the clocks is chosen under which most attempts
fit: the same verdict, the same request, near in time. Pure Python, over attempts, not events; but all attempts of two
nodes are held against each other by NumPy.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from pyrepl.metrics.candidates import Side, candidates

VOTERS: Final = 200
"""So many attempts of a pair decide on its clocks."""
BUCKET_US: Final = 100_000
_UNKNOWN: Final = -(1 << 63)
"""Instead of a number that is not told."""
NEAR_US: Final = 1_500_000
"""Two attempts farther apart, clocks brought together, are not one. Inclusive."""


class Half(NamedTuple):
    """An attempt as one end tells it. `at_us` is when it asked; `label` how it calls the other end."""

    sync: str
    node: str
    is_master: bool
    label: str
    at_us: int
    verdict: str | None = None
    asked_replid: str | None = None
    asked_offset: int | None = None
    replid: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """Two halves of one attempt."""

    master: Half
    replica: Half


def stitch(halves: Iterable[Half], ports: Mapping[str, int], replids: Mapping[str, frozenset[str]]) -> list[Match]:
    """Every pair of halves that are one attempt, each half at most once.

    ports    node -> the port it listens on, where its log tells
    replids  node -> the ids its own stream had, where its log tells
    """
    by_side: tuple[dict[tuple[str, str], list[Half]], ...] = (defaultdict(list), defaultdict(list))
    for half in sorted(halves, key=lambda one: (one.at_us, one.sync)):
        by_side[not half.is_master][(half.node, half.label)].append(half)
    masters, replicas = (list(sides.values()) for sides in by_side)
    own = [_side(side, replids.get(side[0].node, frozenset())) for side in masters]
    asked = [_side(side, frozenset(half.replid for half in side if half.replid)) for side in replicas]
    codes: dict[str, int] = {}
    voters = [[_voters(halves, codes) for halves in sides] for sides in (masters, replicas)]
    found = []
    for one, other in candidates(own, asked, ports):
        skew, votes = _skew(voters[0][one], voters[1][other])
        if votes:
            found.append((-votes, abs(skew), skew, masters[one], replicas[other]))
    found.sort(key=lambda one: (one[0], one[1], one[3][0].sync, one[4][0].sync))
    taken: set[str] = set()
    matches: list[Match] = []
    for _, _, skew, ours, theirs in found:
        matches += _match(ours, theirs, skew, taken)
    return matches


def _side(halves: list[Half], ids: frozenset[str]) -> Side:
    return Side(halves[0].node, halves[0].label, ids, tuple(half.at_us for half in halves))


def _fits(master: Half, replica: Half) -> bool:
    """Can they be one attempt, but for the time?"""
    pairs = (
        (master.verdict, replica.verdict),
        (master.asked_replid, replica.asked_replid),
        (master.asked_offset, replica.asked_offset),
    )
    return all(one is None or other is None or one == other for one, other in pairs)


class _Voters(NamedTuple):
    """Attempts that decide on clocks, as arrays. What is not told is _UNKNOWN; what is text is told by number."""

    at_us: Any
    verdict: Any
    asked_replid: Any
    asked_offset: Any


def _voters(halves: Iterable[Half], codes: dict[str, int]) -> _Voters:
    """The first VOTERS of them; `codes` numbers texts, and learns new ones."""
    rows = [
        (half.at_us, _code(half.verdict, codes), _code(half.asked_replid, codes), half.asked_offset)
        for half in islice(halves, VOTERS)
    ]
    return _Voters(*(np.array([_UNKNOWN if one is None else one for one in told], np.int64) for told in zip(*rows)))


def _code(text: str | None, codes: dict[str, int]) -> int | None:
    return None if text is None else codes.setdefault(text, len(codes))


def _skew(masters: _Voters, replicas: _Voters) -> tuple[int, int]:
    """The replica's clock less the master's under which most attempts meet, and how many do; the smallest of equals."""
    fit = np.ones((len(masters.at_us), len(replicas.at_us)), np.bool_)
    for one, other in zip(masters[1:], replicas[1:]):
        fit &= (one[:, None] == other) | (one == _UNKNOWN)[:, None] | (other == _UNKNOWN)
    apart = (replicas.at_us - masters.at_us[:, None])[fit]
    if not len(apart):
        return 0, 0
    buckets = np.rint(apart / BUCKET_US).astype(np.int64)
    numbers, votes = np.unique(buckets, return_counts=True)
    most = int(votes.max())
    best = max(numbers[votes == most].tolist(), key=lambda one: (-abs(one), one))
    near = np.sort(apart[buckets == best])
    return int(near[len(near) // 2]), most


def _match(masters: list[Half], replicas: list[Half], skew: int, taken: set[str]) -> list[Match]:
    """The nearest first, each once."""
    times = [replica.at_us - skew for replica in replicas]
    near = sorted(
        (abs(times[other] - master.at_us), master.at_us, times[other], place, other)
        for place, master in enumerate(masters)
        for other in range(bisect_left(times, master.at_us - NEAR_US), bisect_right(times, master.at_us + NEAR_US))
        if _fits(master, replicas[other])
    )
    matches = []
    for _, _, _, place, other in near:
        master, replica = masters[place], replicas[other]
        if master.sync not in taken and replica.sync not in taken:
            taken |= {master.sync, replica.sync}
            matches.append(Match(master, replica))
    return matches
