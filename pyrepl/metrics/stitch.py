"""Which attempt in a master's log is which in a replica's, where no sync id says it: text logs, or one end of another
make.

A master calls its replica by an address, a replica its master by another, and clocks differ. So for each pair that
addresses and replication ids allow (candidates.py), the difference of the clocks is chosen under which most attempts
fit: the same verdict, the same request, near in time. Pure Python, over attempts, not events.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

from pyrepl.metrics.candidates import Side, candidates

VOTERS: Final = 200
"""So many attempts of a pair decide on its clocks."""
BUCKET_US: Final = 100_000
NEAR_US: Final = 1_500_000
"""Two attempts farther apart, clocks brought together, are not one. Inclusive."""


@dataclass(frozen=True, slots=True)
class Half:
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
    found = []
    for one, other in candidates(own, asked, ports):
        skew, votes = _skew(masters[one], replicas[other])
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


@final
class _Voters:
    """A replica's attempts by verdict and offset, so that a master's are held against few that do not fit."""

    def __init__(self, replicas: Iterable[Half]) -> None:
        self._by_verdict: defaultdict[str | None, defaultdict[int | None, list[Half]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for half in replicas:
            self._by_verdict[half.verdict][half.asked_offset].append(half)

    def like(self, master: Half) -> Iterator[Half]:
        """Those with its verdict and its offset, as far as both are told."""
        for verdict, by_offset in self._by_verdict.items():
            if verdict is None or master.verdict is None or verdict == master.verdict:
                told = by_offset if master.asked_offset is None else (master.asked_offset, None)
                for offset in told:
                    yield from by_offset.get(offset, ())


def _skew(masters: list[Half], replicas: list[Half]) -> tuple[int, int]:
    """The replica's clock less the master's under which most attempts meet, and how many do; the smallest of equals."""
    voters = _Voters(replicas[:VOTERS])
    # What is left of _fits(): where no offsets are told, so many come here that a call for each would take longest.
    apart = [
        replica.at_us - master.at_us
        for master in masters[:VOTERS]
        for replica in voters.like(master)
        if master.asked_replid is None or replica.asked_replid in (None, master.asked_replid)
    ]
    if not apart:
        return 0, 0
    votes = Counter(map(_bucket, apart))
    most = max(votes.values())
    best = max((one for one, count in votes.items() if count == most), key=lambda one: (-abs(one), one))
    near = sorted(one for one in apart if abs(one - best * BUCKET_US) <= BUCKET_US and _bucket(one) == best)
    return near[len(near) // 2], most


def _bucket(apart_us: int) -> int:
    return round(apart_us / BUCKET_US)


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
