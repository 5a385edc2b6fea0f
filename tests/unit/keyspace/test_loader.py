"""Snapshots into databases, and the snapshots that databases give: what is loaded is what was written."""

from __future__ import annotations

from collections import deque

import pytest

from pyrepl.errors import CorruptData
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.keyspace.loader import Loader
from pyrepl.keyspace.snapshot import SnapshotJob
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, ZsetValue
from pyrepl.rdb.reader import RdbLimits
from pyrepl.rdb.settings import DEFAULT_PACKING
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.versions import numbered


def filled() -> Keyspace:
    keyspace = Keyspace(4)
    db = keyspace.databases[0]
    for i in range(100):
        db.put(b"s%d" % i, b"v%d" % i)
    db.put(b"list", ListValue(deque((b"a", b"b"))))
    db.put(b"hash", HashValue({b"f": b"v", b"g": b"w"}, {b"f": 9000}))
    other = keyspace.databases[2]
    other.put(b"set", SetValue({b"a"}))
    other.put(b"zset", ZsetValue({b"a": 0.5}))
    other.put(b"stream", StreamValue([((1, 1), (b"f", b"v"))], (1, 1), (1, 1), (0, 0), 1))
    db.expire_at(b"s7", 5000)
    other.expire_at(b"set", 7000)
    return keyspace


def snapshot(keyspace: Keyspace, version: int = 12) -> bytes:
    job = SnapshotJob(
        keyspace, ((b"redis-ver", b"7.0.0"),), numbered(version), DEFAULT_PACKING, functions=(b"#!lua name=x",)
    )
    return b"".join(block for block, _ in job.blocks())


def load(data: bytes, keyspace: Keyspace, *, drop_expired_at_ms: int | None = None, merge: bool = False) -> Loader:
    loader = Loader(RdbLimits(), keyspace, drop_expired_at_ms=drop_expired_at_ms, merge=merge)
    for at in range(0, len(data), 37):
        loader.feed(data[at : at + 37])
    loader.end()
    return loader


def test_everything_comes_back() -> None:
    keyspace = Keyspace(4)
    loader = load(snapshot(filled()), keyspace)
    assert keyspace_digest(keyspace) == keyspace_digest(filled())
    assert keyspace.databases[0].store.expires == {b"s7": 5000}
    assert keyspace.databases[2].store.expires == {b"set": 7000}
    assert keyspace.databases[0].volatile_hashes == {b"hash"}
    assert (loader.version, loader.aux[b"redis-ver"], loader.functions) == (numbered(12), b"7.0.0", [b"#!lua name=x"])
    assert (loader.loaded_keys, loader.expired_keys, loader.finished) == (105, 0, True)


def test_a_master_drops_what_has_expired_and_a_replica_keeps_it() -> None:
    data = snapshot(filled())
    master, replica = Keyspace(4), Keyspace(4)
    loader = load(data, master, drop_expired_at_ms=5000)
    assert b"s7" not in master.databases[0].store.values
    assert master.databases[0].store.expires == {}
    assert (loader.loaded_keys, loader.expired_keys) == (104, 1)
    load(data, replica)
    assert b"s7" in replica.databases[0].store.values


def test_a_key_that_is_there_is_refused_unless_merged() -> None:
    keyspace = Keyspace(4)
    keyspace.databases[0].put(b"s3", b"old")
    keyspace.databases[0].expire_at(b"s3", 1)
    with pytest.raises(CorruptData, match="duplicated key b's3' in DB 0"):
        load(snapshot(filled()), keyspace)
    assert keyspace.databases[0].store.values[b"s3"] == b"old"
    load(snapshot(filled()), keyspace, merge=True)
    assert keyspace_digest(keyspace) == keyspace_digest(filled())


def test_a_snapshot_that_ends_early_is_an_error() -> None:
    with pytest.raises(CorruptData):
        load(snapshot(filled())[:-20], Keyspace(4))
