"""A master whose clients wait for elements and hand them on, with replicas of several kinds: all have the same data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import pytest

from tests.peers import compare
from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply, Word

ROUNDS = 150
FOREVER = 0

WORKERS: tuple[tuple[Word, ...], ...] = (
    ("BLPOP", "first", "second", FOREVER),
    ("BRPOP", "second", "first", FOREVER),
    ("BLMOVE", "first", "second", "LEFT", "RIGHT", FOREVER),
    ("BRPOPLPUSH", "second", "kept", FOREVER),
    ("BLMPOP", FOREVER, 2, "third", "first", "LEFT", "COUNT", 2),
    ("BZPOPMIN", "scores", FOREVER),
    ("BZMPOP", FOREVER, 1, "scores", "MAX", "COUNT", 3),
    ("XREADGROUP", "GROUP", "g", "one", "COUNT", 2, "BLOCK", FOREVER, "STREAMS", "entries", ">"),
    ("XREADGROUP", "GROUP", "g", "two", "NOACK", "BLOCK", FOREVER, "STREAMS", "entries", ">"),
    ("XREAD", "BLOCK", FOREVER, "STREAMS", "entries", "$"),
)


@pytest.mark.parametrize("kinds", [("redis8", "valkey8"), ("valkey91", "pyrepl")], ids="-".join)
def test_replicas_have_what_is_left(lab: Lab, kinds: tuple[str, str]) -> None:
    master = lab.start("pyrepl", directives={"appendonly": "yes"})
    master.call("XGROUP", "CREATE", "entries", "g", "$", "MKSTREAM")
    replicas = [lab.start(kind, master) for kind in kinds]
    for replica in replicas:
        replica.wait_link_up()
    with workers(master):
        produce(master, Random(1))
    compare.settle(master, *replicas)
    for replica in replicas:
        compare.assert_equal(master, replica)
    before = master.call("DEBUG", "DIGEST")
    assert master.call("DBSIZE") > 1, "something was left"
    master.call("DEBUG", "LOADAOF")
    assert master.call("DEBUG", "DIGEST") == before, "the append-only file has what is left too"


def produce(master: Node, random: Random) -> None:
    """Write what the workers wait for, at times several keys in one transaction."""
    with master.connect() as wire:
        for number in range(ROUNDS):
            writes: list[tuple[Word, ...]] = [
                ("RPUSH", random.choice(("first", "second", "third")), *range(random.randint(1, 4))),
                ("ZADD", "scores", number, f"member{number}", number / 2, f"half{number}"),
                ("XADD", "entries", "*", "number", number),
            ]
            chosen = random.sample(writes, random.randint(1, 3))
            if len(chosen) > 1:
                chosen = [("MULTI",), *chosen, ("EXEC",)]
            for reply in wire.pipeline(chosen):
                assert not isinstance(reply, ErrorReply), reply


@contextmanager
def workers(master: Node) -> Iterator[None]:
    """Clients that repeat their command, each of WORKERS, until the end of the block."""
    is_over = threading.Event()
    failures: list[Exception] = []
    threads = [threading.Thread(target=_guarded(master, words, is_over, failures)) for words in WORKERS]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        while any(thread.is_alive() for thread in threads):
            _wake(master)
            for thread in threads:
                thread.join(0.02)
    assert failures == []


def _guarded(
    master: Node, words: tuple[Word, ...], is_over: threading.Event, failures: list[Exception]
) -> Callable[[], None]:
    def work() -> None:
        try:
            with master.connect() as wire:
                while not is_over.is_set():
                    wire.call(*words)
        except Exception as error:
            failures.append(error)

    return work


def _wake(master: Node) -> None:
    """Let all that wait go on without anything."""
    lines = master.call("CLIENT", "LIST").decode().splitlines()
    for line in lines:
        fields = dict(word.split("=", 1) for word in line.split())
        if "b" in fields["flags"]:
            master.call("CLIENT", "UNBLOCK", fields["id"])
