"""Estimates how many bytes a key and its value occupy, for MEMORY USAGE and maxmemory.

Sizes are CPython's (`sys.getsizeof`), not Redis's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from typing import Final

from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.values import IdmpState, StreamGroup, StreamValue
from pyrepl.rdb.vectors import VectorNode, VectorSetValue

SAMPLES: Final = 5
"""How many elements MEMORY USAGE looks at without the option SAMPLES (Redis 7.0)."""
_ID_BYTES: Final = sys.getsizeof((0, 0)) + sys.getsizeof(1 << 40)
"""The bytes of a stream's id: the pair and its milliseconds. Python shares small numbers, so a sequence counts 0."""
_SLOT_BYTES: Final = 100
"""The bytes that a key takes in the dict of its database: hash, two pointers, index, a share of the empty third."""


def key_bytes(key: bytes, value: Value, samples: int) -> int:
    """The bytes of a key, its place in the database and its value; with `samples` 0 every element is looked at."""
    return _SLOT_BYTES + sys.getsizeof(key) + value_bytes(value, samples)


def value_bytes(value: Value, samples: int) -> int:
    """The bytes of a value and its elements, which are estimated from the first `samples` of them."""
    if isinstance(value, bytes):
        return sys.getsizeof(value)
    frame = sys.getsizeof(value)
    if isinstance(value, ListValue):
        return frame + sys.getsizeof(value.items) + _strings(value.items, len(value.items), samples)
    if isinstance(value, SetValue):
        picked = sys.getsizeof(value.order) + sys.getsizeof(value.gone) if value.order is not None else 0
        return frame + picked + sys.getsizeof(value.members) + _strings(value.members, len(value.members), samples)
    if isinstance(value, HashValue):
        deadlines = sys.getsizeof(value.expires) if value.expires else 0
        size = len(value.fields)
        names = _strings(value.fields, size, samples)
        return frame + deadlines + sys.getsizeof(value.fields) + names + _strings(value.fields.values(), size, samples)
    if isinstance(value, ZsetValue):
        size = len(value.scores)
        scores = size * sys.getsizeof(0.0)
        return frame + sys.getsizeof(value.scores) + scores + _strings(value.scores, size, samples)
    if isinstance(value, VectorSetValue):
        return frame + _vector_set_bytes(value, samples)
    return frame + _stream_bytes(value, samples)


def _strings(elements: Iterable[bytes], count: int, samples: int) -> int:
    """The bytes of `count` strings, by the mean of the first `samples`."""
    sizes = [sys.getsizeof(element) for element in islice(elements, samples or None)]
    return sum(sizes) * count // len(sizes) if sizes else 0


def _stream_bytes(value: StreamValue, samples: int) -> int:
    entries = value.entries
    sizes = [
        sys.getsizeof(entry) + sys.getsizeof(entry[0]) + sys.getsizeof(entry[1]) + sum(map(sys.getsizeof, entry[1]))
        for entry in islice(entries, samples or None)
    ]
    held = sum(sizes) * len(entries) // len(sizes) if sizes else 0
    groups = sum(sys.getsizeof(name) + _group_bytes(group) for name, group in value.groups.items())
    remembered = 0 if value.idmp is None else _idmp_bytes(value.idmp, samples)
    return sys.getsizeof(entries) + held + groups + remembered


def _vector_set_bytes(value: VectorSetValue, samples: int) -> int:
    """The bytes of elements, links and projection; what a search keeps of the vectors is left out."""
    sizes = [_vector_node_bytes(node) for node in islice(value.nodes.values(), samples or None)]
    held = sum(sizes) * len(value) // len(sizes) if sizes else 0
    projection = 0 if value.projection is None else sys.getsizeof(value.projection.matrix)
    return sys.getsizeof(value.nodes) + sys.getsizeof(value.by_id) + held + projection


def _vector_node_bytes(node: VectorNode) -> int:
    links = sum(sys.getsizeof(ids) for ids in node.links)
    parts = (node, node.name, node.vector, node.attributes, node.links, node.id, node.l2, node.range)
    return links + sum(map(sys.getsizeof, parts))


def _idmp_bytes(idmp: IdmpState, samples: int) -> int:
    """The bytes of all producers, by the mean of the first `samples`."""
    sizes = [
        sys.getsizeof(name)
        + sys.getsizeof(entries)
        + _strings(entries, len(entries), samples)
        + len(entries) * _ID_BYTES
        for name, entries in islice(idmp.producers.items(), samples or None)
    ]
    found = sum(sizes) * len(idmp.producers) // len(sizes) if sizes else 0
    return sys.getsizeof(idmp) + sys.getsizeof(idmp.producers) + found


def _group_bytes(group: StreamGroup) -> int:
    pending = sum(sys.getsizeof(entry) for entry in group.pending.values())
    consumers = sum(sys.getsizeof(name) + sys.getsizeof(consumer) for name, consumer in group.consumers.items())
    return sys.getsizeof(group.pending) + pending + sys.getsizeof(group.consumers) + consumers
