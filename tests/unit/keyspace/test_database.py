"""Databases: expiry as master, replica and from the master; times to live, changes, swaps."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Database, Expiry, Keyspace
from pyrepl.keyspace.values import HashValue, ListValue


class Ear:
    def __init__(self) -> None:
        self.dirty_cas = False


@pytest.fixture
def db() -> Database:
    keyspace = Keyspace(2)
    keyspace.now_ms = 1000
    db = keyspace.databases[0]
    db.put(b"k", b"v")
    return db


def test_an_expired_key_is_deleted_on_a_master(db: Database) -> None:
    db.expire_at(b"k", 1001)
    assert db.find(b"k") == b"v"
    db.keyspace.now_ms = 1001
    assert db.has_expired(b"k")
    assert db.find(b"k") is None
    assert not db.store.values
    assert not db.store.expires
    assert db.keyspace.expired == [(0, b"k")]
    assert db.keyspace.expired_keys_count == 1


def test_an_expired_key_is_dropped_by_who_writes_to_a_replica_and_hidden_from_its_readers(db: Database) -> None:
    db.expire_at(b"k", 1000)
    db.keyspace.expiry = Expiry.REMOVE
    assert db.read(b"k") is db.read_kept(b"k") is None
    assert (db.keyspace.hits, db.keyspace.misses) == (0, 2)
    assert db.store.values
    assert db.find(b"k") is None
    assert not db.store.values
    assert not db.store.expires
    assert db.keyspace.expired == [(0, b"k")]
    assert db.keyspace.expired_keys_count == 1


def test_times_to_live_are_ours_that_clients_of_a_replica_set(db: Database) -> None:
    other = db.keyspace.databases[1]
    db.keyspace.expiry = Expiry.REMOVE
    db.expire_at(b"k", 2000)
    db.keyspace.swap(0, 1)
    assert (list(db.own_ttls), list(other.own_ttls)) == ([], [b"k"])
    db.keyspace.expiry = Expiry.IGNORE
    other.expire_at(b"k", 3000)
    assert not other.own_ttls
    db.keyspace.expiry = Expiry.REMOVE
    other.expire_at(b"k", 2000)
    other.clear()
    assert not other.own_ttls


def test_an_expired_key_is_hidden_on_a_replica_and_seen_by_its_master(db: Database) -> None:
    db.expire_at(b"k", 1000)
    db.keyspace.expiry = Expiry.HIDE
    assert db.find(b"k") is None
    assert b"k" in db.store.values
    db.keyspace.expiry = Expiry.IGNORE
    assert db.find(b"k") == b"v"
    assert not db.has_expired(b"k")
    assert db.keyspace.expired == []


def test_put_write_replace_and_update(db: Database) -> None:
    for store, kept in ((db.put, False), (db.write, False), (db.replace, True), (db.update, True)):
        db.expire_at(b"k", 2000)
        store(b"k", b"w")
        assert (b"k" in db.store.expires) is kept
    assert db.keyspace.dirty == 2


def test_overwriting_an_expired_key_records_its_end(db: Database) -> None:
    db.expire_at(b"k", 999)
    db.write(b"k", b"w")
    assert db.keyspace.expired == [(0, b"k")]
    db.keyspace.expiry = Expiry.IGNORE
    db.expire_at(b"k", 999)
    db.put(b"k", b"w")
    assert len(db.keyspace.expired) == 1


def test_changes_and_expiry_tell_watchers(db: Database) -> None:
    ears = [Ear(), Ear(), Ear(), Ear()]
    db.watchers[b"k"] = {ears[0]}
    db.changed(b"k", 0)
    db.watchers[b"k"] = {ears[1]}
    db.write(b"k", b"v")
    db.watchers[b"k"] = {ears[2]}
    db.update(b"k", b"v")
    db.watchers[b"k"] = {ears[3]}
    db.expire_at(b"k", 0)
    db.find(b"k")
    assert all(ear.dirty_cas for ear in ears)
    assert db.keyspace.dirty == 2


def test_types_hits_and_misses(db: Database) -> None:
    db.put(b"l", ListValue())
    with pytest.raises(CommandError, match="WRONGTYPE"):
        db.read_as(bytes, b"l")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        db.find_as(ListValue, b"k")
    assert db.read_as(bytes, b"nosuch") is None
    assert (db.keyspace.hits, db.keyspace.misses) == (1, 1)


def test_swap_exchanges_everything_but_watchers(db: Database) -> None:
    keyspace = db.keyspace
    other = keyspace.databases[1]
    db.expire_at(b"k", 5000)
    db.put(b"h", HashValue({b"f": b"v"}, {b"f": 5000}))
    db.scan(0, 10)
    watchers = db.watchers
    keyspace.swap(0, 1)
    assert db.watchers is watchers
    assert (db.store.values, db.store.expires, db.volatile_hashes, db.store.order) == ({}, {}, set(), None)
    assert other.find(b"k") == b"v"
    assert other.store.expires == {b"k": 5000}
    assert other.volatile_hashes == {b"h"}
    assert sorted(other.scan(0, 10)[1]) == [b"h", b"k"]
    keyspace.swap(1, 1)
    assert len(other.store.values) == 2


def test_clear_counts(db: Database) -> None:
    db.put(b"l", ListValue())
    assert db.clear() == 2
    assert db.clear() == 0
    assert db.random_key(lambda n: 0) is None


def test_what_is_there_without_a_lookup(db: Database) -> None:
    db.put(b"a", b"1")
    db.expire_at(b"k", 999)
    assert db.holds(b"k") and not db.holds(b"b")
    assert db.expiry_of(b"k") == 999 and db.expiry_of(b"a") is None and db.expiry_of(b"b") is None
    assert (db.key_count, db.timed_count, db.keyspace.key_count) == (2, 1, 2)
    assert db.some_expiries(5) == [999] and db.some_expiries(0) == []
    assert db.all_keys() == [b"k", b"a"]
    assert all(size > 0 for size in db.table_bytes()) and db.keyspace.databases[1].table_bytes() == (0, 0)


def test_a_round_and_an_order_are_of_the_keys_that_are_here(db: Database) -> None:
    began = db.key_round()
    assert db.has_round(began) and not db.has_order
    assert began.take(2) == [b"k"] and began.take(2) == []
    db.take_order([b"k"])
    assert db.has_order and db.scan(0, 10) == (0, [b"k"])
    before = db.table_id
    db.keyspace.swap(0, 1)
    assert not db.has_round(began) and not db.has_order
    assert db.keyspace.databases[1].has_round(began) and db.keyspace.databases[1].has_order
    assert db.table_id != before == db.keyspace.databases[1].table_id


def test_who_takes_over_a_database_tells_its_watchers(db: Database) -> None:
    fresh = Keyspace(1).databases[0]
    fresh.put(b"new", b"v")
    fresh.put(b"h", HashValue({b"f": b"v"}, {b"f": 5000}))
    fresh.expire_at(b"new", 5000)
    ears = {key: Ear() for key in (b"k", b"new", b"other")}
    for key, ear in ears.items():
        db.watchers[key] = {ear}
    db.take_over(fresh)
    assert [key for key, ear in ears.items() if ear.dirty_cas] == [b"k", b"new"]
    assert db.all_keys() == [b"new", b"h"] and db.expiry_of(b"new") == 5000 and db.volatile_hashes == {b"h"}
