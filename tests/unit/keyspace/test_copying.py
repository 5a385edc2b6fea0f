"""Copies of values: equal, and nothing that can change is shared."""

from __future__ import annotations

from collections import deque

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace.copying import copied
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue, plain_value
from pyrepl.rdb.values import IdmpState, PendingEntry, StreamConsumer, StreamGroup, StreamValue
from pyrepl.rdb.vectors import Q8, VectorSetValue


def stream() -> StreamValue:
    group = StreamGroup((1, 1), 1, {(1, 1): PendingEntry(5, 1, b"c")}, {b"c": StreamConsumer(5, 5)})
    idmp = IdmpState(5, 6, {b"p": {b"i": (1, 1)}}, 1, 2)
    return StreamValue([((1, 1), (b"f", b"v"))], (1, 1), (1, 1), (0, 0), 1, {b"g": group}, idmp)


@pytest.mark.parametrize(
    "value",
    [
        b"text",
        ListValue(deque((b"a", b"b"))),
        SetValue({b"a"}),
        HashValue({b"a": b"1"}, {b"a": 5}),
        ZsetValue({b"a": 1.5}),
        stream(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_copy_is_equal_and_independent(value: Value) -> None:
    copy = copied(value)
    assert plain_value(copy) == plain_value(value)
    if isinstance(copy, ListValue):
        copy.items.append(b"c")
    elif isinstance(copy, SetValue):
        copy.add(b"c")
    elif isinstance(copy, HashValue):
        copy.put(b"a", b"2")
    elif isinstance(copy, ZsetValue):
        copy.put(b"c", 2.0)
    elif isinstance(copy, StreamValue):
        copy.groups[b"g"].pending[1, 1].delivery_count = 9
        copy.groups[b"g"].consumers[b"c"].seen_ms = 9
        copy.entries.append(((2, 1), ()))
        assert copy.idmp is not None
        copy.idmp.producers[b"p"][b"j"] = (2, 1)
    else:
        return
    assert plain_value(copy) != plain_value(value)
    if isinstance(value, StreamValue):
        assert value == stream()


def test_a_vector_set_is_not_copied() -> None:
    with pytest.raises(CommandError, match="not supported for this module key"):
        copied(VectorSetValue(3, Q8))
