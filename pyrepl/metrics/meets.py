"""With whom a node may have synced whose stream nobody else has: by ports and ids, and in a large fleet by the time.

An end is what one node's logs tell of syncs as master, or as replica. One that stands alone, in whose group there is
no other end, may be of one sync with each that ports and ids allow. In a fleet these are many, and then the one counts
that asked most often at the same moments: clocks that are apart are not found out there. Pure Python, over ends, not
syncs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

FEW: Final = 64
"""With so many on each side all that may have synced are joined, whatever the time."""
NEAR_US: Final = 1_500_000
"""Two ends that asked at the same moment. As near as halves of one sync must be (stitch.py)."""


@dataclass(frozen=True, slots=True)
class End:
    """A node as master or as replica. `ids` are those of its own streams, or of those that it followed; `labels` how it
    calls its masters, `port` where it listens; `asked` some of the times at which it asked or was asked, Unix us,
    rising."""

    node: str
    is_master: bool
    ids: frozenset[str]
    labels: frozenset[str]
    port: int | None
    asked: Sequence[int]


def meets(ends: Iterable[End], group_of: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pairs of nodes, of which at least one stands alone, that may have synced with each other.

    `group_of` has for each node the group that it is in as far as is known.
    """
    sides: tuple[list[End], list[End]] = ([], [])
    for end in ends:
        sides[end.is_master].append(end)
    for here, there in (sides, sides[::-1]):
        inhabited: defaultdict[str, set[str]] = defaultdict(set)
        for end in there:
            inhabited[group_of[end.node]].add(end.node)
        alone = [end for end in here if not inhabited[group_of[end.node]] - {end.node}]
        few = max(len(alone), len(there)) <= FEW
        yield from _all(alone, there) if few else _nearest(alone, there)


def _all(alone: Iterable[End], there: Sequence[End]) -> Iterator[tuple[str, str]]:
    for end in alone:
        for other in there:
            if may_meet(end, other):
                yield end.node, other.node


def _nearest(alone: Iterable[End], there: Sequence[End]) -> Iterator[tuple[str, str]]:
    """Of each the one that asked most often when it did, the nearest of several."""
    times = sorted((at_us, place) for place, other in enumerate(there) for at_us in other.asked)
    for end in alone:
        votes: Counter[int] = Counter()
        apart: Counter[int] = Counter()
        for at_us in end.asked:
            first, behind = (bisect_left(times, (bound, 0)) for bound in (at_us - NEAR_US, at_us + NEAR_US + 1))
            for other_us, place in times[first:behind]:
                votes[place] += 1
                apart[place] += abs(other_us - at_us)
        allowed = [place for place in votes if may_meet(end, there[place])]
        if allowed:
            best = min(allowed, key=lambda place: (-votes[place], apart[place] / votes[place], place))
            yield end.node, there[best].node


def may_meet(one: End, other: End) -> bool:
    """Do ports and ids allow that these two have synced?"""
    master, replica = (one, other) if one.is_master else (other, one)
    if master.node == replica.node:
        return False
    if master.port and replica.labels and not any(_is_at(label, master.port) for label in replica.labels):
        return False
    return not (master.ids and replica.ids) or bool(master.ids & replica.ids)


def _is_at(label: str, port: int) -> bool:
    return not label or label.endswith(f":{port}")
