"""Expired hash fields: on access as master, replica and replica's link, and by the cycle."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Database, Expiry, Keyspace
from pyrepl.keyspace.field_expiry import LOOKS, FieldExpiryCycle, find_hash, read_hash
from pyrepl.keyspace.values import HashValue


class Flag:
    """A client that watches."""

    dirty_cas = False


def keyspace_at(now_ms: int, expiry: Expiry = Expiry.DELETE) -> Keyspace:
    keyspace = Keyspace(2)
    keyspace.now_ms = now_ms
    keyspace.expiry = expiry
    return keyspace


def put_hash(db: Database, key: bytes, **times: int) -> HashValue:
    """A hash whose fields expire at the given times, 0 for never."""
    fields = {name.encode(): b"v" for name in times}
    value = HashValue(fields, {name.encode(): at_ms for name, at_ms in times.items() if at_ms} or None)
    db.put(key, value)
    return value


def test_a_master_removes_what_is_due_and_records_it() -> None:
    keyspace = keyspace_at(100)
    db = keyspace.databases[1]
    value = put_hash(db, b"h", early=50, now=100, late=101, never=0)
    watcher = Flag()
    db.watchers[b"h"] = {watcher}
    assert find_hash(db, b"h") is value
    assert set(value.fields) == {b"late", b"never"}
    assert keyspace.expired_fields == [(1, b"h", b"early"), (1, b"h", b"now")]
    assert keyspace.expired_fields_count == 2
    assert keyspace.dirty == 0
    assert watcher.dirty_cas


def test_the_key_goes_with_its_last_field() -> None:
    keyspace = keyspace_at(100)
    db = keyspace.databases[0]
    put_hash(db, b"h", f=5)
    assert read_hash(db, b"h") is None
    assert b"h" not in db.store.values
    assert b"h" not in db.volatile_hashes
    assert keyspace.expired_fields == [(0, b"h", b"f")]


def test_a_replica_hides_what_is_due_and_keeps_it() -> None:
    keyspace = keyspace_at(100, Expiry.HIDE)
    db = keyspace.databases[0]
    value = put_hash(db, b"h", early=50, late=101, never=0)
    put_hash(db, b"gone", f=50)
    seen = read_hash(db, b"h")
    assert seen is not None
    assert set(seen.fields) == {b"late", b"never"}
    assert seen.expires == {b"late": 101}
    assert read_hash(db, b"gone") is None
    assert set(value.fields) == {b"early", b"late", b"never"}
    assert b"gone" in db.store.values
    assert keyspace.expired_fields == []


def test_a_replica_that_may_be_written_to_removes_but_tells_nobody() -> None:
    keyspace = keyspace_at(100, Expiry.HIDE)
    db = keyspace.databases[0]
    value = put_hash(db, b"h", early=50, never=0)
    assert find_hash(db, b"h") is value
    assert set(value.fields) == {b"never"}
    assert keyspace.expired_fields == []


def test_commands_of_the_master_see_every_field() -> None:
    db = keyspace_at(100, Expiry.IGNORE).databases[0]
    value = put_hash(db, b"h", early=50)
    assert find_hash(db, b"h") is value
    assert read_hash(db, b"h") is value
    assert set(value.fields) == {b"early"}


def test_reading_counts_hits_and_misses() -> None:
    keyspace = keyspace_at(100)
    db = keyspace.databases[0]
    put_hash(db, b"h", f=0)
    read_hash(db, b"h")
    read_hash(db, b"nosuch")
    find_hash(db, b"nosuch")
    assert (keyspace.hits, keyspace.misses) == (1, 1)


def test_other_types_are_refused() -> None:
    db = keyspace_at(100).databases[0]
    db.put(b"s", b"text")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        find_hash(db, b"s")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        read_hash(db, b"s")


def test_the_cycle_goes_round_all_databases() -> None:
    keyspace = keyspace_at(100)
    for db in keyspace.databases:
        for number in range(3):
            put_hash(db, b"h%d" % number, due=50, later=200)
    cycle = FieldExpiryCycle(keyspace)
    assert cycle.run(100) == 6
    assert len(keyspace.expired_fields) == 6
    assert all(set(value.fields) == {b"later"} for db in keyspace.databases for value in hashes(db))
    assert cycle.run(100) == 0
    keyspace.now_ms = 200
    assert cycle.run(100) == 6
    assert not any(db.store.values or db.volatile_hashes for db in keyspace.databases)


def hashes(db: Database) -> list[HashValue]:
    return [value for value in db.store.values.values() if isinstance(value, HashValue)]


def test_a_slice_of_the_cycle_is_bounded_and_the_next_goes_on() -> None:
    keyspace = keyspace_at(100)
    db = keyspace.databases[0]
    put_hash(db, b"h", **{f"f{i}": 50 for i in range(10)})
    cycle = FieldExpiryCycle(keyspace)
    assert cycle.run(4) == 4
    assert cycle.run(4) == 4
    assert cycle.run(4) == 2
    assert db.store.values == {}


def test_the_cycle_looks_at_a_bounded_number_of_hashes() -> None:
    keyspace = keyspace_at(100)
    db = keyspace.databases[0]
    for number in range(LOOKS + 10):
        put_hash(db, b"%d" % number, due=50)
    cycle = FieldExpiryCycle(keyspace)
    assert cycle.run(10**6) == LOOKS
    assert cycle.run(10**6) == 10


def test_the_cycle_forgets_hashes_without_times() -> None:
    keyspace = keyspace_at(100)
    db = keyspace.databases[0]
    put_hash(db, b"h", f=500).persist(b"f")
    put_hash(db, b"replaced", f=500)
    db.put(b"replaced", b"text")
    put_hash(db, b"kept", f=500)
    FieldExpiryCycle(keyspace).run(10)
    assert db.volatile_hashes == {b"kept"}


@pytest.mark.parametrize("expiry", [Expiry.HIDE, Expiry.IGNORE])
def test_the_cycle_is_the_masters_alone(expiry: Expiry) -> None:
    keyspace = keyspace_at(100, expiry)
    value = put_hash(keyspace.databases[0], b"h", f=50)
    assert FieldExpiryCycle(keyspace).run(10) == 0
    assert set(value.fields) == {b"f"}
