"""The records of the format: equal by content, and shown so that a failed test tells the difference."""

from __future__ import annotations

import pytest

from pyrepl.rdb.values import HashWithTtls, PendingEntry, StreamConsumer, StreamGroup, StreamValue


def stream(count: int = 1, owner: bytes = b"c", seen_ms: int = 1) -> StreamValue:
    group = StreamGroup((1, 1), 5, {(1, 1): PendingEntry(2, count, owner)}, {b"c": StreamConsumer(seen_ms, 2)})
    return StreamValue([((1, 1), (b"f", b"v"))], (1, 1), (1, 1), (0, 0), 1, {b"g": group})


@pytest.mark.parametrize(
    "other",
    [stream(count=2), stream(owner=b"d"), stream(seen_ms=7), StreamValue(), StreamValue([((1, 1), (b"f", b"w"))])],
)
def test_streams_differ_in_every_part(other: StreamValue) -> None:
    assert stream() == stream()
    assert stream() != other
    assert repr(stream()) != repr(other)


def test_hashes_differ_in_fields_and_expiries() -> None:
    value = HashWithTtls({b"f": b"v"}, {b"f": 1})
    assert value == HashWithTtls({b"f": b"v"}, {b"f": 1})
    assert value != HashWithTtls({b"f": b"v"}, {b"f": 2})
    assert value != HashWithTtls({b"f": b"w"}, {b"f": 1})
    assert value != {b"f": b"v"}
    assert "b'f': 1" in repr(value)
