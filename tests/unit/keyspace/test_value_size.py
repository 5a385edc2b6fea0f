"""Sizes of values: estimates, held to what the elements themselves weigh."""

from __future__ import annotations

import sys
from collections import deque

import pytest

from pyrepl.keyspace.value_size import key_bytes, value_bytes
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.vectors import Q8, Projection, VectorNode, VectorSetValue

ITEMS = [b"%0100d" % number for number in range(50)]
WEIGHT = sum(map(sys.getsizeof, ITEMS))


def vector_set() -> VectorSetValue:
    value = VectorSetValue(3, Q8, 16, Projection(4, bytes(48)))
    for number, item in enumerate(ITEMS, 1):
        value.add(VectorNode(item, number, b"", 1.0, 1.0, []))
    return value


@pytest.mark.parametrize(
    "value",
    [
        ListValue(deque(ITEMS)),
        SetValue(set(ITEMS)),
        HashValue(dict.fromkeys(ITEMS, b"")),
        ZsetValue(dict.fromkeys(ITEMS, 1.0)),
        StreamValue([((number, 0), (b"f", item)) for number, item in enumerate(ITEMS)]),
        vector_set(),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("samples", [0, 5, 1000])
def test_collections(value: Value, samples: int) -> None:
    """More than the elements alone, less than four times that; elements of one size need no more samples."""
    assert WEIGHT < value_bytes(value, samples) < 4 * WEIGHT


def test_string_and_key() -> None:
    assert value_bytes(b"x" * 1000, 5) == sys.getsizeof(b"x" * 1000)
    assert key_bytes(b"k" * 500, b"v", 5) - key_bytes(b"k", b"v", 5) == 499


def test_samples_are_the_first() -> None:
    value = ListValue(deque([b"x" * 10_000, *[b"y"] * 999]))
    assert value_bytes(value, 1) > 9_000_000
    assert value_bytes(value, 0) < 100_000


def test_times_to_live_of_fields_count() -> None:
    fields = dict.fromkeys(ITEMS, b"v")
    assert value_bytes(HashValue(fields, dict.fromkeys(ITEMS, 5)), 5) > value_bytes(HashValue(dict(fields)), 5)


def test_a_set_that_was_picked_from_weighs_more() -> None:
    value = SetValue(set(ITEMS))
    before = value_bytes(value, 0)
    value.pick(lambda n: 0)
    assert value_bytes(value, 0) > before
