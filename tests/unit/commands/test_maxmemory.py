"""maxmemory seen by clients: OOM and its exceptions, eviction before a command and in the stream, accesses."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.gates import OOM
from pyrepl.errors import CommandError
from pyrepl.resp.reply import QUEUED
from tests.unit.commands.rig import Rig


def limited(policy: str = "noeviction", keys: int = 50, **settings: object) -> Rig:
    """A node whose data is a little under its limit."""
    rig = Rig(maxmemory_policy=policy, **settings)
    for i in range(keys):
        rig.say(f"SET k{i} {'x' * 100}")
    rig.stream()
    set_limit(rig, 1)
    set_limit(rig, rig.node.memory.used_bytes + 100)
    return rig


def set_limit(rig: Rig, limit_bytes: int) -> None:
    rig.node.change_settings(["maxmemory"], [limit_bytes])


def test_writes_that_need_memory_are_refused_and_all_else_goes_on() -> None:
    rig = limited()
    assert rig.say(f"SET big {'x' * 1000}") is not None
    for line in ("SET a b", "LPUSH l a", "HSET h a b", "APPEND k0 x", "INCR n", "COPY k0 k100"):
        assert rig.error(line) == OOM
    assert rig.stream() == ["SELECT 0", f"SET big {'x' * 1000}"]
    assert rig.node.stats.errors["OOM"] == 6
    assert rig.say("GET k0") == b"x" * 100
    assert rig.say("EXPIRE k0 100") == 1
    assert rig.say("CONFIG GET maxmemory-policy")
    assert rig.say("DEL big") == 1
    assert not isinstance(rig.say("SET a b"), CommandError)


def test_transactions_as_in_redis() -> None:
    """Over the limit nothing can be queued; what was queued before runs, unless it needs memory; DISCARD always."""
    rig = limited()
    rig.say("MULTI")
    assert rig.say("DEL k1") is QUEUED
    reader, writer = rig.connect(), rig.connect()
    for client, line in ((reader, "GET k0"), (writer, "SET a b")):
        rig.say("MULTI", client)
        assert rig.say(line, client) is QUEUED
    set_limit(rig, 100)
    other = rig.connect()
    rig.say("MULTI", other)
    assert rig.error("GET k0", other) == OOM
    assert rig.error("EXEC", other).startswith("EXECABORT")
    assert rig.error("EXEC", writer) == f"EXECABORT Transaction discarded because of: {OOM}"
    assert rig.say("EXEC", reader) == [b"x" * 100]
    assert rig.say("EXEC") == [1]
    rig.say("MULTI", other)
    assert rig.wire("DISCARD", other) == b"+OK\r\n"


@pytest.mark.parametrize(("lazy", "verb"), [(False, "DEL"), (True, "UNLINK")])
def test_evicted_keys_leave_the_replicas_before_the_command(lazy: bool, verb: str) -> None:
    rig = limited("allkeys-lru", lazyfree_lazy_eviction=lazy)
    rig.pass_s(10)
    for i in range(1, 50):
        rig.say(f"GET k{i}")
    rig.say(f"SET big {'x' * 150}")
    assert rig.node.memory.is_over
    rig.stream()
    rig.say("SET a b")
    lines = rig.stream()
    assert lines[-1] == "SET a b"
    assert lines[:-1]
    assert all(line.startswith(f"{verb} k") for line in lines[:-1])
    assert rig.node.stats.evicted_keys == len(lines) - 1
    assert not rig.node.memory.is_over or rig.node.memory.used_bytes < rig.node.memory.limit_bytes + 400


def test_an_eviction_is_no_part_of_a_transaction() -> None:
    rig = limited("allkeys-random")
    rig.say("MULTI")
    rig.say("SET a 1")
    rig.say("SET b 2")
    set_limit(rig, rig.node.memory.used_bytes - 1)
    rig.stream()
    rig.say("EXEC")
    lines = rig.stream()
    assert lines[0] == "SELECT 0"
    assert lines[1].startswith("DEL k")
    assert lines[-4:] == ["MULTI", "SET a 1", "SET b 2", "EXEC"]


def test_reads_make_room_too() -> None:
    rig = limited("allkeys-random")
    set_limit(rig, rig.node.memory.used_bytes - 1000)
    rig.say("GET k0")
    assert rig.node.stats.evicted_keys > 0
    assert not rig.node.memory.is_over


def test_a_watched_key_that_is_evicted_has_changed() -> None:
    rig = limited("allkeys-random")
    rig.run("WATCH", *(f"k{i}" for i in range(50)))
    set_limit(rig, rig.node.memory.used_bytes - 1)
    other = rig.connect()
    rig.say("PING", other)
    assert rig.node.stats.evicted_keys
    rig.say("MULTI")
    assert rig.wire("EXEC") == b"*-1\r\n"


def test_volatile_policies_refuse_when_no_key_has_a_time_to_live() -> None:
    rig = limited("volatile-ttl")
    rig.say("EXPIRE k3 1000")
    rig.say("EXPIRE k4 10")
    set_limit(rig, rig.node.memory.used_bytes - 1)
    rig.say("PING")
    assert rig.say("EXISTS k4 k3") == 1
    set_limit(rig, 1000)
    assert rig.error("SET a b") == OOM
    assert rig.say("EXISTS k3") == 0
    assert rig.say("EXISTS k5") == 1


def test_a_long_eviction_is_sliced() -> None:
    """Time moves with each look at the clock here: a command waits for one slice only, and is not refused."""
    rig = limited("allkeys-random", keys=200)
    rig.step_s = 0.001
    set_limit(rig, 3000)
    assert not isinstance(rig.say("SET a b"), CommandError)
    assert rig.node.stats.evicted_keys == 16
    rig.step_s = 0.0
    rig.dispatcher.make_room()
    assert not rig.node.memory.is_over


def test_nobody_who_is_not_logged_in_causes_evictions() -> None:
    rig = limited("allkeys-random")
    set_limit(rig, 3000)
    stranger = rig.connect(authenticated=False)
    assert rig.error("GET k0", stranger).startswith("NOAUTH")
    assert rig.node.stats.evicted_keys == 0


def test_a_replica_applies_whatever_its_master_says() -> None:
    rig = limited("allkeys-lru")
    rig.follow()
    rig.node.settings.replica_ignore_maxmemory = False
    set_limit(rig, 100)
    link = rig.node.replication.link_client
    assert rig.dispatcher.apply(rig.call(link), [[b"SET", b"a", b"b"]], 0) == (1, None)
    rig.dispatcher.make_room()
    assert rig.node.stats.evicted_keys == 0
    assert b"a" in rig.node.keyspace.databases[0].store.values
    assert len(rig.node.keyspace.databases[0].store.values) == 51


def test_accesses_are_noted_but_not_by_those_who_only_ask_about_a_key() -> None:
    rig = limited("allkeys-lru")
    rig.pass_s(30)
    for line in ("TTL k0", "TYPE k0", "EXISTS k0", "OBJECT ENCODING k0", "MEMORY USAGE k0"):
        rig.say(line)
    assert rig.say("OBJECT IDLETIME k0") == 30
    silent = rig.connect()
    rig.say("CLIENT NO-TOUCH on", silent)
    rig.say("GET k0", silent)
    assert rig.say("OBJECT IDLETIME k0") == 30
    rig.say("TOUCH k0")
    rig.pass_s(3)
    assert rig.say("OBJECT IDLETIME k0") == 3


def test_frequencies() -> None:
    rig = limited("volatile-lfu")
    assert rig.say("OBJECT FREQ k0") == 5
    for _ in range(100):
        rig.say("GET k0")
    frequency = rig.say("OBJECT FREQ k0")
    assert isinstance(frequency, int)
    assert 7 <= frequency <= 14
    assert rig.error("OBJECT IDLETIME k0").startswith("ERR An LFU maxmemory policy is selected, idle time not tracked.")
