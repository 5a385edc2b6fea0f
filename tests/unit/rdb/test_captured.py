"""What the reader must find in the dumps of real servers (tests/data/README.md says how they were made)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.rdb.events import Aux, End, FunctionLibrary, Header, ResizeDb, SkippedMetadata, SkippedModule, SlotInfo
from pyrepl.rdb.reader import RdbReader
from pyrepl.rdb.values import (
    HashWithTtls,
    IdmpState,
    PendingEntry,
    StreamConsumer,
    StreamEntry,
    StreamGroup,
    StreamValue,
)
from tests.unit.rdb.loading import Loaded, gather, load

DATA = Path(__file__).parents[2] / "data"
FAR_MS = 4102444800123
INF = float("inf")
FULL = ("redis-7.0.rdb", "valkey-8.0.rdb", "redis-8.2.rdb", "redis-8.6.rdb")
ALL = sorted(path.name for path in DATA.glob("*.rdb"))


@pytest.fixture(params=FULL)
def full(request: pytest.FixtureRequest) -> Loaded:
    return load((DATA / request.param).read_bytes())


def test_databases_and_expiries(full: Loaded) -> None:
    assert full.values[3] == {b"in db 3": b"yes", b"same": b"1"}
    assert full.expires == {0: {b"expiring": FAR_MS}, 3: {}}
    sizes = [event[1:] for event in full.others if isinstance(event, ResizeDb)]
    assert sizes == [(len(full.values[0]), 1), (2, 0)]


def test_strings(full: Loaded) -> None:
    strings = {key: value for key, value in full.values[0].items() if isinstance(value, bytes)}
    assert strings == {
        b"int8": b"-12",
        b"int16": b"1234",
        b"int32": b"-123456789",
        b"int64": b"12345678901234",
        b"plain": b"hello world",
        b"lzf": b"ab" * 100,
        b"random": bytes(range(256)),
        b"empty": b"",
        b"123": b"numeric key",
        b"expiring": b"x",
        b"long": b"x1" + bytes((i * 7919 + i * i) % 251 for i in range(20000)),
    }


def test_lists_and_sets(full: Loaded) -> None:
    values = full.values[0]
    assert values[b"list:small"] == [b"a", b"1", b"-70000", b"\x00\xff" * 50]
    assert values[b"list:long"] == [b"item-%d" % i * 10 for i in range(300)]
    assert values[b"list:plain"] == [b"z", bytes((i * i) % 251 for i in range(9000)), b"q"]
    assert values[b"set:intset16"] == {b"%d" % i for i in range(-5, 20)}
    assert values[b"set:intset32"] == {b"1", b"70000"}
    assert values[b"set:intset64"] == {b"1", b"%d" % (1 << 40)}
    assert values[b"set:small"] == {b"a", b"b", b"1"}
    assert values[b"set:big"] == {b"m%d" % i for i in range(200)}


def test_sorted_sets_and_hashes(full: Loaded) -> None:
    values = full.values[0]
    small = {b"a": 1.0, b"b": 0.1, b"c": -1e300, b"d": INF, b"e": -INF, b"f": 1 / 7, b"g": 123456789.12345679}
    assert values[b"zset:small"] == small
    assert values[b"zset:big"] == {b"m%d" % i: i / 7 for i in range(200)}
    assert values[b"hash:small"] == {b"f1": b"v1", b"n": b"42", b"bin\x00": b"x" * 60}
    assert values[b"hash:big"] == {b"f%d" % i: b"v%d" % i for i in range(600)}
    assert values[b"hash:wide"] == {b"f": b"y" * 100}


def test_streams(full: Loaded) -> None:
    values = full.values[0]
    ids = [(1700000000000 + i // 3, i % 3) for i in range(250)]
    kept: list[StreamEntry] = [
        (at, (b"a", b"%d" % i, b"b", b"v%d" % i)) for i, at in enumerate(ids) if i not in (4, 249)
    ]
    assert values[b"stream:big"] == StreamValue(kept, ids[-1], ids[0], ids[-1], 250)
    assert values[b"stream:empty"] == StreamValue([], (9, 9), (0, 0), (9, 9), 1)


def test_consumer_groups(full: Loaded) -> None:
    stream = full.values[0][b"stream:groups"]
    assert isinstance(stream, StreamValue)
    first = stream.groups[b"g1"]
    assert (first.last_id, first.entries_read) == ((7, 0), 3)
    owners = {at: (entry.consumer, entry.delivery_count) for at, entry in first.pending.items()}
    assert owners == {(6, 0): (b"alice", 1), (7, 0): (b"bob", 1)}
    assert all(entry.delivery_ms > 1_700_000_000_000 for entry in first.pending.values())
    assert all(consumer.active_ms > 1_700_000_000_000 for consumer in first.consumers.values())
    second = stream.groups[b"g2"]
    assert second.last_id == (6, 0)
    assert set(second.consumers) == {b"idle"}


def test_functions_and_aux(full: Loaded) -> None:
    assert FunctionLibrary(b"#!lua name=mylib\nredis.register_function('f', function() return 1 end)") in full.others
    names = [event.name for event in full.others if isinstance(event, Aux)]
    assert names[0] in (b"redis-ver", b"valkey-ver")
    assert names[1:] == [b"redis-bits", b"ctime", b"used-mem", b"aof-base"]
    assert isinstance(full.others[-1], End)
    assert full.others[-1].checksum


def test_a_consumer_that_never_got_anything() -> None:
    """Version 11 can say "never active"; version 10 has one time for both."""
    newer = load((DATA / "redis-8.2.rdb").read_bytes()).values[0][b"stream:groups"]
    older = load((DATA / "redis-7.0.rdb").read_bytes()).values[0][b"stream:groups"]
    assert isinstance(newer, StreamValue)
    assert isinstance(older, StreamValue)
    assert newer.groups[b"g2"].consumers[b"idle"].active_ms == -1
    idle = older.groups[b"g2"].consumers[b"idle"]
    assert idle == StreamConsumer(idle.seen_ms, idle.seen_ms)
    assert newer.groups[b"g1"] != StreamGroup((7, 0), 3)
    assert PendingEntry(0, 1, b"alice") not in newer.groups[b"g1"].pending.values()


def test_idempotency_ids() -> None:
    values = load((DATA / "redis-8.6.rdb").read_bytes()).values[0]
    stream = values[b"stream:idmp"]
    assert isinstance(stream, StreamValue)
    ids = [entry_id for entry_id, _ in stream.entries]
    auto = bytes.fromhex("6e95729ee727f0814aedffba55730079")
    producers = {
        b"p1": {b"i1": ids[0], b"i2": ids[1], b"7": ids[3]},
        b"p2": {b"x" * 100: ids[2]},
        b"p3": {auto: ids[4]},
    }
    assert stream.idmp == IdmpState(100, 100, producers, 5, 1)
    tuned = values[b"stream:tuned"]
    assert isinstance(tuned, StreamValue)
    assert tuned.idmp == IdmpState(86400, 10000)
    for plain in (b"stream:big", b"stream:groups", b"stream:empty"):
        value = values[plain]
        assert isinstance(value, StreamValue)
        assert value.idmp is None


def test_metadata_of_keys_is_stepped_over() -> None:
    loaded = load((DATA / "redis-8.6-keymeta.rdb").read_bytes())
    assert loaded.values == {0: {b"k": b"v", b"e": b"x", b"l": [b"1"]}}
    assert loaded.expires == {0: {b"e": 1795443701079}}
    told = [event for event in loaded.others if isinstance(event, SkippedMetadata)]
    assert told == [SkippedMetadata("KMT1"), SkippedMetadata("KMT2")]


@pytest.mark.parametrize("name", ["redis-8.2.rdb", "redis-8.6.rdb"])
def test_field_expiries(name: str) -> None:
    values = load((DATA / name).read_bytes()).values[0]
    small = HashWithTtls({b"f1": b"v1", b"f2": b"v2", b"f3": b"3"}, {b"f1": FAR_MS, b"f3": FAR_MS})
    assert values[b"hash:ttl:small"] == small
    fields = {b"f%d" % i: b"v%d" % i for i in range(600)}
    assert values[b"hash:ttl:big"] == HashWithTtls(fields, {b"f1": FAR_MS, b"f3": FAR_MS, b"f7": FAR_MS + 100000})


def test_idle_times_and_frequencies() -> None:
    lru = load((DATA / "redis-7.0-lru.rdb").read_bytes())
    lfu = load((DATA / "redis-7.0-lfu.rdb").read_bytes())
    for loaded in (lru, lfu):
        assert loaded.values == {0: {b"a": b"1", b"b": b"hello", b"l": [b"1", b"2"]}}
        assert loaded.expires == {0: {b"b": FAR_MS}}
    assert set(lru.idle_s) == {b"a", b"b", b"l"}
    assert all(1 <= idle <= 5 for idle in lru.idle_s.values())
    assert lru.freq == lfu.idle_s == {}
    assert set(lfu.freq) == {b"a", b"b", b"l"}
    assert all(freq == 5 for freq in lfu.freq.values())


def test_slot_info_of_both_vendors() -> None:
    redis8 = load((DATA / "redis-8.2-cluster.rdb").read_bytes())
    valkey8 = load((DATA / "valkey-8.0-cluster.rdb").read_bytes())
    assert redis8.values == valkey8.values == {0: {b"a": b"1", b"foo": b"hello"}}
    assert redis8.expires == valkey8.expires == {0: {b"foo": FAR_MS}}
    assert [event for event in redis8.others if isinstance(event, SlotInfo)] == [
        SlotInfo(12182, 1, 1),
        SlotInfo(15495, 1, 0),
    ]
    assert Aux(b"slot-info", b"12182,1,1") in valkey8.others


def test_modules_are_stepped_over_with_their_names() -> None:
    loaded = load((DATA / "redis-8.2-module.rdb").read_bytes())
    assert loaded.values == {0: {b"a": b"1", b"z": b"last"}}
    skipped = [event for event in loaded.others if isinstance(event, SkippedModule)]
    assert SkippedModule(0, b"g", "graphdata") in skipped
    assert SkippedModule(0, None, "graphdata") in skipped


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 4096])
def test_any_cut_gives_the_same(name: str, size: int) -> None:
    data = (DATA / name).read_bytes()
    reader = RdbReader()
    events = []
    for at in range(0, len(data), size):
        assert not reader.finished
        events += reader.feed(data[at : at + size])
        assert reader.consumed <= at + size
    reader.check_complete()
    assert reader.unused() == b""
    assert gather(events) == load(data)
    assert isinstance(events[0], Header)
