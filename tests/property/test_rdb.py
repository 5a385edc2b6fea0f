"""Snapshots: what is written is read again, however cut; and no mutation brings down the reader."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from anycrc import Model
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.errors import CommandError, CorruptData
from pyrepl.rdb.events import LoadedKeys, RdbEvent
from pyrepl.rdb.payload import decode_payload, encode_payload
from pyrepl.rdb.reader import RdbLimits, RdbReader
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.types.hash import FIELD_TTL_VERSIONS
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.types.stream import IDMP_VERSIONS
from pyrepl.rdb.values import (
    HashWithTtls,
    IdmpState,
    PendingEntry,
    StreamConsumer,
    StreamEntry,
    StreamGroup,
    StreamId,
    StreamValue,
)
from pyrepl.rdb.versions import WRITABLE_VERSIONS, numbered
from pyrepl.rdb.writer import RdbWriter

DATA = Path(__file__).parents[1] / "data"
CORPUS = [path.read_bytes() for path in sorted(DATA.glob("*.rdb"))]

U64 = st.integers(0, (1 << 64) - 1)
MS = st.integers(0, (1 << 47))

integers = st.integers(-(1 << 64), 1 << 64).map(lambda number: b"%d" % number)
texts = st.one_of(
    st.binary(max_size=30),
    integers,
    st.integers(-200, 200).map(lambda number: b"%d" % number),
    st.builds(lambda part, times: part * times, st.binary(min_size=1, max_size=4), st.integers(1, 5000)),
)
scores = st.floats(allow_nan=False)
ids = st.tuples(U64, U64).filter(lambda at: at > (0, 0))

lists = st.lists(texts, min_size=1, max_size=40)
sets = st.one_of(st.sets(texts, min_size=1, max_size=40), st.sets(integers, min_size=1, max_size=40))
zsets = st.dictionaries(texts, scores, min_size=1, max_size=20)
hashes = st.dictionaries(texts, texts, min_size=1, max_size=20)


@st.composite
def ttl_hashes(draw: st.DrawFn) -> HashWithTtls:
    fields = draw(hashes)
    expiring = draw(st.sets(st.sampled_from(sorted(fields)), min_size=1))
    return HashWithTtls(fields, {field: draw(MS) + 1 for field in sorted(expiring)})


idmp_states = st.builds(
    IdmpState,
    st.integers(1, 86400),
    st.integers(1, 10000),
    st.dictionaries(texts, st.dictionaries(texts, st.tuples(U64, U64), max_size=4), max_size=3),
    U64,
    U64,
)


@st.composite
def groups(draw: st.DrawFn, version: int) -> StreamGroup:
    names = sorted(draw(st.sets(texts, max_size=3)))
    consumers = {}
    for name in names:
        seen_ms = draw(MS)
        consumers[name] = StreamConsumer(seen_ms, draw(st.integers(-1, 1 << 47)) if version >= 11 else seen_ms)
    pending: dict[StreamId, PendingEntry] = {}
    if names:
        for at in sorted(draw(st.sets(ids, max_size=5))):
            pending[at] = PendingEntry(draw(MS), draw(st.integers(0, 1 << 40)), draw(st.sampled_from(names)))
    return StreamGroup(draw(ids), draw(st.integers(-1, 1 << 60)), pending, consumers)


@st.composite
def streams(draw: st.DrawFn, version: int) -> StreamValue:
    names = draw(st.lists(texts, max_size=3))
    entries: list[StreamEntry] = []
    for at in sorted(draw(st.sets(ids, max_size=20))):
        fields = draw(st.sampled_from([names, draw(st.lists(texts, max_size=3))]))
        entries.append((at, tuple(part for field in fields for part in (field, draw(texts)))))
    last_id = max(entries[-1][0], draw(ids)) if entries else draw(ids)
    first_id = entries[0][0] if entries else (0, 0)
    found = draw(st.dictionaries(texts, groups(version), max_size=2))
    idmp = draw(st.one_of(st.none(), idmp_states)) if numbered(version) in IDMP_VERSIONS else None
    return StreamValue(entries, last_id, first_id, draw(ids), draw(st.integers(0, 1 << 60)), found, idmp)


def values_of(version: int) -> st.SearchStrategy[object]:
    """Plain values of every kind that the version holds without loss."""
    kinds: list[st.SearchStrategy[object]] = [texts, lists, sets, zsets, hashes]
    if version >= 10:
        kinds.append(streams(version))
    if numbered(version) in FIELD_TTL_VERSIONS:
        kinds.append(ttl_hashes())
    return st.one_of(kinds)


packings = st.builds(
    PackingSettings,
    hash_max_listpack_entries=st.sampled_from([0, 5, 512]),
    zset_max_listpack_entries=st.sampled_from([0, 5, 128]),
    set_max_intset_entries=st.sampled_from([0, 5, 512]),
    set_max_listpack_entries=st.sampled_from([0, 5, 128]),
    set_max_listpack_value=st.sampled_from([0, 64, 1 << 20]),
    hash_max_listpack_value=st.sampled_from([0, 64, 1 << 20]),
    zset_max_listpack_value=st.sampled_from([0, 64, 1 << 20]),
    list_max_listpack_size=st.sampled_from([-5, -2, -1, 0, 1, 7]),
    stream_node_max_bytes=st.sampled_from([0, 1, 100, 4096]),
    stream_node_max_entries=st.sampled_from([0, 1, 3, 100]),
)


def read(data: bytes, cuts: list[int]) -> list[RdbEvent]:
    """The events of a snapshot fed in the pieces between `cuts`. Raises CorruptData."""
    reader = RdbReader(RdbLimits(max_string_bytes=1 << 20))
    events: list[RdbEvent] = []
    ends = [*sorted(cut for cut in cuts if cut < len(data)), len(data)]
    start = 0
    for end in ends:
        events += reader.feed(data[start:end])
        start = end
    reader.check_complete()
    return events


def merged(events: list[RdbEvent]) -> tuple[dict[bytes, object], dict[bytes, int], list[RdbEvent]]:
    """(values, expiries, other events) of a snapshot with one database."""
    values: dict[bytes, object] = {}
    expires: dict[bytes, int] = {}
    others: list[RdbEvent] = []
    for event in events:
        if isinstance(event, LoadedKeys):
            values.update(event.strings)
            values.update(event.others)
            expires.update(event.expires)
        else:
            others.append(event)
    return values, expires, others


def cuts_of(most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, most), max_size=30)


@pytest.mark.parametrize("version", [each.number for each in WRITABLE_VERSIONS if each.number >= 3])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), packing=packings, compress=st.booleans(), checksum=st.booleans())
def test_what_is_written_is_read_again(
    version: int, data: st.DataObject, packing: PackingSettings, compress: bool, checksum: bool
) -> None:
    items = data.draw(st.dictionaries(texts, values_of(version), max_size=8))
    expires = {key: data.draw(st.integers(-(1 << 63), (1 << 63) - 1)) for key in list(items)[::3]}
    writer = RdbWriter(numbered(version), checksum, compress, packing)
    parts = [writer.begin([(b"redis-ver", b"7.0.15")]), writer.select_db(0, len(items), len(expires))]
    parts += [writer.encode_keys(items.items(), expires), writer.end()]
    snapshot = b"".join(parts)
    values, found_expires, others = merged(read(snapshot, []))
    assert values == items
    assert found_expires == expires
    assert merged(read(snapshot, data.draw(cuts_of(len(snapshot))))) == (values, found_expires, others)


@pytest.mark.parametrize("version", [10, 11, 12, 13, 80])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), packing=packings, compress=st.booleans())
def test_payloads_there_and_back(version: int, data: st.DataObject, packing: PackingSettings, compress: bool) -> None:
    value = data.draw(values_of(version))
    assert decode_payload(encode_payload(value, Form(numbered(version), compress, packing))) == value


@settings(max_examples=60, deadline=None)
@given(snapshot=st.sampled_from(CORPUS), data=st.data())
def test_any_cut_of_a_real_dump_gives_the_same(snapshot: bytes, data: st.DataObject) -> None:
    assert merged_all(read(snapshot, data.draw(cuts_of(len(snapshot))))) == merged_all(read(snapshot, []))


def merged_all(events: list[RdbEvent]) -> tuple[dict[tuple[int, bytes], object], list[RdbEvent]]:
    """As merged, for several databases."""
    values: dict[tuple[int, bytes], object] = {}
    others: list[RdbEvent] = []
    for event in events:
        if isinstance(event, LoadedKeys):
            for key, value in [*event.strings.items(), *event.others]:
                values[event.db, key] = (value, event.expires.get(key), event.idle_s.get(key), event.freq.get(key))
        else:
            others.append(event)
    return values, others


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Bytes changed, cut out, doubled, or put in."""
    edits = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["set", "flip", "cut", "double", "insert", "zero"]),
                st.integers(0, 1 << 20),
                st.integers(1, 12),
                st.binary(min_size=1, max_size=9),
            ),
            min_size=1,
            max_size=4,
        )
    )

    def mutate(data: bytes) -> bytes:
        changed = bytearray(data)
        for kind, where, size, patch in edits:
            at = where % (len(changed) + 1)
            if kind == "set":
                changed[at : at + len(patch)] = patch
            elif kind == "flip" and at < len(changed):
                changed[at] ^= 1 << size % 8
            elif kind == "cut":
                del changed[at : at + size]
            elif kind == "double":
                changed[at:at] = changed[at : at + size]
            elif kind == "zero":
                changed[at : at + size] = bytes(len(changed[at : at + size]))
            else:
                changed[at:at] = patch
        return bytes(changed)

    return mutate


