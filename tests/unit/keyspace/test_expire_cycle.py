"""The active expiry cycle: every expired key goes within a round, slices are bounded, a replica deletes nothing."""

from __future__ import annotations

from pyrepl.keyspace.database import Expiry, Keyspace
from pyrepl.keyspace.expire_cycle import LOOKS, ExpireCycle


def keyspace_with(due: int, later: int, databases: int = 1) -> Keyspace:
    keyspace = Keyspace(databases)
    keyspace.now_ms = 1000
    for db in keyspace.databases:
        for i in range(due):
            db.put(b"due%d" % i, b"v")
            db.expire_at(b"due%d" % i, 1000)
        for i in range(later):
            db.put(b"later%d" % i, b"v")
            db.expire_at(b"later%d" % i, 1001)
    return keyspace


def test_a_slice_deletes_so_many_and_says_so() -> None:
    keyspace = keyspace_with(due=50, later=10)
    cycle = ExpireCycle(keyspace)
    assert [cycle.run(20) for _ in range(4)] == [20, 20, 10, 0]
    assert sorted(keyspace.databases[0].store.values) == sorted(b"later%d" % i for i in range(10))
    assert sorted(keyspace.expired) == sorted((0, b"due%d" % i) for i in range(50))
    assert keyspace.expired_keys_count == 50


def test_all_databases_are_reached_in_one_slice_when_they_are_small() -> None:
    keyspace = keyspace_with(due=2, later=2, databases=4)
    assert ExpireCycle(keyspace).run(100) == 8


def test_a_slice_looks_at_a_bounded_number_of_keys() -> None:
    keyspace = keyspace_with(due=1, later=3 * LOOKS)
    cycle = ExpireCycle(keyspace)
    deleted = [cycle.run(10) for _ in range(4)]
    assert sum(deleted) == 1
    assert deleted.count(0) == 3


def test_keys_that_changed_since_the_list_was_taken_are_looked_at_anew() -> None:
    keyspace = keyspace_with(due=4, later=0)
    cycle = ExpireCycle(keyspace)
    assert cycle.run(1) == 1
    db = keyspace.databases[0]
    left = sorted(db.store.values)
    db.delete(left[0])
    db.expire_at(left[1], 5000)
    db.expire_at(left[2], None)
    assert cycle.run(10) == 0
    assert sorted(db.store.values) == left[1:]


def test_a_replica_deletes_nothing_of_its_masters() -> None:
    keyspace = keyspace_with(due=3, later=0)
    keyspace.expiry = Expiry.HIDE
    assert ExpireCycle(keyspace).run(10) == 0


def test_a_replica_deletes_what_its_own_clients_wrote() -> None:
    keyspace = keyspace_with(due=3, later=0, databases=2)
    db = keyspace.databases[1]
    keyspace.expiry = Expiry.REMOVE
    for key, at_ms in ((b"own due", 900), (b"own later", 2000), (b"own for ever", 900)):
        db.put(key, b"v")
        db.expire_at(key, at_ms)
    db.expire_at(b"own for ever", None)
    keyspace.expiry = Expiry.HIDE
    cycle = ExpireCycle(keyspace)
    assert cycle.run(10) == 1
    assert b"own due" not in db.store.values
    assert list(db.own_ttls) == [b"own later"]
    assert (keyspace.expired, keyspace.expired_keys_count) == ([(1, b"own due")], 1)
    assert len(keyspace.databases[0].store.values) == 3


def test_a_database_swapped_in_the_middle_of_a_round_is_safe() -> None:
    keyspace = keyspace_with(due=0, later=0, databases=2)
    one, two = keyspace.databases
    for i in range(10):
        one.put(b"k%d" % i, b"v")
        one.expire_at(b"k%d" % i, 900)
        two.put(b"k%d" % i, b"v")
    cycle = ExpireCycle(keyspace)
    assert cycle.run(3) == 3
    keyspace.swap(0, 1)
    assert cycle.run(100) == 7
    assert len(keyspace.databases[0].store.values) == 10
    assert not keyspace.databases[1].store.values
