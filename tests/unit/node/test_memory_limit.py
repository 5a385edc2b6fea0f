"""maxmemory of a node: when it holds, whom it evicts for, and how the time over it is counted."""

from __future__ import annotations

from pyrepl.config.settings import Settings
from pyrepl.keyspace.database import Keyspace
from pyrepl.node.conditions import Conditions
from pyrepl.node.memory_limit import MemoryLimit


def below(n: int) -> int:
    return n // 2


def limit_of(
    keyspace: Keyspace, conditions: Conditions | None = None, *, is_replica: bool = False, **settings: object
) -> MemoryLimit:
    memory = MemoryLimit(keyspace, conditions or Conditions())
    memory.follow(Settings(**settings), evicts=not is_replica)
    return memory


def filled(keys: int) -> Keyspace:
    keyspace = Keyspace(2)
    for i in range(keys):
        keyspace.databases[i % 2].put(b"%03d" % i, b"x" * 100)
    return keyspace


def test_nothing_is_asked_without_a_limit() -> None:
    conditions = Conditions()
    memory = limit_of(filled(10), conditions)
    assert not memory.limited
    assert not conditions.tracked
    assert not memory.is_over


def test_a_policy_that_wants_accesses_is_told_of_them_without_a_limit() -> None:
    conditions = Conditions()
    memory = limit_of(filled(10), conditions, maxmemory_policy="allkeys-lfu")
    assert conditions.tracked
    assert not memory.limited


def test_evicts_until_it_fits() -> None:
    keyspace = filled(100)
    memory = limit_of(keyspace, maxmemory=10_000, maxmemory_policy="allkeys-random")
    assert memory.used_bytes > 10_000
    assert memory.evict(3, below)
    assert len(memory.evicted) == 3
    assert memory.is_over
    assert memory.evict(1000, below)
    assert not memory.is_over
    assert memory.used_bytes > 9000, "no more than needed"
    left = sum(len(db.store.values) for db in keyspace.databases)
    assert len(set(memory.evicted)) == 100 - left
    assert all(key not in keyspace.databases[index].store.values for index, key in memory.evicted)


def test_overhead_counts() -> None:
    memory = limit_of(filled(0), maxmemory=10_000, maxmemory_policy="allkeys-random")
    assert not memory.is_over
    memory.overhead_bytes = 10_001
    assert memory.is_over
    assert not memory.evict(10, below), "there is nothing to evict"


def test_noeviction_and_a_replica_evict_nothing() -> None:
    for memory in (
        limit_of(filled(100), maxmemory=100),
        limit_of(
            filled(100),
            is_replica=True,
            maxmemory=100,
            maxmemory_policy="allkeys-lru",
            replica_ignore_maxmemory=False,
        ),
    ):
        assert memory.is_over
        assert not memory.evict(10, below)
        assert not memory.evicted


def test_a_replica_ignores_its_limit_until_it_is_promoted() -> None:
    settings = Settings(maxmemory=100, maxmemory_policy="allkeys-lru")
    conditions = Conditions()
    memory = MemoryLimit(filled(10), conditions)
    memory.follow(settings, evicts=False)
    assert not memory.limited
    assert conditions.tracked, "it will need the access times"
    memory.follow(settings, evicts=True)
    assert memory.is_over
    assert memory.evict(100, below)


def test_time_over_the_limit() -> None:
    memory = limit_of(filled(10), maxmemory=100)
    memory.watch_clock(5.0)
    assert memory.exceeded_ms(7.0) == (2000, 2000)
    memory.follow(Settings(), evicts=True)
    memory.watch_clock(8.0)
    assert memory.exceeded_ms(20.0) == (3000, 0)
