"""MIGRATE between pyrepl and real servers, both ways, and beside Redis's own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import count

import pytest

from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply, Reply

SCALE = 300
PASSWORD = "let me in"
KINDS = ("redis7", "redis8", "redis86", "valkey8", "valkey91")


def keys_of(node: Node) -> list[bytes]:
    node.call("SELECT", "0")
    keys: list[bytes] = sorted(node.call("KEYS", "*"))
    return keys


def asked(node: Node, *words: str) -> str:
    """The reply to a command, an error included, as text."""
    try:
        return str(node.call(*words))
    except ErrorReply as error:
        return str(error)


def move_all(source: Node, target: Node, *options: str) -> Reply:
    """Everything in database 0, in one command."""
    return source.call("MIGRATE", "127.0.0.1", str(target.port), "", "0", "5000", *options, "KEYS", *keys_of(source))


@pytest.mark.parametrize("kind", KINDS)
def test_all_types_there_and_back(lab: Lab, kind: str) -> None:
    ours, theirs, kept = lab.start("pyrepl"), lab.start(kind), lab.start("pyrepl")
    for node in (ours, kept):
        dataset.fill(node, ((db, words) for db, words in dataset.commands(SCALE) if db == 0))
    assert compare.differences(ours, kept, times=False) == []
    names = keys_of(ours)
    assert len(names) > 20
    assert move_all(ours, theirs) == "OK"
    assert keys_of(ours) == [] and keys_of(theirs) == names
    assert compare.differences(kept, theirs, times=False) == []
    assert move_all(theirs, ours) == "OK"
    assert keys_of(theirs) == [] and compare.differences(kept, ours, times=False) == []


@pytest.fixture
def pair(lab: Lab) -> Iterator[tuple[Node, Node]]:
    """pyrepl, and the Redis beside which it stands."""
    yield lab.start("pyrepl"), lab.start("redis8")


def test_replies_are_those_of_redis(lab: Lab, pair: tuple[Node, Node]) -> None:
    open_one = lab.start("redis8")
    locked = lab.start("redis8", directives={"requirepass": PASSWORD})
    locked.password = PASSWORD
    numbers = count()
    for target, options in (
        (open_one, ()),
        (open_one, ("COPY",)),
        (open_one, ("COPY",)),
        (open_one, ("REPLACE",)),
        (open_one, ("AUTH", "unwanted")),
        (locked, ()),
        (locked, ("AUTH", "wrong")),
        (locked, ("AUTH", PASSWORD)),
        (locked, ("AUTH2", "default", PASSWORD, "REPLACE")),
        (locked, ("AUTH2", "nobody", PASSWORD)),
    ):
        for database in ("0", "9", "99"):
            number = next(numbers)
            seen = []
            for node in pair:
                target.call("FLUSHALL")
                target.call("SELECT", "0")
                target.call("SET", "there", "before")
                node.call("FLUSHALL")
                node.call("MSET", "k", str(number), "there", "now", "third", "3")
                node.call("PEXPIRE", "k", "1000000")
                one = asked(node, "MIGRATE", "127.0.0.1", str(target.port), "k", database, "2000", *options)
                keys = ("KEYS", "there", "absent", "third")
                more = asked(node, "MIGRATE", "127.0.0.1", str(target.port), "", database, "2000", *options, *keys)
                ours = keys_of(node)
                asked(target, "SELECT", database)
                theirs = sorted(target.call("KEYS", "*"))
                if one != "OK" and "BUSYKEY" not in one:
                    # Redis has sent the keys before it hears that its password or database is refused.
                    theirs = keys_of(target) if node.kind == "pyrepl" else [b"there"]
                seen.append((one, more, ours, theirs))
            assert seen[0] == seen[1], (target.port, options, database)


def test_servers_that_do_not_answer(pair: tuple[Node, Node]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        seen = []
        for node in pair:
            node.call("SET", "k", "v")
            port = str(silent.getsockname()[1])
            waited = asked(node, "MIGRATE", "127.0.0.1", port, "k", "0", "100")
            refused = asked(node, "MIGRATE", "127.0.0.1", "1", "k", "0", "100")
            strange = asked(node, "MIGRATE", "127.0.0.1", "x", "k", "0", "100")
            # Redis notices a refused connection when it writes, and says so; we say that we could not connect.
            seen.append((waited, refused.split()[0], strange.split()[0], node.call("EXISTS", "k")))
    assert seen[0] == seen[1]
    assert seen[0] == ("IOERR error or timeout reading to target instance", "IOERR", "IOERR", 1)


def test_replicas_follow(lab: Lab) -> None:
    master, target = lab.start("pyrepl"), lab.start("redis8")
    replicas = [lab.start(kind, master) for kind in ("redis8", "pyrepl")]
    for replica in replicas:
        replica.wait_link_up()
    master.call("MSET", "a", "1", "b", "2", "c", "3")
    assert master.call("MIGRATE", "127.0.0.1", str(target.port), "", "0", "5000", "KEYS", "a", "b") == "OK"
    script = "return redis.call('MIGRATE', '127.0.0.1', ARGV[1], KEYS[1], 0, 5000)"
    assert master.call("EVAL", script, "1", "c", str(target.port)) in ("OK", b"OK")
    assert target.call("DBSIZE") == 3
    for replica in replicas:
        compare.settle(master, replica)
        assert replica.call("DBSIZE") == 0