def survives(data: bytes, verify: bool, size: int) -> None:
    """Reading ends in the data or in CorruptData, holding no more bytes than were fed."""
    reader = RdbReader(RdbLimits(max_string_bytes=1 << 20, verify_checksum=verify))
    try:
        for at in range(0, len(data), size):
            reader.feed(data[at : at + size])
            assert reader.consumed + len(reader.unused()) == min(at + size, len(data))
        reader.check_complete()
    except CorruptData as error:
        assert 0 <= error.offset <= len(data)


@settings(max_examples=300, deadline=None)
@given(snapshot=st.sampled_from(CORPUS), mutate=mutations(), size=st.sampled_from([7, 100, 5000, 1 << 20]))
def test_no_mutation_of_a_real_dump_brings_it_down(
    snapshot: bytes, mutate: Callable[[bytes], bytes], size: int
) -> None:
    """The checksum is not looked at, so that the mutation reaches the decoders."""
    survives(mutate(snapshot), False, size)


@pytest.mark.parametrize("version", [3, 7, 8, 9, 10, 11, 12, 13, 80])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), mutate=mutations(), packing=packings, size=st.sampled_from([3, 50, 1 << 20]))
def test_no_mutation_of_any_version_brings_it_down(
    version: int, data: st.DataObject, mutate: Callable[[bytes], bytes], packing: PackingSettings, size: int
) -> None:
    items = data.draw(st.dictionaries(texts, values_of(version), min_size=1, max_size=3))
    writer = RdbWriter(numbered(version), compress=data.draw(st.booleans()), packing=packing)
    survives(writer.begin() + mutate(writer.encode_keys(items.items(), {}) + writer.end()), False, size)


