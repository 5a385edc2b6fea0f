"""maxmemory with real replicas: what a pyrepl master evicts goes from them too, and their own limit means nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.peers import compare
from tests.peers.kinds import KINDS, REAL
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply, Wire, Word

ROOM_BYTES = 2_000_000
BATCH = 40
"""Commands sent together: few, so that what they bring is small beside the room there is."""
TINY = {"maxmemory": "1mb", "maxmemory-policy": "allkeys-random"}
"""On a replica: below what any server needs to live, so that one that minded it would evict everything."""


def start(lab: Lab, policy: str, **directives: str) -> Node:
    """A pyrepl master with room for ROOM_BYTES of data."""
    master = lab.start("pyrepl")
    master.call("CONFIG", "SET", "maxmemory-policy", policy, *(word for pair in directives.items() for word in pair))
    wait_until("the master has measured itself", lambda: int(master.info("memory")["used_memory_startup"]) > 0)
    limit(master, ROOM_BYTES)
    return master


def limit(master: Node, room_bytes: int) -> None:
    """So much above what it uses."""
    master.call("CONFIG", "SET", "maxmemory", str(int(master.info("memory")["used_memory"]) + room_bytes))


def send(wire: Wire, *words: Word) -> str:
    """OK, or the first word of the error."""
    try:
        wire.call(*words)
    except ErrorReply as error:
        return str(error).split()[0]
    return "OK"


def write(master: Node, count: int) -> None:
    """All kinds of values, about 400 bytes each; six of seven keys have a time to live."""
    commands = list(writes(count))
    with master.connect() as wire:
        for start in range(0, len(commands), BATCH):
            replies = wire.pipeline(commands[start : start + BATCH])
            assert not [reply for reply in replies if isinstance(reply, ErrorReply)]


def writes(count: int) -> Iterator[tuple[Word, ...]]:
    for i in range(count):
        key = f"key:{i}"
        if i % 5 == 0:
            yield "RPUSH", key, *(f"element:{j}" for j in range(5))
        elif i % 5 == 1:
            yield "HSET", key, "field", "x" * 100, "other", i
        elif i % 5 == 2:
            yield "ZADD", key, 1, "one", 2, "two"
        else:
            yield "SET", key, "x" * 300
        if i % 7:
            yield "EXPIRE", key, 1000 + i
        if i % 50 == 0:
            yield "GET", "favourite"
        if i == 10:
            yield "SET", "favourite", "x", "EX", 100_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_what_the_master_evicts_goes_from_its_replica(lab: Lab, kind: str, policy: str) -> None:
    master = start(lab, policy)
    replica = lab.start(kind, master, directives=TINY)
    replica.wait_link_up()
    write(master, 8000)
    evicted = master.stat("evicted_keys")
    assert evicted > 1000
    memory = master.info("memory")
    wait_until("the master keeps its limit", lambda: _keeps_limit(master))
    assert_same(master, replica)
    assert replica.stat("evicted_keys") == 0
    assert master.call("EXISTS", "favourite") == 1, "it was used all the time, and lives longest"
    assert memory["maxmemory_policy"] == policy
    assert master.stat("sync_full") == 1


def assert_same(master: Node, replica: Node) -> None:
    """Without the limit, as the connections that compare would make the master evict more meanwhile."""
    master.call("CONFIG", "SET", "maxmemory", "0")
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


def _keeps_limit(node: Node) -> bool:
    memory = node.info("memory")
    counted_bytes = int(memory["used_memory"]) - int(memory["mem_not_counted_for_evict"])
    return counted_bytes <= int(memory["maxmemory"])


@pytest.mark.parametrize("kind", REAL)
def test_noeviction_refuses_writes_and_nothing_else(lab: Lab, kind: str) -> None:
    # The backlog counts: a large one would take up what DEL sets free.
    master = start(lab, "noeviction", **{"repl-backlog-size": "64kb"})
    replica = lab.start(kind, master, directives=TINY)
    replica.wait_link_up()
    with master.connect() as wire:
        sent = 0
        while (said := send(wire, "SET", f"key:{sent}", "x" * 1000)) == "OK":
            sent += 1
            assert sent < 10_000
        assert said == "OOM"
        assert send(wire, "GET", "key:0") == "OK"
        assert send(wire, "DEL", *(f"key:{i}" for i in range(200))) == "OK"
        assert send(wire, "SET", "key:0", "short") == "OK"
    assert_same(master, replica)
    assert master.stat("evicted_keys") == 0
    assert replica.call("DBSIZE") == sent - 199


def test_a_limit_that_sinks_is_kept_without_a_command(lab: Lab) -> None:
    """The data were there before the limit; the cron evicts in slices, while nobody asks for anything."""
    master = lab.start("pyrepl")
    write(master, 8000)
    replica = lab.start("redis8", master)
    replica.wait_link_up()
    master.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "1gb")
    wait_until("the audit is through", lambda: int(master.info("memory")["used_memory_dataset"]) > 1_000_000)
    limit(master, -1_000_000)
    wait_until("the replica has fewer keys", lambda: replica.call("DBSIZE") < 7000)
    wait_until("the master keeps its limit", lambda: _keeps_limit(master))
    assert_same(master, replica)
