"""The verbs of sorted sets: the same answers packed or plain, and what they say when there is none."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace import zset_verbs
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.packed import PackedZset
from pyrepl.keyspace.values import ZsetValue
from pyrepl.keyspace.zset_ranges import RankRange, Window
from pyrepl.keyspace.zset_verbs import Condition

LONG = b"x" * 100
"""No packed sorted set holds it."""


@pytest.fixture
def db() -> Database:
    return Keyspace(1).databases[0]


def first(below: int) -> int:
    """Draws the first of so many."""
    return 0


def kept(packed: bool) -> type:
    return PackedZset if packed else ZsetValue


def make(db: Database, packed: bool) -> None:
    """A sorted set of a: 1, b: 2, c: 3."""
    for member, score in ((b"b", 2.0), (b"a", 1.0), (b"c", 3.0)):
        assert zset_verbs.add(db, b"k", member, score) == 1
    if not packed:
        assert zset_verbs.count_between(db, b"k", RankRange(0, -1)) == 3
    assert type(db.store.values[b"k"]) is kept(packed)
    db.keyspace.dirty = 0


def condition(**words: bool) -> Condition:
    made = Condition()
    for name, value in words.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("packed", [True, False])
def test_adding_and_asking(db: Database, packed: bool) -> None:
    make(db, packed)
    assert zset_verbs.add(db, b"k", b"a", 1.0) == 0
    assert db.keyspace.dirty == 0
    assert zset_verbs.add(db, b"k", b"a", 4.0) == 0
    assert zset_verbs.increment(db, b"k", b"b", 0.5, Condition()) == 2.5
    assert zset_verbs.increment(db, b"k", b"b", 0.0, Condition()) == 2.5
    assert zset_verbs.score(db, b"k", b"a") == 4.0
    assert zset_verbs.scores(db, b"k", (b"b", b"z", b"c")) == [2.5, None, 3.0]
    assert zset_verbs.size(db, b"k") == 3
    assert type(db.store.values[b"k"]) is kept(packed)
    assert db.keyspace.dirty == 2
    assert zset_verbs.rank(db, b"k", b"a", False) == (2, 4.0)
    assert zset_verbs.rank(db, b"k", b"a", True) == (0, 4.0)
    assert zset_verbs.rank(db, b"k", b"z", True) is None


@pytest.mark.parametrize("packed", [True, False])
def test_conditions(db: Database, packed: bool) -> None:
    make(db, packed)
    assert zset_verbs.add_several(db, b"k", (b"a", b"d"), [9.0, 4.0], condition(nx=True)) == (1, 0)
    assert zset_verbs.add_several(db, b"k", (b"a", b"e"), [0.0, 4.0], condition(xx=True)) == (0, 1)
    assert zset_verbs.add_several(db, b"k", (b"b", b"c"), [1.0, 4.0], condition(gt=True)) == (0, 1)
    assert zset_verbs.add_several(db, b"k", (b"b", b"c"), [1.0, 5.0], condition(lt=True)) == (0, 1)
    assert type(db.store.values[b"k"]) is kept(packed)
    assert zset_verbs.scores(db, b"k", (b"a", b"b", b"c", b"d", b"e")) == [0.0, 1.0, 4.0, 4.0, None]
    assert zset_verbs.increment(db, b"k", b"a", 1.0, condition(nx=True)) is None
    assert zset_verbs.increment(db, b"k", b"e", 1.0, condition(xx=True)) is None
    assert db.keyspace.dirty == 4
    assert zset_verbs.add(db, b"k", b"a", inf) == 0
    with pytest.raises(CommandError, match="not a number"):
        zset_verbs.increment(db, b"k", b"a", -inf, Condition())


@pytest.mark.parametrize("packed", [True, False])
def test_removing(db: Database, packed: bool) -> None:
    make(db, packed)
    assert zset_verbs.discard(db, b"k", (b"a", b"z", b"a")) == 1
    assert zset_verbs.pop_several(db, b"k", 0, False) == []
    assert zset_verbs.pop_several(db, b"k", 1, True) == [(3.0, b"c")]
    assert db.keyspace.dirty == 2
    assert zset_verbs.pop_several(db, b"k", 5, False) == [(2.0, b"b")]
    assert db.store.values == {}
    assert db.keyspace.dirty == 3


def test_popping_all_and_slices(db: Database) -> None:
    make(db, False)
    assert zset_verbs.pop_several(db, b"k", 3, True) == [(3.0, b"c"), (2.0, b"b"), (1.0, b"a")]
    make(db, False)
    assert zset_verbs.remove_between(db, b"k", RankRange(5, 6)) == 0
    assert zset_verbs.remove_between(db, b"k", RankRange(0, 1)) == 2
    assert zset_verbs.score(db, b"k", b"c") == 3.0
    assert zset_verbs.remove_between(db, b"k", RankRange(0, 1)) == 1
    assert db.store.values == {}
    assert db.keyspace.dirty == 3


def test_a_sorted_set_that_grows_is_packed_no_more(db: Database) -> None:
    make(db, True)
    assert zset_verbs.add(db, b"k", LONG, 1.0) == 1
    assert type(db.store.values[b"k"]) is ZsetValue
    assert zset_verbs.add(db, b"other", LONG, -0.0) == 1
    assert zset_verbs.add_several(db, b"third", (LONG, b"a"), [1.0, 2.0], Condition()) == (2, 0)
    assert type(db.store.values[b"third"]) is type(db.store.values[b"other"]) is ZsetValue


def test_nothing_is_there(db: Database) -> None:
    assert zset_verbs.add_several(db, b"k", (b"a",), [1.0], condition(xx=True)) == (0, 0)
    assert zset_verbs.discard(db, b"k", (b"a",)) == zset_verbs.size(db, b"k") == 0
    assert zset_verbs.pop_several(db, b"k", 1, True) is None
    assert zset_verbs.remove_between(db, b"k", RankRange(0, -1)) == 0
    assert zset_verbs.scan(db, b"k") is None
    assert zset_verbs.score(db, b"k", b"a") is None
    assert zset_verbs.scores(db, b"k", (b"a", b"b")) == [None, None]
    assert zset_verbs.rank(db, b"k", b"a", False) is None
    zset_verbs.store(db, b"k", {})
    assert db.store.values == {}
    assert (db.keyspace.dirty, db.keyspace.misses) == (0, 5)


@pytest.mark.parametrize("packed", [True, False])
def test_ranges_and_random_members(db: Database, packed: bool) -> None:
    assert zset_verbs.between(db, b"k", RankRange(0, -1), Window()) == zset_verbs.sample(db, b"k", 1, first) == []
    assert zset_verbs.pick(db, b"k", first) is None and zset_verbs.pick_several(db, b"k", 1, first) == []
    assert db.keyspace.misses == 4
    make(db, packed)
    everything = [(1.0, b"a"), (2.0, b"b"), (3.0, b"c")]
    assert zset_verbs.between(db, b"k", RankRange(0, -1), Window()) == everything
    assert zset_verbs.between(db, b"k", RankRange(0, 0), Window(True)) == [(3.0, b"c")]
    assert zset_verbs.count_between(db, b"k", RankRange(1, 5)) == 2
    scan = zset_verbs.scan(db, b"k")
    assert scan is not None and [(scan.content(member), member) for member in scan.window(0, 10)[1]] == everything
    assert zset_verbs.pick(db, b"k", first) == b"a"
    assert zset_verbs.pick_several(db, b"k", 2, first) == [(1.0, b"a")] * 2
    assert zset_verbs.sample(db, b"k", 9, first) == everything
    assert len(set(zset_verbs.sample(db, b"k", 2, first))) == 2
    assert (db.keyspace.dirty, zset_verbs.size(db, b"k")) == (0, 3)


VERBS: list[Callable[[Database], object]] = [
    lambda db: zset_verbs.add(db, b"k", b"a", 1.0),
    lambda db: zset_verbs.add_several(db, b"k", (b"a",), [1.0], Condition()),
    lambda db: zset_verbs.increment(db, b"k", b"a", 1.0, Condition()),
    lambda db: zset_verbs.discard(db, b"k", (b"a",)),
    lambda db: zset_verbs.pop_several(db, b"k", 1, True),
    lambda db: zset_verbs.scan(db, b"k"),
    lambda db: zset_verbs.between(db, b"k", RankRange(0, -1), Window()),
    lambda db: zset_verbs.count_between(db, b"k", RankRange(0, -1)),
    lambda db: zset_verbs.remove_between(db, b"k", RankRange(0, -1)),
    lambda db: zset_verbs.pick(db, b"k", lambda n: n - 1),
    lambda db: zset_verbs.pick_several(db, b"k", 2, lambda n: n - 1),
    lambda db: zset_verbs.sample(db, b"k", 2, lambda n: n - 1),
    lambda db: zset_verbs.size(db, b"k"),
    lambda db: zset_verbs.score(db, b"k", b"a"),
    lambda db: zset_verbs.scores(db, b"k", (b"a",)),
    lambda db: zset_verbs.rank(db, b"k", b"a", False),
]


@pytest.mark.parametrize("verb", VERBS)
def test_another_type_is_refused(db: Database, verb: Callable[[Database], object]) -> None:
    db.put(b"k", b"text")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        verb(db)
    assert db.store.values == {b"k": b"text"}
    assert db.keyspace.dirty == 0


def test_storing(db: Database) -> None:
    db.put(b"k", b"text")
    zset_verbs.store(db, b"k", {b"a": -0.0})
    assert str(zset_verbs.score(db, b"k", b"a")) == "0.0"
    zset_verbs.store(db, b"k", {})
    assert db.store.values == {}
    assert db.keyspace.dirty == 2


@pytest.mark.parametrize("packed", [True, False])
def test_reading_by_scores(db: Database, packed: bool) -> None:
    assert zset_verbs.reader(db, b"k") is None
    make(db, packed)
    reader = zset_verbs.reader(db, b"k")
    assert reader is not None
    assert reader.score(b"b") == 2.0 and reader.score(b"x") is None
    assert [entry for piece in reader.pieces() for entry in piece] == [(1.0, b"a"), (2.0, b"b"), (3.0, b"c")]


def test_storing_counts_as_it_is_told(db: Database) -> None:
    zset_verbs.store(db, b"k", {b"a": 1.0, b"b": 2.0}, changes=2)
    assert db.keyspace.dirty == 2
    db.put(b"s", b"text")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        zset_verbs.scores(db, b"s", ())
