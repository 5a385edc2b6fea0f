"""The verbs of lists: the same answers whether a list is packed or plain, and what they say when there is none."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace import list_verbs
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.list_verbs import slice_of
from pyrepl.keyspace.packed import PackedList
from pyrepl.keyspace.values import ListValue

LONG = b"x" * 2000
"""No packed list holds it."""


@pytest.fixture
def db() -> Database:
    return Keyspace(1).databases[0]


def everything(db: Database) -> list[bytes]:
    return list_verbs.between(db, b"k", 0, -1)


def make(db: Database, packed: bool) -> None:
    """A list of b, c, d."""
    list_verbs.extend(db, b"k", [b"b", b"c", b"d"], False)
    if not packed:
        assert list_verbs.exists(db, b"k")
    assert type(db.store.values[b"k"]) is (PackedList if packed else ListValue)
    db.keyspace.dirty = 0


@pytest.mark.parametrize("packed", [True, False])
def test_the_ends(db: Database, packed: bool) -> None:
    make(db, packed)
    assert list_verbs.push(db, b"k", b"a", True) == 4
    assert list_verbs.push(db, b"k", b"e", False) == 5
    assert list_verbs.extend(db, b"k", [b"1", b"2"], True) == 7
    assert everything(db) == [b"2", b"1", b"a", b"b", b"c", b"d", b"e"]
    assert list_verbs.pop(db, b"k", True) == b"2"
    assert list_verbs.pop(db, b"k", False) == b"e"
    assert list_verbs.size(db, b"k") == 5
    assert db.keyspace.dirty == 6
    assert list_verbs.pop_several(db, b"k", 0, True) == []
    assert list_verbs.pop_several(db, b"k", 2, False) == [b"d", b"c"]
    assert list_verbs.pop_several(db, b"k", 9, False) == [b"b", b"a", b"1"]
    assert db.store.values == {}
    assert db.keyspace.dirty == 11


@pytest.mark.parametrize("packed", [True, False])
def test_the_last_element_takes_the_key_along(db: Database, packed: bool) -> None:
    make(db, packed)
    assert [list_verbs.pop(db, b"k", True) for _ in range(4)] == [b"b", b"c", b"d", None]
    assert db.store.values == {}
    assert db.keyspace.dirty == 3


@pytest.mark.parametrize("left", [True, False])
def test_a_list_that_grows_is_packed_no_more(db: Database, left: bool) -> None:
    make(db, True)
    assert list_verbs.push(db, b"k", LONG, left) == 4
    assert type(db.store.values[b"k"]) is ListValue
    assert list_verbs.pop(db, b"k", left) == LONG
    assert everything(db) == [b"b", b"c", b"d"]
    assert list_verbs.extend(db, b"big", [LONG, b"a"], left) == 2
    assert list_verbs.between(db, b"big", 0, -1) == ([b"a", LONG] if left else [LONG, b"a"])
    assert db.keyspace.dirty == 4


def test_nothing_is_there(db: Database) -> None:
    assert list_verbs.pop(db, b"k", True) is None
    assert list_verbs.pop_several(db, b"k", 1, True) is None
    assert list_verbs.at(db, b"k", 0) is None
    assert not list_verbs.exists(db, b"k") and not list_verbs.replace(db, b"k", 0, b"a")
    assert list_verbs.move(db, b"k", b"other", True, True) is None
    assert list_verbs.extend_existing(db, b"k", [b"a"], True) == list_verbs.size(db, b"k") == 0
    assert list_verbs.insert(db, b"k", b"a", b"b", True) == list_verbs.remove(db, b"k", b"a", 0) == 0
    assert everything(db) == []
    assert list_verbs.positions(db, b"k", b"a", 1, 0, 0) == []
    list_verbs.trim(db, b"k", 0, 1)
    assert db.store.values == {}
    assert db.keyspace.dirty == 0
    assert db.keyspace.misses == 4


@pytest.mark.parametrize("packed", [True, False])
def test_one_place(db: Database, packed: bool) -> None:
    make(db, packed)
    assert [list_verbs.at(db, b"k", index) for index in (0, 2, 3, -1, -3, -4)] == [b"b", b"d", None, b"d", b"b", None]
    assert list_verbs.replace(db, b"k", -1, b"x") and list_verbs.replace(db, b"k", 0, b"y")
    assert not list_verbs.replace(db, b"k", 3, b"z") and not list_verbs.replace(db, b"k", -4, b"z")
    assert everything(db) == [b"y", b"c", b"x"]
    assert db.keyspace.dirty == 2


VERBS: list[Callable[[Database], object]] = [
    lambda db: list_verbs.push(db, b"k", b"a", True),
    lambda db: list_verbs.extend(db, b"k", [b"a"], True),
    lambda db: list_verbs.extend_existing(db, b"k", [b"a"], True),
    lambda db: list_verbs.pop(db, b"k", True),
    lambda db: list_verbs.pop_several(db, b"k", 1, True),
    lambda db: list_verbs.move(db, b"k", b"other", True, True),
    lambda db: list_verbs.at(db, b"k", 0),
    lambda db: list_verbs.exists(db, b"k"),
    lambda db: list_verbs.replace(db, b"k", 0, b"a"),
    lambda db: list_verbs.size(db, b"k"),
    lambda db: list_verbs.between(db, b"k", 0, 1),
    lambda db: list_verbs.trim(db, b"k", 0, 1),
    lambda db: list_verbs.insert(db, b"k", b"a", b"b", True),
    lambda db: list_verbs.remove(db, b"k", b"a", 0),
    lambda db: list_verbs.positions(db, b"k", b"a", 1, 0, 0),
]


@pytest.mark.parametrize("verb", VERBS)
def test_another_type_is_refused(db: Database, verb: Callable[[Database], object]) -> None:
    db.put(b"k", b"text")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        verb(db)
    assert db.store.values == {b"k": b"text"}
    assert db.keyspace.dirty == 0


@pytest.mark.parametrize("packed", [True, False])
def test_the_inside(db: Database, packed: bool) -> None:
    make(db, packed)
    assert list_verbs.insert(db, b"k", b"c", b"b", True) == 4
    assert list_verbs.insert(db, b"k", b"nosuch", b"b", True) == -1
    assert everything(db) == [b"b", b"c", b"b", b"d"]
    assert list_verbs.positions(db, b"k", b"b", 1, 0, 0) == [0, 2]
    assert list_verbs.positions(db, b"k", b"b", -1, 1, 0) == [2]
    assert list_verbs.positions(db, b"k", b"b", 1, 0, 2) == [0]
    assert list_verbs.remove(db, b"k", b"b", -1) == 1
    assert everything(db) == [b"b", b"c", b"d"]
    list_verbs.trim(db, b"k", 1, -2)
    assert everything(db) == [b"c"]
    assert list_verbs.remove(db, b"k", b"c", 0) == 1
    assert db.store.values == {}
    assert db.keyspace.dirty == 1 + 1 + 2 + 1


@pytest.mark.parametrize("packed", [True, False])
def test_moves(db: Database, packed: bool) -> None:
    make(db, packed)
    assert list_verbs.move(db, b"k", b"k", True, False) == b"b"
    assert list_verbs.move(db, b"k", b"other", False, True) == b"b"
    assert everything(db) == [b"c", b"d"]
    assert list_verbs.between(db, b"other", 0, -1) == [b"b"]
    assert list_verbs.move(db, b"other", b"k", False, True) == b"b"
    assert set(db.store.values) == {b"k"}
    assert db.keyspace.dirty == 3


def test_storing_replaces_whatever_was_there(db: Database) -> None:
    db.put(b"k", b"text")
    db.expire_at(b"k", 2**40)
    list_verbs.store(db, b"k", [b"a", b"b"])
    assert everything(db) == [b"a", b"b"]
    assert db.store.expires == {}


@pytest.mark.parametrize("size", [1, 5, 200])
def test_slices_agree_with_a_list(size: int) -> None:
    items = deque(b"%d" % i for i in range(size))
    plain = list(items)
    for start in range(0, size + 1, max(1, size // 7)):
        for end in range(0, size + 1, max(1, size // 7)):
            assert slice_of(items, start, end) == plain[start:end]
