"""A process that is stopped (SIGSTOP) for longer than repl-timeout, and goes on: nobody waits, nothing is lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.interop.pair import BACKLOG
from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node, wait_until

SCALE = 1000
IMPATIENT = {**BACKLOG, "repl-timeout": "3", "repl-ping-replica-period": "1"}
PAIRS = [
    ("pyrepl", "redis8"),
    ("redis7", "pyrepl"),
    pytest.param("pyrepl", "pyrepl", marks=pytest.mark.matrix),
    pytest.param("pyrepl", "valkey8", marks=pytest.mark.matrix),
    pytest.param("valkey8", "pyrepl", marks=pytest.mark.matrix),
]


@contextmanager
def frozen(node: Node) -> Iterator[None]:
    node.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        node.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize(("master", "replica"), PAIRS)
def test_replica_then_master(lab: Lab, master: str, replica: str) -> None:
    """Each is given up by the other, and continued by a partial resync when it wakes."""
    one = lab.start(master, directives=IMPATIENT)
    dataset.fill(one, dataset.commands(SCALE, field_ttl=False))
    two = lab.start(replica, one, directives=IMPATIENT)
    two.wait_link_up()
    with frozen(two):
        wait_until("it is given up", lambda: one.info("replication")["connected_slaves"] == "0")
        one.call("SET", "while", "it slept")
    two.wait_link_up()
    compare.settle(one, two)
    with frozen(one):
        wait_until("it is given up", lambda: not two.link_is_up())
        assert two.call("GET", "while") == b"it slept"
    two.wait_link_up()
    one.call("SET", "after", "it slept")
    compare.settle(one, two)
    compare.assert_equal(one, two)
    assert one.stat("sync_full") == 1 and one.stat("sync_partial_ok") >= 2
