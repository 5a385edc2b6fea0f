"""The walk over all databases: blocks, counts, versions. That what is written can be read: test_loader.py."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.snapshot import SnapshotJob, needs_version
from pyrepl.keyspace.values import HashValue
from pyrepl.rdb.settings import DEFAULT_PACKING
from pyrepl.rdb.types.row import CannotHold
from pyrepl.rdb.values import IdmpState, StreamValue
from pyrepl.rdb.versions import Vendor, numbered


@pytest.fixture
def keyspace() -> Keyspace:
    keyspace = Keyspace(3)
    for db in (keyspace.databases[0], keyspace.databases[2]):
        for i in range(3000):
            db.put(b"k%d" % i, b"x" * 100)
    return keyspace


def job(keyspace: Keyspace, *, version: int = 10, delay_us: int = 0) -> SnapshotJob:
    return SnapshotJob(keyspace, (), numbered(version), DEFAULT_PACKING, compress=False, key_save_delay_us=delay_us)


def test_blocks_are_bounded_and_count_the_keys(keyspace: Keyspace) -> None:
    blocks = list(job(keyspace).blocks())
    assert len(blocks) > 5
    assert max(len(block) for block, _ in blocks) < 80 * 1024
    counts = [count for _, count in blocks]
    assert counts == sorted(counts)
    assert counts[-1] == keyspace.key_count == 6000
    assert blocks[0][0].startswith(b"REDIS0010")


def test_with_a_delay_blocks_hold_few_keys(keyspace: Keyspace) -> None:
    blocks = list(job(keyspace, delay_us=5000).blocks())
    assert max(b - a for (_, a), (_, b) in pairwise(blocks)) <= 10


def test_an_empty_keyspace_is_a_snapshot_too() -> None:
    [(block, count)] = job(Keyspace(16)).blocks()
    assert count == 0
    assert block.startswith(b"REDIS0010")
    assert block[-9] == 0xFF


def test_a_snapshot_without_keys_still_has_the_functions(keyspace: Keyspace) -> None:
    filtered = SnapshotJob(keyspace, (), numbered(10), DEFAULT_PACKING, functions=(b"#!lua name=f",), has_keys=False)
    [(block, count)] = filtered.blocks()
    assert block[:-9] == b"REDIS0010\xf5\x0c#!lua name=f" and block[-9] == 0xFF
    assert count == filtered.key_count == 0
    assert job(keyspace).key_count == 6000


def test_idempotency_ids_need_a_newer_version_where_the_reader_knows_it() -> None:
    keyspace = Keyspace(1)
    db = keyspace.databases[0]
    db.put(b"s", StreamValue(idmp=IdmpState(100, 100, {b"p": {b"i": (1, 1)}}, 1)))
    assert needs_version(keyspace) == needs_version(keyspace, idmp=True, reader=Vendor.VALKEY) == numbered(10)
    assert needs_version(keyspace, idmp=True) == numbered(13)
    db.put(b"h", HashValue({b"f": b"v"}, {b"f": 5}))
    assert needs_version(keyspace) == numbered(12)
    assert needs_version(keyspace, idmp=True) == numbered(13)
    assert needs_version(keyspace, idmp=True, reader=Vendor.VALKEY) == numbered(80)
    db.put(b"h", b"")
    db.put(b"s", StreamValue(idmp=IdmpState()))
    assert needs_version(keyspace, idmp=True) == numbered(10)


def test_field_times_to_live_need_a_newer_version() -> None:
    keyspace = Keyspace(1)
    db = keyspace.databases[0]
    value = HashValue({b"f": b"v"}, {b"f": 5})
    db.put(b"h", value)
    assert needs_version(keyspace) == numbered(12)
    assert needs_version(keyspace, reader=Vendor.VALKEY) == numbered(80)
    with pytest.raises(CannotHold):
        list(job(keyspace).blocks())
    value.persist(b"f")
    assert needs_version(keyspace) == numbered(10)
    assert list(job(keyspace).blocks())
