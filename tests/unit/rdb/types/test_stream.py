"""Streams: what each type carries, what older ones lose, and groups that cannot be."""

from __future__ import annotations

import struct

import pytest

from pyrepl.errors import CorruptData
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.reader import RdbLimits
from pyrepl.rdb.types.row import CannotHold, Form
from pyrepl.rdb.types.stream import encode_stream, estimate_entries_read
from pyrepl.rdb.types.stream_node import encode_id
from pyrepl.rdb.values import IdmpState, PendingEntry, StreamConsumer, StreamGroup, StreamId, StreamValue
from pyrepl.rdb.versions import numbered
from tests.unit.rdb.loading import load
from tests.unit.rdb.old_encodings import key, snapshot, text


def value_of(version: int, kind: int, data: bytes) -> object:
    return load(snapshot(version, key(kind, b"k", data))).values[0][b"k"]


def full() -> StreamValue:
    pending = {
        (6, 0): PendingEntry(111, 3, b"alice"),
        (5, 1): PendingEntry(222, 1, b""),
        (4, 0): PendingEntry(333, 2, b"alice"),
    }
    consumers = {b"alice": StreamConsumer(1000, 900), b"": StreamConsumer(2000, -1), b"idle": StreamConsumer(5, 5)}
    groups = {b"g": StreamGroup((6, 0), 2, pending, consumers), b"": StreamGroup((0, 0))}
    entries = [((5, 1), (b"a", b"1")), ((6, 0), (b"b", b"x"))]
    return StreamValue(list(entries), (9, 0), (5, 1), (4, 0), 7, groups)


def remembering() -> StreamValue:
    """As `full`, with idempotency ids, one of them of an entry that is gone, and a producer without any."""
    stream = full()
    producers = {
        b"p": {b"i": (6, 0), b"": (5, 1), b"x" * 70: (1, 1)},
        b"empty": {},
        b"": {b"i": (2**64 - 1, 2**64 - 1)},
    }
    stream.idmp = IdmpState(86400, 1, producers, 2**64 - 1, 3)
    return stream


@pytest.mark.parametrize(("version", "kind"), [(9, 15), (10, 19), (11, 21), (12, 21), (80, 21)])
def test_each_type_carries_what_it_can(version: int, kind: int) -> None:
    written, body = encode_stream(full(), Form(numbered(version)))
    assert written == kind
    expected = full()
    if kind != 21:
        for consumer in expected.groups[b"g"].consumers.values():
            consumer.active_ms = consumer.seen_ms
    if kind == 15:
        expected.max_deleted_id = (0, 0)
        expected.entries_added = 2
        expected.groups[b"g"].entries_read = -1
        expected.groups[b""].entries_read = 0
    assert value_of(12, written, body) == expected


def test_version_13_carries_the_idempotency_ids() -> None:
    written, body = encode_stream(remembering(), Form(numbered(13)))
    assert written == 26
    assert value_of(13, written, body) == remembering()
    value = value_of(13, written, body)
    assert isinstance(value, StreamValue)
    assert value.idmp is not None
    assert [list(entries) for entries in value.idmp.producers.values()] == [[b"i", b"", b"x" * 70], [], [b"i"]]


@pytest.mark.parametrize("version", [9, 10, 11, 12, 80])
def test_older_versions_lose_the_idempotency_ids_alone(version: int) -> None:
    assert encode_stream(remembering(), Form(numbered(version))) == encode_stream(full(), Form(numbered(version)))


def test_version_13_without_idempotency_ids() -> None:
    written, body = encode_stream(full(), Form(numbered(13)))
    assert written == 26
    value = value_of(13, written, body)
    assert value == full()
    assert isinstance(value, StreamValue)
    assert value.idmp is None


EMPTY_13 = encode_stream(StreamValue(), Form(numbered(13)))[1][:-7]
"""An empty stream of type 26 up to its idempotency ids: duration, entries, producers and two counters are cut off."""


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (b"\x00\x01\x00\x00\x00", "Stream IDMP duration out of range: 0 s"),
        (b"\x80\x00\x01\x51\x81\x01\x00\x00\x00", "Stream IDMP duration out of range: 86401 s"),
        (b"\x01\x00\x00\x00\x00", "Stream IDMP max entries out of range: 0"),
        (b"\x01\x67\x11\x00\x00\x00", "Stream IDMP max entries out of range: 10001"),
        (b"\x01\x01\x02\x01p\x00\x01p\x00\x00\x00", "Duplicated IDMP producer b'p'"),
    ],
)
def test_idempotency_ids_that_cannot_be(tail: bytes, message: str) -> None:
    with pytest.raises(CorruptData, match=message):
        value_of(13, 26, EMPTY_13 + tail)


