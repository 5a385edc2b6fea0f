"""Dropped collections are freed in slices; small ones are not kept at all."""

from __future__ import annotations

from collections import deque

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.disposal import SMALL, Disposal
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.vectors import Q8, VectorNode, VectorSetValue


def test_slices_are_bounded() -> None:
    disposal = Disposal()
    dropped = {b"%d" % number: b"v" for number in range(3 * SMALL)}
    disposal.take_keys(dropped)
    assert disposal.elements == 3 * SMALL
    assert disposal.run(SMALL) and len(dropped) == 2 * SMALL
    assert disposal.run(SMALL) and not disposal.run(2 * SMALL)
    assert disposal.is_empty and not dropped


def test_what_is_small_is_let_go_at_once() -> None:
    disposal = Disposal()
    disposal.take({b"k": b"v"})
    disposal.take_value(HashValue({b"f": b"v"}))
    assert disposal.is_empty


def test_large_collections_inside_are_sliced_too() -> None:
    texts = [b"%d" % number for number in range(2 * SMALL)]
    values: list[Value] = [
        HashValue(dict.fromkeys(texts, b"")),
        ListValue(deque(texts)),
        SetValue(set(texts)),
        ZsetValue(dict.fromkeys(texts, 1.0)),
    ]
    disposal = Disposal()
    disposal.take_keys(dict.fromkeys(texts, b"string") | {b"%d" % number: value for number, value in enumerate(values)})
    assert disposal.run(2 * SMALL)
    assert disposal.elements == 4 * 2 * SMALL
    assert [disposal.run(2 * SMALL) for _ in range(4)] == [True, True, True, False]


def test_a_database_that_is_cleared_hands_over_what_it_had() -> None:
    keyspace = Keyspace(1)
    db = keyspace.databases[0]
    for number in range(2 * SMALL):
        db.put(b"%d" % number, b"v")
        db.expire_at(b"%d" % number, 5)
    dropped = db.store.values
    assert db.clear() == 2 * SMALL
    assert not db.store.values and keyspace.disposal.elements == 4 * SMALL
    assert len(dropped) == 2 * SMALL
    while keyspace.disposal.run(1000):
        pass
    assert not dropped


def test_what_is_deleted_expires_or_is_evicted_is_freed_later() -> None:
    keyspace = Keyspace(1)
    db = keyspace.databases[0]
    texts = [b"%d" % number for number in range(SMALL + 1)]
    drops = (db.drop, db.expire, db.evict)
    for drop in drops:
        db.put(b"hash", HashValue(dict.fromkeys(texts, b"")))
        drop(b"hash")
    assert keyspace.disposal.elements == 3 * len(texts)
    assert not db.drop(b"hash") and not db.store.values


def test_what_is_kept_beside_the_elements_is_sliced_too() -> None:
    texts = [b"%d" % number for number in range(SMALL + 1)]
    zset, members = ZsetValue(dict.fromkeys(texts, 1.0)), SetValue(set(texts))
    assert len(zset.order) == len(texts) and members.pick(lambda n: 0) in members.members
    stream = StreamValue([((1, number), (b"f", b"v")) for number in range(SMALL + 1)])
    vectors = VectorSetValue(1, Q8)
    for number, text in enumerate(texts, 1):
        vectors.add(VectorNode(text, number, b"x", 1.0, 1.0, [[]]))
    disposal = Disposal()
    for value in (zset, members, stream, vectors):
        disposal.take_value(value)
    assert disposal.elements == (2 + 2 + 1 + 2) * len(texts)
    assert disposal.run(6 * len(texts)) and not disposal.run(len(texts)) and disposal.is_empty


def test_what_has_gone_from_a_set_is_sliced_too() -> None:
    texts = [b"%d" % number for number in range(4 * SMALL)]
    members = SetValue(set(texts))
    members.pick(lambda n: 0)
    for text in texts[: SMALL + 1]:
        members.discard(text)
    disposal = Disposal()
    disposal.take_value(members)
    assert disposal.elements == (4 * SMALL - SMALL - 1) + 4 * SMALL + (SMALL + 1)


def test_a_value_counts_once_when_the_last_of_it_is_freed() -> None:
    """As Redis 8.2 counts: one for a set of 6000 that is unlinked, none for one that is freed at once."""
    texts = [b"%d" % number for number in range(SMALL + 1)]
    zset = ZsetValue(dict.fromkeys(texts, 1.0))
    assert len(zset.order) == len(texts)
    disposal = Disposal()
    assert disposal.take_value(zset) and not disposal.take_value(SetValue({b"a"}))
    assert (disposal.size, disposal.freed) == (1, 0)
    disposal.run(2 * len(texts) - 1)
    assert (disposal.size, disposal.freed) == (1, 0)
    disposal.run(1)
    assert (disposal.size, disposal.freed) == (0, 1) and disposal.is_empty


def test_each_key_of_a_dropped_database_counts_once() -> None:
    texts = [b"%d" % number for number in range(2 * SMALL)]
    disposal = Disposal()
    disposal.take_keys({b"few": b"v", b"keys": HashValue({b"f": b"v"})})
    assert (disposal.size, disposal.freed) == (0, 2)
    disposal.take(dict.fromkeys(texts, 5))
    disposal.take_keys(dict.fromkeys(texts, b"v") | {b"large": SetValue(set(texts))})
    assert (disposal.size, disposal.freed) == (2 * SMALL + 1, 2)
    disposal.run(2 * SMALL)
    assert disposal.freed == 2, "times to live are no values"
    disposal.run(2 * SMALL + 1)
    assert (disposal.size, disposal.freed) == (1, 2 + 2 * SMALL), "the large one waits further"
    while disposal.run(SMALL):
        pass
    assert (disposal.size, disposal.freed) == (0, 2 + 2 * SMALL + 1)
