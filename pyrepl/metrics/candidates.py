"""Which attempts of a master can be those of which replica: found by index, so that no pair is looked at in vain.

A side is what one node tells of attempts under one label (how it calls the other end). A master's side and a replica's
may be of one pair when

    id      the replica followed a stream that was the master's, or one of the two tells of none
    port    the master's label ends with the replica's port, and the other way round, where label and port are told

Masters are kept by id and port of their label, so a replica finds those that are possible, whatever their number is:
n log n in all. Where that leaves more than MOST for one replica (a fleet whose nodes all listen on one port, and whose
logs name no id), the MOST of them whose attempts are nearest in time are taken; clocks that are hours apart are then
not found out. Pure Python, over sides.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, final

MOST: Final = 64
"""So many masters' sides are tried for a replica's by what the two have in common, and as many of those that tell
nothing."""
LOOKED_AT: Final = 16
"""So many attempts of a side are compared in time, and so many neighbours of each."""
ANY: Final = "*"
_SILENT: Final = ""


@dataclass(frozen=True, slots=True)
class Side:
    """Attempts of one node under one label. `ids` are those of the streams that a replica followed, or that a master's
    own stream had; `times` Unix us, rising."""

    node: str
    label: str
    ids: frozenset[str]
    times: tuple[int, ...]


@final
@dataclass(slots=True)
class _Bucket:
    """Masters' sides that have an id and a port in common, by their places."""

    places: list[int] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    is_sorted: bool = True

    def add(self, place: int, side: Side) -> None:
        self.places.append(place)
        self.times += [(at_us, place) for at_us in side.times[:LOOKED_AT]]
        self.is_sorted = False

    def near(self, at_us: int) -> list[tuple[int, int]]:
        """The neighbours of a time."""
        if not self.is_sorted:
            self.times.sort()
            self.is_sorted = True
        place = bisect_left(self.times, (at_us, 0))
        return self.times[max(0, place - LOOKED_AT) : place + LOOKED_AT]


def candidates(
    masters: Iterable[Side], replicas: Iterable[Side], ports: Mapping[str, int]
) -> Iterator[tuple[int, int]]:
    """Places of a master's side and a replica's that addresses and replication ids allow to be of one pair.

    ports    node -> the port it listens on, where its log tells
    """
    every = list(masters)
    index = _index(every)
    for place, replica in enumerate(replicas):
        tried = _found(index, replica, sorted(replica.ids), ports.get(replica.node))
        tried |= _found(index, replica, [_SILENT] if replica.ids else [ANY], ports.get(replica.node))
        for other in sorted(tried):
            if may_be_pair(every[other], replica, ports):
                yield other, place


def _index(masters: Iterable[Side]) -> Mapping[tuple[str, str], _Bucket]:
    """By id (the empty one of masters that tell of none, ANY of all) and port of the label (ANY of all)."""
    index: defaultdict[tuple[str, str], _Bucket] = defaultdict(_Bucket)
    for place, side in enumerate(masters):
        port = side.label.rpartition(":")[2]
        for name in (*(side.ids or (_SILENT,)), ANY):
            index[name, port].add(place, side)
            index[name, ANY].add(place, side)
    return dict(index)


def _found(index: Mapping[tuple[str, str], _Bucket], replica: Side, names: Iterable[str], port: int | None) -> set[int]:
    """Of masters with one of these ids: all, or those that are nearest in time."""
    allowed = (ANY,) if port is None else (str(port), "")
    buckets = [bucket for name in names for one in allowed if (bucket := index.get((name, one)))]
    if sum(len(bucket.places) for bucket in buckets) <= MOST:
        return {place for bucket in buckets for place in bucket.places}
    met: Counter[int] = Counter()
    distance: dict[int, int] = {}
    for at_us in replica.times[:LOOKED_AT]:
        for other_us, place in (near for bucket in buckets for near in bucket.near(at_us)):
            met[place] += 1
            distance[place] = min(distance.get(place, abs(other_us - at_us)), abs(other_us - at_us))
    return set(sorted(met, key=lambda one: (-met[one], distance[one], one))[:MOST])


def may_be_pair(master: Side, replica: Side, ports: Mapping[str, int]) -> bool:
    """Do addresses and replication ids allow that these are of one pair?"""
    if master.node == replica.node:
        return False
    for label, node in ((master.label, replica.node), (replica.label, master.node)):
        port = ports.get(node)
        if label and port and not label.endswith(f":{port}"):
            return False
    return not (master.ids and replica.ids) or bool(master.ids & replica.ids)