@pytest.mark.parametrize("tail", [b"\x01\x01\x81" + b"\xff" * 8, b"\x01\x01\x01\x01p\x80\xff\xff\xff\xff"])
def test_a_count_of_producers_or_ids_is_a_claim(tail: bytes) -> None:
    data = snapshot(13, key(26, b"k", EMPTY_13 + tail))
    with pytest.raises(CorruptData, match="elements declared"):
        load(data, RdbLimits(input_bytes=len(data)))


def test_an_idempotency_id_that_comes_twice() -> None:
    """Redis 8.6 keeps the first."""
    value = value_of(13, 26, EMPTY_13 + b"\x01\x01\x01\x01p\x02\x01i\x05\x01\x01i\x06\x01\x02\x00")
    assert isinstance(value, StreamValue)
    assert value.idmp == IdmpState(1, 1, {b"p": {b"i": (5, 1)}}, 2, 0)


def test_before_streams() -> None:
    with pytest.raises(CannotHold, match="a stream needs RDB version 9, not 8"):
        encode_stream(full(), Form(numbered(8)))


def test_empty_stream() -> None:
    value = StreamValue([], (9, 9), (0, 0), (9, 9), 1)
    written, body = encode_stream(value, Form(numbered(10)))
    assert value_of(10, written, body) == value


@pytest.mark.parametrize(
    ("stream", "group", "expected"),
    [
        (StreamValue(), (5, 0), 0),
        (StreamValue([], (9, 0), entries_added=4), (9, 0), 4),
        (StreamValue([], (9, 0), entries_added=4), (3, 0), 4),
        (StreamValue([((5, 0), ()), ((9, 0), ())], (9, 0), (5, 0), entries_added=4), (9, 0), 4),
        (StreamValue([((5, 0), ()), ((9, 0), ())], (9, 0), (5, 0), entries_added=4), (9, 1), -1),
        (StreamValue([((5, 0), ()), ((9, 0), ())], (9, 0), (5, 0), entries_added=4), (4, 0), 2),
        (StreamValue([((5, 0), ()), ((9, 0), ())], (9, 0), (5, 0), entries_added=4), (5, 0), 3),
        (StreamValue([((5, 0), ()), ((9, 0), ())], (9, 0), (5, 0), entries_added=4), (6, 0), -1),
        (StreamValue([((5, 0), ()), ((9, 0), ())], (9, 0), (5, 0), (7, 0), 4), (4, 0), -1),
        (StreamValue([((5, 0), ()), ((9, 0), ())], (9, 0), (5, 0), (4, 0), 4), (4, 0), 2),
    ],
)
def test_entries_read_is_worked_out_as_redis_does(stream: StreamValue, group: StreamId, expected: int) -> None:
    assert estimate_entries_read(stream, group) == expected


NODE = b"\x10" + encode_id((5, 1)) + text(encode_listpack([b"%d" % n for n in (1, 0, 0, 0, 2, 0, 0, 3)]))
COUNTERS = b"\x01" + b"\x05\x01" + b"\x05\x01" + b"\x00\x00" + b"\x01"
RAW = encode_id((5, 1))
NACK = RAW + struct.pack("<q", 1) + b"\x01"
HEAD = b"\x01" + NODE + COUNTERS
ALICE = b"\x05alice" + bytes(8)


def test_the_pieces_of_the_next_test_are_sound() -> None:
    good = HEAD + b"\x01\x01g\x05\x01\x01" + b"\x01" + NACK + b"\x01" + ALICE + b"\x01" + RAW
    value = value_of(10, 19, good)
    assert isinstance(value, StreamValue)
    assert value.groups[b"g"].pending == {(5, 1): PendingEntry(1, 1, b"alice")}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x01" + NODE + b"\x02" + COUNTERS[1:] + b"\x00", "Stream length inconsistent"),
        (b"\x01" + NODE + b"\x01\x05\x00" + COUNTERS[3:] + b"\x00", "last id 5-0 is less"),
        (b"\x02" + NODE + NODE + COUNTERS + b"\x00", "Stream entry 5-1 after 5-1"),
        (HEAD + b"\x02" + b"\x01g\x05\x01\x01\x00\x00" * 2, "Duplicated consumer group name b'g'"),
        (HEAD + b"\x01\x01g\x05\x01\x01\x02" + NACK * 2, "Duplicated global PEL"),
        (HEAD + b"\x01\x01g\x05\x01\x01\x01" + NACK + b"\x00", "1 entries of a group's PEL have no consumer"),
        (HEAD + b"\x01\x01g\x05\x01\x01\x00\x01" + ALICE + b"\x01" + RAW, "not found in group global PEL"),
        (HEAD + b"\x01\x01g\x05\x01\x01\x01" + NACK + b"\x01" + ALICE + b"\x02" + RAW * 2, "Duplicated consumer PEL"),
        (HEAD + b"\x01\x01g\x05\x01\x01\x00\x02" + (ALICE + b"\x00") * 2, "Duplicate stream consumer b'alice'"),
    ],
)
def test_refused(data: bytes, message: str) -> None:
    with pytest.raises(CorruptData, match=message):
        value_of(10, 19, data)
