"""The plain store: values, times to live, what is found whether its time has passed or not, and what is forgotten."""

from __future__ import annotations

import gc

import pytest

from pyrepl.store.plain import PlainStore


@pytest.fixture
def store() -> PlainStore:
    store = PlainStore()
    for key in (b"a", b"b", b"c"):
        assert not store.put(key, key * 2, 0)
    store.expire(b"b", 1000)
    return store


def test_what_is_found_before_its_time_has_passed_and_after(store: PlainStore) -> None:
    assert store.live(b"b", 999) == store.get(b"b") == b"bb"
    assert store.live(b"b", 1000) is None and store.get(b"b") == b"bb" and store.holds(b"b")
    assert store.live(b"a", 1000) == b"aa"
    assert store.get(b"d") is store.live(b"d", 0) is None and not store.holds(b"d")
    assert (store.expiry_of(b"b"), store.expiry_of(b"a"), store.expiry_of(b"d")) == (1000, None, None)
    assert (store.key_count, store.timed_count, store.some_expiries(5)) == (3, 1, [1000])


def test_putting_ends_a_time_to_live_and_replacing_keeps_it(store: PlainStore) -> None:
    store.replace(b"b", b"x", 2000)
    assert (store.get(b"b"), store.expiry_of(b"b")) == (b"x", 1000)
    assert store.put(b"b", b"y", 1000)
    assert (store.get(b"b"), store.expiry_of(b"b")) == (b"y", None)
    store.expire(b"b", 1001)
    assert not store.put(b"b", b"z", 1000)
    store.expire(b"b", 1)
    store.persist(b"b")
    store.persist(b"a")
    assert not store.put(b"b", b"z", 1000) and store.timed_count == 0


def test_a_key_that_goes_takes_its_time_to_live_along(store: PlainStore) -> None:
    assert store.pop(b"b", 0) == b"bb" and store.pop(b"b", 0) is None
    assert (store.key_count, store.timed_count) == (2, 0)


def test_keys_in_their_order(store: PlainStore) -> None:
    store.put(b"a", b"again", 0)
    assert store.all_keys() == store.first_keys(9) == [b"a", b"b", b"c"]
    assert store.newest_keys(2) == [b"c", b"b"] and store.first_keys(1) == [b"a"]
    assert dict(store.items()) == {b"a": b"again", b"b": b"bb", b"c": b"cc"}


def test_what_is_loaded(store: PlainStore) -> None:
    store.scan(0, 1, 0)
    store.load({b"a": b"new", b"d": b"dd"})
    store.load_expiries({b"d": 5})
    assert store.get(b"a") == b"new" and store.expiry_of(b"d") == 5
    assert sorted(store.scan(0, 10, 0)[1]) == [b"a", b"b", b"c", b"d"]


def test_rounds_are_of_one_table(store: PlainStore) -> None:
    keys, timed = store.key_round(exact=True), store.timed_round()
    assert store.has_round(keys) and not store.has_round(timed)
    assert store.has_timed_round(timed) and not store.has_timed_round(keys)
    assert sorted(keys.take(10)) == [b"a", b"b", b"c"] and timed.take(10) == [b"b"]
    before = store.table_id
    values, expires, order = store.clear()
    assert (len(values), expires, order) == (3, {b"b": 1000}, [])
    assert not store.has_round(keys) and not store.has_timed_round(timed)
    assert store.table_id != before and (store.key_count, store.timed_count) == (0, 0)


def test_the_order_follows_what_comes_and_goes(store: PlainStore) -> None:
    assert not store.has_order
    store.close_gaps()
    store.take_order([b"a", b"b", b"c"], 0)
    assert store.has_order and store.scan(0, 1, 0)[1] == [b"c"]
    store.put(b"d", b"", 0)
    store.replace(b"e", b"", 0)
    store.pop(b"b", 0)
    assert store.scan(0, 10, 0) == (0, [b"e", b"d", b"c", b"b", b"a"])
    store.close_gaps()
    assert store.scan(0, 10, 0) == (0, [b"e", b"d", b"c", b"a"])
    assert store.draw(lambda n: n - 1, 0) == b"e"
    assert store.clear()[2] == [b"a", b"c", b"d", b"e"]
    assert not store.has_order


def test_sizes_and_what_may_grow(store: PlainStore) -> None:
    assert all(size > 0 for size in store.table_bytes()) and PlainStore().table_bytes() == (0, 0)
    assert [len(table) for table in store.growable()] == [3, 1]


def test_asking_for_memory_goes_on() -> None:
    store = PlainStore()
    for number in range(3000):
        store.put(b"%d" % number, b"", 0)
    commands = [[b"GET", b"%d" % number] for number in range(200)]
    assert 0 < store.prefetch_commands(commands, 0) <= 200
    assert store.prefetch_words([b"%d" % number for number in range(500)], 1, 2) > 1


def test_the_collector_knows_the_table_from_the_start() -> None:
    """So that it can be taken out of its sight while it is small."""
    store = PlainStore()
    assert gc.is_tracked(store.values)
    store.clear()
    assert gc.is_tracked(store.values)
