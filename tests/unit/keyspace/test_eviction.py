"""Whom each policy evicts, from which databases, and that draws survive whatever happens to the keys."""

from __future__ import annotations

from random import Random

import pytest

from pyrepl.keyspace.access import AccessTracker
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.eviction import POOL_SIZE, Eviction, KeyDraw, Policy

START_MS = 1_700_000_000_000
POLICIES = [
    f"{who}-{how}" for who in ("allkeys", "volatile") for how in ("lru", "lfu", "random", "ttl")
    if (who, how) != ("allkeys", "ttl")
]  # fmt: skip


class Field:
    """Keys k0..k<n>: every second one has a time to live, k0 is the oldest, least used and first to expire."""

    def __init__(self, policy: str, keys: int = 200, databases: int = 1) -> None:
        self.random = Random(3)
        self.keyspace = Keyspace(databases)
        self.keyspace.now_ms = START_MS
        self.tracker = AccessTracker(self.keyspace)
        meaning = Policy(policy)
        self.tracker.track(meaning.tracking)
        self.eviction = Eviction(self.keyspace, self.tracker)
        self.eviction.follow(meaning)
        for i in range(keys):
            db = self.keyspace.databases[i % databases]
            key = b"k%d" % i
            db.put(key, b"v")
            if i % 2:
                db.expire_at(key, START_MS + 1_000_000 + i * 1000)
            self.keyspace.now_ms += 1000
            for _ in range(i + 1 if policy.endswith("lfu") else 1):
                self.tracker.touch(db, key, lambda n: 0)

    def evict(self, samples: int = 10) -> int:
        """The number of the key that goes."""
        victim = self.eviction.pick(samples, self.random.randrange)
        assert victim is not None
        db, key = victim
        assert key in db.store.values
        db.evict(key)
        return int(key[1:])


@pytest.mark.parametrize("policy", POLICIES)
def test_everything_eligible_goes_and_nothing_else(policy: str) -> None:
    field = Field(policy, keys=60, databases=3)
    eligible = [i for i in range(60) if i % 2 or policy.startswith("allkeys")]
    assert sorted(field.evict() for _ in eligible) == eligible
    assert field.eviction.pick(5, field.random.randrange) is None


@pytest.mark.parametrize("policy", [name for name in POLICIES if not name.endswith("random")])
def test_the_worst_go_first_by_and_large(policy: str) -> None:
    field = Field(policy)
    gone = [field.evict() for _ in range(25)]
    assert sum(gone) / 25 < 45, gone
    assert max(gone) < 130, gone


@pytest.mark.parametrize("policy", ["allkeys-random", "volatile-random"])
def test_random_is_random(policy: str) -> None:
    field = Field(policy, keys=400)
    gone = [field.evict() for _ in range(100)]
    assert 150 < sum(gone) / 100 < 250


def test_noeviction_evicts_nothing() -> None:
    assert Field("noeviction").eviction.pick(5, Random(1).randrange) is None


def test_a_candidate_that_was_accessed_since_is_spared() -> None:
    field = Field("allkeys-lru", keys=POOL_SIZE)
    db = field.keyspace.databases[0]
    field.evict(samples=64)
    spared = min((key for key in db.store.values), key=lambda key: int(key[1:]))
    field.keyspace.now_ms += 50_000
    field.tracker.touch(db, spared, lambda n: 0)
    left = [b"k%d" % field.evict(samples=64) for _ in range(len(db.store.values))]
    assert left[-1] == spared


def test_a_policy_that_changes_begins_anew() -> None:
    field = Field("allkeys-lru", keys=50)
    field.evict()
    field.eviction.follow(Policy("volatile-ttl"))
    assert field.evict() % 2 == 1


def test_draws_follow_the_keys() -> None:
    """Keys that are gone are never drawn; new ones are, once there are as many."""
    random = Random(5)
    draw = KeyDraw()
    db = Keyspace(1).databases[0]
    for i in range(500):
        db.put(b"%d" % i, b"1")
    assert len(set(draw.draw(db, 400, random.randrange, timed=False))) > 200
    for i in range(490):
        db.delete(b"%d" % i)
    assert all(map(db.holds, draw.draw(db, 100, random.randrange, timed=False)))
    for i in range(1000):
        db.put(b"new%d" % i, b"1")
    assert any(key.startswith(b"new") for key in draw.draw(db, 10, random.randrange, timed=False))
    db.expire_at(b"new5", 5)
    assert KeyDraw().draw(db, 2, random.randrange, timed=True) == [b"new5", b"new5"]
