"""SCAN's promise: what is there from the first call to the last is returned, whatever happens in between."""

from __future__ import annotations

import random

import pytest

from pyrepl.keyspace import scan
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.scan import ElementScans, element_hash
from pyrepl.store import key_order


def database(count: int) -> Database:
    db = Keyspace(1).databases[0]
    for i in range(count):
        db.put(b"k%d" % i, b"v")
    return db


def test_a_quiet_database_is_returned_once() -> None:
    db = database(1000)
    seen: list[bytes] = []
    cursor, calls = 0, 0
    while True:
        cursor, keys = db.scan(cursor, 10)
        seen.extend(keys)
        calls += 1
        if cursor == 0:
            break
    assert seen == list(reversed(db.store.values))
    assert calls == 100


@pytest.mark.parametrize("seed", range(8))
def test_keys_that_stay_are_returned_despite_churn(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_order, "_MIN_GAPS", 64)
    rng = random.Random(seed)
    db = database(0)
    stay = [b"stay%d" % i for i in range(700)]
    churn = [b"churn%d" % i for i in range(1500)]
    for key in rng.sample(stay + churn, len(stay) + len(churn)):
        db.put(key, b"v")
    renewals: set[int] = set()
    seen: set[bytes] = set()
    cursor = 0
    while True:
        cursor, keys = db.scan(cursor, rng.choice((1, 10, 20)))
        seen.update(key for key in keys if key in db.store.values)
        if cursor == 0:
            break
        for key in rng.sample(churn, 120):
            if not db.delete(key):
                db.replace(key, b"v")
        for key in rng.sample(stay, 5):
            db.put(key, b"w")
        assert db.store.order is not None
        renewals.add(db.store.order.epoch)
        assert len(db.store.order.keys) <= 2 * (len(stay) + len(churn)) + 65
    assert seen >= set(stay)
    assert len(renewals) > 3


def test_cursors_of_nowhere_start_again_or_end() -> None:
    db = database(30)
    cursor, _ = db.scan(0, 10)
    assert db.scan(cursor + 1, 10)[1] == list(reversed(db.store.values))[:10]
    assert db.scan(2**64 - 1, 10)[1] == list(reversed(db.store.values))[:10]
    db.clear()
    assert db.scan(cursor, 10) == (0, [])
    db.put(b"new", b"v")
    assert db.scan(0, 10) == (0, [b"new"])


def test_an_order_that_nobody_uses_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_order, "_MIN_GAPS", 8)
    db = database(10)
    db.scan(0, 1)
    db.keyspace.now_ms += 10 * 60 * 1000
    for i in range(100):
        db.delete(b"x")
        db.put(b"x", b"%d" % i)
    assert db.store.order is None
    assert sorted(db.scan(0, 100)[1]) == sorted(db.store.values)


def test_gaps_of_deleted_keys_are_given_back() -> None:
    db = database(10_000)
    cursor, _ = db.scan(0, 9)
    for i in range(9_980):
        db.delete(b"k%d" % i)
    assert db.store.order is not None
    assert len(db.store.order.keys) <= 2 * 20 + 4096
    found: set[bytes] = set()
    while cursor:
        cursor, keys = db.scan(cursor, 1000)
        found.update(keys)
    assert found >= {b"k%d" % i for i in range(9_980, 9_991)}


def test_an_iteration_ends_though_keys_come_faster_than_it_goes() -> None:
    db = database(100)
    cursor, calls = db.scan(0, 10)[0], 1
    while cursor:
        for i in range(50):
            db.put(b"new%d.%d" % (calls, i), b"v")
        cursor, _ = db.scan(cursor, 10)
        calls += 1
    assert calls == 10


def test_a_key_that_came_back_is_returned_once_by_a_quiet_iteration() -> None:
    db = database(10)
    db.scan(0, 100)
    for i in (3, 7, 3):
        db.delete(b"k%d" % i)
        db.put(b"k%d" % i, b"v")
    assert sorted(db.scan(0, 100)[1]) == sorted(db.store.values)


def test_deletions_alone_free_an_order_that_nobody_uses() -> None:
    db = database(10_000)
    db.scan(0, 10)
    db.keyspace.now_ms += 10 * 60 * 1000
    for i in range(9_000):
        db.delete(b"k%d" % i)
    assert db.store.order is None
    assert len(db.scan(0, 10_000)[1]) == 1000


def test_keys_put_into_the_dict_by_a_load_are_found() -> None:
    db = database(1000)
    cursor, first = db.scan(0, 500)
    db.store.values.update({b"loaded%d" % i: b"v" for i in range(300)})
    seen = set(first)
    while cursor:
        cursor, keys = db.scan(cursor, 100)
        seen.update(keys)
    assert seen >= {b"k%d" % i for i in range(1000)}
    assert set(db.scan(0, 2000)[1]) == set(db.store.values)


def test_random_keys_reach_every_key_and_no_other() -> None:
    db = database(20)
    rng = random.Random(1)
    assert {db.random_key(rng.randrange) for _ in range(400)} == set(db.store.values)
    for i in range(19):
        db.delete(b"k%d" % i)
    assert db.random_key(rng.randrange) == b"k19"
    db.expire_at(b"k19", 1)
    db.keyspace.now_ms = 2
    assert db.random_key(rng.randrange) is None
    assert not db.store.values


def test_small_collections_come_whole() -> None:
    scans = ElementScans()
    members = {b"%d" % i for i in range(100)}
    cursor, found = scans.window(0, b"key", members, 0, 10)
    assert cursor == 0
    assert set(found) == members


@pytest.mark.parametrize("seed", range(5))
def test_elements_that_stay_are_returned_despite_churn_and_lost_caches(seed: int) -> None:
    rng = random.Random(seed)
    scans = ElementScans()
    stay = {b"stay%d" % i for i in range(500)}
    members = stay | {b"churn%d" % i for i in range(500)}
    seen: set[bytes] = set()
    cursor, calls = 0, 0
    while True:
        cursor, found = scans.window(0, b"key", members, cursor, 10)
        assert cursor < 2**53
        seen.update(found)
        calls += 1
        if cursor == 0:
            break
        for i in rng.sample(range(1000), 30):
            members ^= {b"churn%d" % i}
        if rng.random() < 0.2:
            for other in range(20):
                scans.window(1, b"other%d" % other, {b"%d" % i for i in range(200)}, 0, 10)
    assert seen >= stay
    assert calls > 50


def test_elements_of_equal_hash_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "element_hash", lambda element: element_hash(element) % 7)
    scans = ElementScans()
    members = {b"%d" % i for i in range(400)}
    seen: list[bytes] = []
    cursor = 0
    while True:
        cursor, found = scans.window(0, b"key", members, cursor, 10)
        seen.extend(found)
        if cursor == 0:
            break
    assert sorted(seen) == sorted(members)
