"""The links between the elements of a vector set: the graph (HNSW) in which Redis searches, kept for Redis's sake.

pyrepl searches exactly (`vector_scan`) and needs no graph. It makes one all the same, element by element, so that a
snapshot can go to a Redis at any time: Redis finds only what its graph leads to. The graph is another one than Redis
would make (Redis's own differ from node to node, as layers are drawn at random); it is as well connected:

- an element stands in layer 0, a quarter of them in layer 1 as well, a sixteenth in layer 2, ...; here its id decides;
- in each of its layers it is linked to about M near elements, both ways. One that is nearer to an element chosen
  before than to the new one is passed over, so that links lead in all directions;
- an element has room for 2 M links in layer 0, and for M in the others. When it is full, its farthest link goes if the
  new one is nearer, but not if the other end would be left with M/2 links.

Needs numpy; see `vector_numbers`. Source of the rule: Redis 8, module vectorset; Malkov and Yashunin's article on HNSW.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pyrepl.keyspace.vector_numbers import Floats, Stored
from pyrepl.keyspace.vector_scan import Near, VectorScan
from pyrepl.rdb.vectors import MAX_LEVEL, VectorNode, VectorSetValue

MOST_CANDIDATES: Final = 256
"""How many near elements are looked at for links at most, whatever EF says."""

_GOLDEN: Final = 0x9E3779B97F4A7C15
"""2**64 by the golden ratio: multiples of it are spread evenly, so ids that follow each other get different layers."""
_U64: Final = (1 << 64) - 1


def top_layer(node_id: int) -> int:
    """The highest layer in which an element stands, 0..MAX_LEVEL: a quarter of all ids go one layer higher, each."""
    bits = node_id * _GOLDEN & _U64
    layer = 0
    while layer < MAX_LEVEL and bits >> 62 == 0:
        layer += 1
        bits = bits << 2 & _U64
    return layer


def link(value: VectorSetValue, scan: VectorScan, node: VectorNode, candidates: int) -> None:
    """Link an element that is in neither `value` nor `scan` yet to its nearest of `candidates` elements."""
    away = scan.distances_from(Stored(node.vector, node.l2, node.range))
    near = [scan.candidates(away, min(candidates, MOST_CANDIDATES), layer) for layer in range(len(node.links))]
    value.add(node)
    scan.add(node)
    for layer, found in enumerate(near):
        _link_in(value, scan, node, layer, found)


def unlink(value: VectorSetValue, scan: VectorScan, node: VectorNode) -> None:
    """Take an element out of `value` and `scan`; those that were linked to it are linked among themselves."""
    del value.nodes[node.name], value.by_id[node.id]
    scan.remove(node)
    for layer, ids in enumerate(node.links):
        orphans = [value.by_id[linked] for linked in ids]
        for orphan in orphans:
            orphan.links[layer].remove(node.id)
        # A value that was loaded may hold any number of links.
        _link_among(value, scan, orphans[:MOST_CANDIDATES], layer)
        for orphan in orphans:
            if not orphan.links[layer]:
                away = scan.distances_from(Stored(orphan.vector, orphan.l2, orphan.range))
                near = scan.candidates(away, MOST_CANDIDATES, layer)
                _link_in(value, scan, orphan, layer, [found for found in near if found.node is not orphan])


def _link_in(value: VectorSetValue, scan: VectorScan, node: VectorNode, layer: int, near: list[Near]) -> None:
    """Link an element in one layer. `near` are others of that layer, nearest first.

    When the first pass leaves it with less than a quarter of the links wanted, a second one takes what it can get.
    """
    others = [found.node for found in near]
    away = np.array([found.distance for found in near], dtype=np.float32)
    apart = scan.between(others, others) if others else away
    for eager in (False, True):
        _link_pass(value, scan, node, layer, others, away, apart, eager)
        if len(node.links[layer]) >= max(1, value.m // 4):
            return


def _link_pass(
    value: VectorSetValue,
    scan: VectorScan,
    node: VectorNode,
    layer: int,
    others: list[VectorNode],
    away: Floats,
    apart: Floats,
    eager: bool,
) -> None:
    """Link `node` to `others`, which are `away` from it and `apart` from each other, until it has M links."""
    links = node.links[layer]
    hidden = np.zeros(len(others), dtype=np.bool_)
    for at, other in enumerate(others):
        if len(links) >= value.m:
            return
        if hidden[at] or other.id in links:
            continue
        if _has_room(value, other, layer) or _make_room(value, scan, other, layer, float(away[at]), eager):
            _connect(node, other, layer)
            if not eager:
                hidden |= apart[at] < away


def _has_room(value: VectorSetValue, node: VectorNode, layer: int) -> bool:
    return len(node.links[layer]) < (value.m if layer else value.m * 2)


def _make_room(
    value: VectorSetValue, scan: VectorScan, node: VectorNode, layer: int, distance: float, eager: bool
) -> bool:
    """Give up the farthest link of a full element for one to an element that is `distance` away; may it have it now?

    An eager caller gets the place of any link whose other end keeps M/4 links, or one above the usual room.
    """
    linked = [value.by_id[other] for other in node.links[layer]]
    away = scan.between([node], linked)[0]
    farthest_first = [int(at) for at in np.argsort(-away, kind="stable")]
    if not eager:
        farthest = linked[farthest_first[0]]
        if distance >= away[farthest_first[0]] or len(farthest.links[layer]) <= value.m // 2:
            return False
        _disconnect(node, farthest, layer)
        return True
    for at in farthest_first:
        if len(linked[at].links[layer]) > value.m // 4:
            _disconnect(node, linked[at], layer)
            return True
    return len(node.links[layer]) < (value.m * 2 if layer else value.m * 3)


def _link_among(value: VectorSetValue, scan: VectorScan, orphans: list[VectorNode], layer: int) -> None:
    """Give each of several elements, which lost a link each, one to another of them: the nearest pairs first."""
    if len(orphans) < 2:
        return
    apart = scan.between(orphans, orphans)
    left = set(range(len(orphans)))
    ones, others = np.triu_indices(len(orphans), k=1)
    for pair in np.argsort(apart[ones, others], kind="stable"):
        at, other_at = int(ones[pair]), int(others[pair])
        one, other = orphans[at], orphans[other_at]
        if not left & {at, other_at} or other.id in one.links[layer]:
            continue
        if _has_room(value, one, layer) and _has_room(value, other, layer):
            _connect(one, other, layer)
            left -= {at, other_at}
            if not left:
                return


def _connect(one: VectorNode, other: VectorNode, layer: int) -> None:
    assert one is not other and other.id not in one.links[layer]
    one.links[layer].append(other.id)
    other.links[layer].append(one.id)


def _disconnect(one: VectorNode, other: VectorNode, layer: int) -> None:
    one.links[layer].remove(other.id)
    other.links[layer].remove(one.id)
