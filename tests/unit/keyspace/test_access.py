"""Access times and frequencies: kept only while wanted, as Redis counts them, and dropped with their keys."""

from __future__ import annotations

from random import Random

import pytest

from pyrepl.keyspace.access import INITIAL_FREQUENCY, MAX_FREQUENCY, AccessTracker, Tracking
from pyrepl.keyspace.database import Keyspace

MINUTE_MS = 60_000


def always(n: int) -> int:
    return 0


def never(n: int) -> int:
    return n - 1


def tracker_of(tracking: Tracking, *keys: bytes) -> tuple[Keyspace, AccessTracker]:
    keyspace = Keyspace(2)
    keyspace.now_ms = 100 * MINUTE_MS
    for key in keys:
        keyspace.databases[0].put(key, b"v")
    tracker = AccessTracker(keyspace)
    tracker.track(tracking)
    return keyspace, tracker


def test_idle_time_counts_from_the_last_access() -> None:
    keyspace, tracker = tracker_of(Tracking.LRU, b"a", b"b")
    db = keyspace.databases[0]
    keyspace.now_ms += 5000
    tracker.touch(db, b"a", always)
    keyspace.now_ms += 2000
    assert (tracker.idle_s(db, b"a"), tracker.idle_s(db, b"b")) == (2, 7)


def test_a_clock_that_goes_back_makes_nothing_younger_than_now() -> None:
    keyspace, tracker = tracker_of(Tracking.LRU, b"a")
    db = keyspace.databases[0]
    tracker.touch(db, b"a", always)
    keyspace.now_ms -= 10_000
    assert tracker.idle_s(db, b"a") == 0


def test_all_accesses_of_a_second_share_one_number() -> None:
    keyspace, tracker = tracker_of(Tracking.LRU, b"a", b"b")
    db = keyspace.databases[0]
    tracker.touch(db, b"a", always)
    keyspace.now_ms += 400
    tracker.touch(db, b"b", always)
    assert db.accesses[b"a"] is db.accesses[b"b"]


def test_a_new_key_begins_with_the_initial_frequency() -> None:
    keyspace, tracker = tracker_of(Tracking.LFU, b"a")
    db = keyspace.databases[0]
    assert tracker.frequency(db, b"a") == INITIAL_FREQUENCY
    tracker.touch(db, b"a", never)
    assert tracker.frequency(db, b"a") == INITIAL_FREQUENCY


def test_the_counter_grows_by_chance_and_ends_at_its_limit() -> None:
    keyspace, tracker = tracker_of(Tracking.LFU, b"lucky", b"unlucky")
    db = keyspace.databases[0]
    for _ in range(300):
        tracker.touch(db, b"lucky", always)
        tracker.touch(db, b"unlucky", never)
    assert tracker.frequency(db, b"lucky") == MAX_FREQUENCY
    # Up to the initial value nothing is left to chance: the odds are 1 in 1.
    assert tracker.frequency(db, b"unlucky") == INITIAL_FREQUENCY + 1


@pytest.mark.parametrize(("hits", "least", "most"), [(100, 8, 13), (1000, 15, 22)])
def test_the_counter_is_logarithmic_as_redis_documents(hits: int, least: int, most: int) -> None:
    """redis.conf's table for factor 10: 10 after 100 hits, 18 after 1000."""
    keyspace, tracker = tracker_of(Tracking.LFU, *(b"%d" % i for i in range(20)))
    db = keyspace.databases[0]
    random = Random(7)
    for key in db.store.values:
        for _ in range(hits):
            tracker.touch(db, key, random.randrange)
    mean = sum(tracker.frequency(db, key) for key in db.store.values) / 20
    assert least <= mean <= most


def test_the_counter_decays_by_the_minute() -> None:
    keyspace, tracker = tracker_of(Tracking.LFU, b"a")
    db = keyspace.databases[0]
    for _ in range(11):
        tracker.touch(db, b"a", always)
    assert tracker.frequency(db, b"a") == 15
    keyspace.now_ms += 4 * MINUTE_MS
    assert tracker.frequency(db, b"a") == 11
    tracker.decay_minutes = 2
    assert tracker.frequency(db, b"a") == 13
    tracker.decay_minutes = 0
    assert tracker.frequency(db, b"a") == 15
    tracker.decay_minutes = 1
    keyspace.now_ms += 1000 * MINUTE_MS
    assert tracker.frequency(db, b"a") == 0


def test_another_meaning_forgets_the_numbers() -> None:
    keyspace, tracker = tracker_of(Tracking.LRU, b"a")
    db = keyspace.databases[0]
    tracker.touch(db, b"a", always)
    tracker.track(Tracking.LRU)
    assert db.accesses
    tracker.track(Tracking.LFU)
    assert not db.accesses
    tracker.touch(db, b"a", always)
    tracker.track(Tracking.NONE)
    assert not db.accesses


def test_numbers_go_with_their_keys() -> None:
    keyspace, tracker = tracker_of(Tracking.LRU, b"a", b"b")
    db = keyspace.databases[0]
    for key in (b"a", b"b"):
        tracker.touch(db, key, always)
    db.delete(b"a")
    tracker.touch(db, b"a", always)
    assert list(db.accesses) == [b"b"]
    db.clear()
    assert not db.accesses


def test_numbers_move_with_their_database() -> None:
    keyspace, tracker = tracker_of(Tracking.LRU, b"a")
    tracker.touch(keyspace.databases[0], b"a", always)
    keyspace.swap(0, 1)
    assert list(keyspace.databases[1].accesses) == [b"a"]
    assert not keyspace.databases[0].accesses


def test_prune_drops_what_is_gone_once_that_is_much() -> None:
    keyspace, tracker = tracker_of(Tracking.LRU, *(b"%d" % i for i in range(5000)))
    db = keyspace.databases[0]
    for key in db.store.values:
        tracker.touch(db, key, always)
    for i in range(500):
        db.delete(b"%d" % i)
    tracker.prune()
    assert len(db.accesses) == 5000
    for i in range(500, 3000):
        db.delete(b"%d" % i)
    tracker.prune()
    assert db.accesses.keys() == db.store.values.keys()


def test_what_a_snapshot_says_is_kept_if_the_policy_goes_by_it() -> None:
    for tracking, kept in ((Tracking.NONE, {}), (Tracking.LRU, {b"a": 6000 - 7}), (Tracking.LFU, {b"a": 100 << 8 | 9})):
        keyspace, tracker = tracker_of(tracking, b"a", b"b")
        tracker.take_loaded(keyspace.databases[0], {b"a": 7}, {b"a": 9})
        assert keyspace.databases[0].accesses == kept


def test_a_snapshot_gets_the_numbers_of_now() -> None:
    keyspace, tracker = tracker_of(Tracking.NONE, b"a", b"b")
    db = keyspace.databases[0]
    assert tracker.clocks(db) is None
    tracker.track(Tracking.LRU)
    keyspace.now_ms += 5000
    tracker.touch(db, b"a", always)
    clocks = tracker.clocks(db)
    keyspace.now_ms += 5000
    assert clocks is not None
    assert [(clocks.of(key), tracker.idle_s(db, key)) for key in (b"a", b"b")] == [(0, 5), (5, 10)]
    tracker.track(Tracking.LFU)
    tracker.touch(db, b"a", always)
    keyspace.now_ms += 2 * MINUTE_MS
    clocks = tracker.clocks(db)
    assert clocks is not None
    assert [clocks.of(key) for key in (b"a", b"b")] == [tracker.frequency(db, key) for key in (b"a", b"b")]