@settings(max_examples=100, deadline=None)
@given(snapshot=st.sampled_from(CORPUS), where=st.integers(0, 1 << 20), bit=st.integers(0, 7))
def test_the_checksum_finds_every_flipped_bit(snapshot: bytes, where: int, bit: int) -> None:
    changed = bytearray(snapshot)
    changed[where % len(changed)] ^= 1 << bit
    with pytest.raises(CorruptData):
        read(bytes(changed), [])


KINDS = [*range(27), 243, 244, 255]


@settings(max_examples=300, deadline=None)
@given(kind=st.sampled_from(KINDS), body=st.binary(max_size=60), version=st.sampled_from([9, 10, 12, 13, 80]))
def test_any_bytes_as_a_payload(kind: int, body: bytes, version: int) -> None:
    data = bytes((kind,)) + body + struct.pack("<H", version)
    payload = data + struct.pack("<Q", Model("CRC64-REDIS").calc(data))
    try:
        value = decode_payload(payload)
    except CommandError as error:
        assert str(error) == "ERR Bad data format"
    else:
        assert decode_payload(encode_payload(value, Form(numbered(max(version, 12))))) == value


@settings(max_examples=200, deadline=None)
@given(data=st.data(), mutate=mutations(), version=st.sampled_from([10, 11, 12, 13, 80]))
def test_no_mutated_payload_brings_it_down(data: st.DataObject, mutate: Callable[[bytes], bytes], version: int) -> None:
    good = encode_payload(data.draw(values_of(version)), Form(numbered(version)))
    body = mutate(good[:-10]) + good[-10:-8]
    payload = body + struct.pack("<Q", Model("CRC64-REDIS").calc(body))
    try:
        decode_payload(payload, RdbLimits(max_string_bytes=1 << 20))
    except CommandError as error:
        assert str(error) in ("ERR Bad data format", "ERR DUMP payload version or checksum are wrong")
