"""The verbs of sets, packed as a snapshot brought them or plain, and what they say when there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace import set_verbs
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.packed import PackedIntset, PackedSet
from pyrepl.keyspace.values import SetValue
from pyrepl.rdb.packed.intset import encode_intset
from pyrepl.rdb.packed.listpack import encode_listpack


@pytest.fixture
def db() -> Database:
    return Keyspace(1).databases[0]


def last(size: int) -> int:
    """Below `size`, without chance."""
    return size - 1


@pytest.mark.parametrize(
    "stored", [SetValue({b"1", b"2"}), PackedSet(encode_listpack([b"1", b"2"])), PackedIntset(encode_intset([1, 2]))]
)
def test_whatever_form_it_has(db: Database, stored: SetValue | PackedSet | PackedIntset) -> None:
    db.put(b"k", stored)
    assert set_verbs.add(db, b"k", b"1") == 0
    assert set_verbs.add(db, b"k", b"3") == 1
    assert set_verbs.add_several(db, b"k", [b"3", b"4", b"4"]) == 1
    assert set_verbs.size(db, b"k") == 4
    assert set_verbs.contains(db, b"k", b"2")
    assert set_verbs.everything(db, b"k") == set(set_verbs.listed(db, b"k")) == {b"1", b"2", b"3", b"4"}
    assert set_verbs.contains_several(db, b"k", (b"2", b"9", b"4")) == [1, 0, 1]
    assert set_verbs.discard(db, b"k", [b"1", b"9", b"1"]) == 1
    assert db.keyspace.dirty == 3
    assert set_verbs.discard(db, b"k", [b"2", b"3", b"4"]) == 3
    assert db.store.values == {}
    assert db.keyspace.dirty == 6


def test_nothing_is_there(db: Database) -> None:
    assert set_verbs.discard(db, b"k", [b"a"]) == set_verbs.size(db, b"k") == 0
    assert not set_verbs.move(db, b"k", b"other", b"a")
    assert set_verbs.pop(db, b"k", last) is None
    assert set_verbs.take_whole(db, b"k", 5) is None
    assert set_verbs.pop_several(db, b"k", 5, last) == []
    assert set_verbs.pick(db, b"k", last) is None
    assert set_verbs.listed(db, b"k") == [] and set_verbs.everything(db, b"k") == frozenset()
    assert set_verbs.scan(db, b"k") is None
    assert not set_verbs.contains(db, b"k", b"a")
    assert set_verbs.contains_several(db, b"k", (b"a", b"b")) == [0, 0]
    set_verbs.store(db, b"k", set())
    assert db.store.values == {}
    assert (db.keyspace.dirty, db.keyspace.misses) == (0, 7)
    assert set_verbs.add(db, b"k", b"a") == 1
    assert set_verbs.add_several(db, b"other", [b"a", b"b", b"a"]) == 2
    assert db.keyspace.dirty == 3


def test_random_members_stay(db: Database) -> None:
    assert set_verbs.pick(db, b"k", last) is None
    assert set_verbs.pick_several(db, b"k", 2, last) == set_verbs.sample(db, b"k", 2, last) == []
    assert db.keyspace.misses == 3
    set_verbs.add_several(db, b"k", [b"a", b"b", b"c"])
    assert set_verbs.pick(db, b"k", last) in {b"a", b"b", b"c"}
    picked = set_verbs.pick_several(db, b"k", 7, last)
    assert len(picked) == 7 and set(picked) <= {b"a", b"b", b"c"}
    assert len(set(set_verbs.sample(db, b"k", 2, last))) == 2
    assert sorted(set_verbs.sample(db, b"k", 5, last)) == [b"a", b"b", b"c"]
    assert (db.keyspace.hits, db.keyspace.dirty, set_verbs.size(db, b"k")) == (4, 3, 3)


VERBS: list[Callable[[Database], object]] = [
    lambda db: set_verbs.add(db, b"k", b"a"),
    lambda db: set_verbs.add_several(db, b"k", [b"a"]),
    lambda db: set_verbs.discard(db, b"k", [b"a"]),
    lambda db: set_verbs.move(db, b"k", b"other", b"a"),
    lambda db: set_verbs.pop(db, b"k", last),
    lambda db: set_verbs.take_whole(db, b"k", 1),
    lambda db: set_verbs.pop_several(db, b"k", 1, last),
    lambda db: set_verbs.pick(db, b"k", last),
    lambda db: set_verbs.pick_several(db, b"k", 2, last),
    lambda db: set_verbs.sample(db, b"k", 2, last),
    lambda db: set_verbs.listed(db, b"k"),
    lambda db: set_verbs.everything(db, b"k"),
    lambda db: set_verbs.scan(db, b"k"),
    lambda db: set_verbs.contains(db, b"k", b"a"),
    lambda db: set_verbs.contains_several(db, b"k", (b"a",)),
    lambda db: set_verbs.size(db, b"k"),
]


@pytest.mark.parametrize("verb", VERBS)
def test_another_type_is_refused(db: Database, verb: Callable[[Database], object]) -> None:
    db.put(b"k", b"text")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        verb(db)
    assert db.store.values == {b"k": b"text"}
    assert db.keyspace.dirty == 0


def test_moves(db: Database) -> None:
    set_verbs.add_several(db, b"k", [b"a", b"b"])
    set_verbs.add_several(db, b"other", [b"b"])
    db.keyspace.dirty = 0
    assert set_verbs.move(db, b"k", b"k", b"a")
    assert not set_verbs.move(db, b"k", b"k", b"z")
    assert not set_verbs.move(db, b"k", b"other", b"z")
    assert db.keyspace.dirty == 0
    assert set_verbs.move(db, b"k", b"other", b"b")
    assert db.keyspace.dirty == 1
    assert set_verbs.move(db, b"k", b"new", b"a")
    assert db.keyspace.dirty == 3
    assert set(db.store.values) == {b"other", b"new"}


def test_taking(db: Database) -> None:
    everyone = {b"%d" % number for number in range(10)}
    set_verbs.store(db, b"k", set(everyone))
    assert set_verbs.take_whole(db, b"k", 9) is None
    assert set_verbs.pop_several(db, b"k", 0, last) == []
    assert db.keyspace.dirty == 1
    taken = set_verbs.pop_several(db, b"k", 4, last)
    one = set_verbs.pop(db, b"k", last)
    assert one is not None and len({*taken, one}) == 5
    assert db.keyspace.dirty == 1 + 4 + 1
    assert set_verbs.take_whole(db, b"k", 5) == everyone - {*taken, one}
    assert db.store.values == {}
    assert db.keyspace.dirty == 1 + 4 + 1 + 5


def test_the_last_one_popped_takes_the_key_along(db: Database) -> None:
    set_verbs.add(db, b"k", b"a")
    assert set_verbs.pop(db, b"k", last) == b"a"
    assert db.store.values == {}


def test_storing_nothing_deletes(db: Database) -> None:
    db.put(b"k", b"text")
    set_verbs.store(db, b"k", {b"a"})
    assert set_verbs.everything(db, b"k") == {b"a"}
    set_verbs.store(db, b"k", set())
    assert db.store.values == {}
    assert db.keyspace.dirty == 2
