"""An exact search through a vector set: the distances of all its elements from a vector, and the nearest of them.

The stored vectors stand here a second time, in rows, so that numpy computes with all of them at once. The rows follow
the value: `vector_verbs` adds and removes both. Needs numpy; see `vector_numbers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from pyrepl.keyspace.vector_numbers import Floats, Rows, Stored, Vectors, distances, rows_of
from pyrepl.rdb.vectors import VectorNode, VectorSetValue

_BLOCK_BYTES: Final = 1 << 22
"""How many bytes of rows are computed with at once: numbers of 8 bits are made wider for it, and words are counted."""
_LEAST_ROOM: Final = 16
_SLICE: Final = 256
"""How many elements are put into order at first, when nobody knows how many will be looked at."""


class Near(NamedTuple):
    """An element and its distance from what was searched for."""

    distance: float
    node: VectorNode


@final
class VectorScan:
    """The vectors of one value, in rows: the same elements as in the value, between any two calls from outside.

    The order of the rows says nothing.
    """

    __slots__ = ("_count", "_ids", "_layers", "_places", "_ranges", "_rows", "_value")

    def __init__(self, value: VectorSetValue) -> None:
        nodes = list(value.nodes.values())
        self._value = value
        self._count = len(nodes)
        self._rows: Rows = rows_of(value, b"".join([node.vector for node in nodes])).copy()
        self._ranges = np.array([node.range for node in nodes], dtype=np.float32)
        self._ids = np.array([node.id for node in nodes], dtype=np.uint64)
        self._layers = np.array([len(node.links) for node in nodes], dtype=np.uint8)
        self._places = {node.id: place for place, node in enumerate(nodes)}

    def __len__(self) -> int:
        return self._count

    def add(self, node: VectorNode) -> None:
        """Take in an element that is new."""
        assert node.id not in self._places
        if self._count == len(self._ids):
            self._make_room(max(_LEAST_ROOM, self._count // 2))
        place = self._count
        self._rows[place] = rows_of(self._value, node.vector)[0]
        self._ranges[place] = node.range
        self._ids[place] = node.id
        self._layers[place] = len(node.links)
        self._places[node.id] = place
        self._count += 1

    def _make_room(self, count: int) -> None:
        self._rows = np.concatenate((self._rows, np.zeros((count, self._rows.shape[1]), dtype=self._rows.dtype)))
        self._ranges = np.concatenate((self._ranges, np.zeros(count, dtype=np.float32)))
        self._ids = np.concatenate((self._ids, np.zeros(count, dtype=np.uint64)))
        self._layers = np.concatenate((self._layers, np.zeros(count, dtype=np.uint8)))

    def remove(self, node: VectorNode) -> None:
        """Forget an element: the last row moves to its place."""
        place = self._places.pop(node.id)
        last = self._count - 1
        if place != last:
            for column in (self._rows, self._ranges, self._ids, self._layers):
                column[place] = column[last]
            self._places[int(self._ids[place])] = place
        self._count = last

    def distances_from(self, vector: Stored) -> Floats:
        """The distance of each row from a stored vector, in the order of the rows."""
        value = self._value
        query = Vectors(rows_of(value, vector.vector), np.array([vector.range], dtype=np.float32))
        result = np.empty(self._count, dtype=np.float32)
        block = max(1, _BLOCK_BYTES // value.vector_bytes)
        for start in range(0, self._count, block):
            end = min(start + block, self._count)
            part = Vectors(self._rows[start:end], self._ranges[start:end])
            result[start:end] = distances(value, part, query)[:, 0]
        return result

    def between(self, left: Sequence[VectorNode], right: Sequence[VectorNode]) -> Floats:
        """The distances between elements: a matrix, a row for each of `left`."""
        return distances(self._value, self._vectors(left), self._vectors(right))

    def _vectors(self, nodes: Sequence[VectorNode]) -> Vectors:
        places = [self._places[node.id] for node in nodes]
        return Vectors(self._rows[places], self._ranges[places])

    def nearest(self, away: Floats, count: int) -> list[Near]:
        """The `count` nearest elements, nearest first; `away` is what `distances_from` gave.

        Of elements that are equally far the older one comes first, as with Redis's TRUTH.
        """
        return self._first(away, np.arange(self._count), count, self._ids)

    def candidates(self, away: Floats, count: int, layer: int) -> list[Near]:
        """As `nearest`, of the elements that stand in a layer.

        Of elements that are equally far the newer one comes first: it is the one that still has room for links.
        """
        return self._first(away, np.flatnonzero(self._layers[: self._count] > layer), count, ~self._ids)

    def in_order(self, away: Floats) -> Iterator[Near]:
        """All elements as `nearest` orders them. The elements must not change meanwhile."""
        first = self._first(away, np.arange(self._count), _SLICE, self._ids)
        yield from first
        if len(first) < self._count:
            order = np.lexsort((self._ids[: self._count], away))
            yield from (self._near(away, int(place)) for place in order[_SLICE:])

    def _first(self, away: Floats, places: NDArray[np.intp], count: int, ages: NDArray[np.uint64]) -> list[Near]:
        """The first `count` of `places`, by distance and age."""
        if count < len(places):
            border = np.partition(away[places], count - 1)[count - 1]
            # All that are as far as the last one stay, so that age decides among them. What is not a number is last.
            if border == border:
                places = places[away[places] <= border]
        order = np.lexsort((ages[places], away[places]))[:count]
        return [self._near(away, int(place)) for place in places[order]]

    def _near(self, away: Floats, place: int) -> Near:
        return Near(float(away[place]), self._value.by_id[int(self._ids[place])])
