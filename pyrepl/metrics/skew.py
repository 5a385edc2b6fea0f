"""How the nodes' clocks stand to each other, from what cannot be otherwise: a request is sent before it is received.

For each pair, `low` is the least that the replica's clock can be ahead of the master's (it asked before the master was
asked) and `high` the most (it had the answer after the master gave it). Pure Python, over pairs of nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a pair's syncs allow for the replica's clock less the master's, in microseconds.

    `low_p50` and `high_p50` are the medians over its syncs: for clocks that drifted, so that low > high.
    """

    master: str
    replica: str
    low: int | None
    high: int | None
    low_p50: float | None
    high_p50: float | None
    pairs: int

    @property
    def middle_us(self) -> float:
        """The best guess."""
        low, high = self._range()
        return (low + high) / 2

    @property
    def spread_us(self) -> float:
        """Half the width of what is possible."""
        low, high = self._range()
        return abs(high - low) / 2

    def _range(self) -> tuple[float, float]:
        low = self.low if self.low is not None else self.high
        high = self.high if self.high is not None else self.low
        if low is None or high is None:
            return 0.0, 0.0
        if low > high + 2000 and self.low_p50 is not None and self.high_p50 is not None:
            return self.low_p50, self.high_p50
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Clock:
    """A node's clock less the reference's; see results.SKEW."""

    node: str
    reference: str
    skew_ms: float
    spread_ms: float
    pairs: int


def estimate(bounds: Iterable[Bounds]) -> list[Clock]:
    """Every node that has a pair, reached from its group's reference over the surest links first."""
    links: defaultdict[str, list[tuple[float, str, float, int]]] = defaultdict(list)
    weight: defaultdict[str, int] = defaultdict(int)
    for one in bounds:
        links[one.master].append((one.spread_us, one.replica, one.middle_us, one.pairs))
        links[one.replica].append((one.spread_us, one.master, -one.middle_us, one.pairs))
        weight[one.master] += one.pairs
        weight[one.replica] += one.pairs
    clocks: dict[str, Clock] = {}
    for start in sorted(weight, key=lambda node: (-len(links[node]), -weight[node], node)):
        if start not in clocks:
            clocks[start] = Clock(start, start, 0.0, 0.0, weight[start])
            _reach(clocks, links, start)
    return [clocks[node] for node in sorted(clocks)]


def _reach(clocks: dict[str, Clock], links: dict[str, list[tuple[float, str, float, int]]], start: str) -> None:
    edge = [(spread, other, start, skew, pairs) for spread, other, skew, pairs in links[start]]
    while edge:
        edge.sort(reverse=True)
        spread, node, via, skew, pairs = edge.pop()
        if node in clocks:
            continue
        before = clocks[via]
        skew_ms = before.skew_ms + skew / 1000
        clocks[node] = Clock(node, before.reference, skew_ms, before.spread_ms + spread / 1000, pairs)
        edge += [(spread, other, node, skew, pairs) for spread, other, skew, pairs in links[node]]
