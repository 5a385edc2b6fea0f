"""FAILOVER: the master hands over to its replica under writes; nothing is lost, and no data is sent twice."""

from __future__ import annotations

import signal

import pytest

from tests.interop.pair import BACKLOG, load
from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply

SCALE = 2000
PAIRS = [
    ("pyrepl", "pyrepl"),
    ("pyrepl", "redis7"),
    ("pyrepl", "redis8"),
    ("pyrepl", "valkey8"),
    ("redis7", "pyrepl"),
    ("redis8", "pyrepl"),
    ("valkey8", "pyrepl"),
]


def in_step(lab: Lab, master: str, replica: str) -> tuple[Node, Node]:
    one = lab.start(master, directives=BACKLOG)
    dataset.fill(one, dataset.commands(SCALE))
    two = lab.start(replica, one, directives=BACKLOG)
    two.wait_link_up()
    return one, two


def is_over(old: Node, new: Node) -> bool:
    roles = (old.info("replication")["role"], new.info("replication")["role"])
    return roles == ("slave", "master") and old.info("replication")["master_link_status"] == "up"


@pytest.mark.parametrize(("master", "replica"), PAIRS)
def test_planned(lab: Lab, master: str, replica: str) -> None:
    one, two = in_step(lab, master, replica)
    with load(one, SCALE // 4, field_ttl=False):
        pass
    assert one.call("FAILOVER") == "OK"
    wait_until("the roles are exchanged", lambda: is_over(one, two))
    assert one.info("replication")["master_failover_state"] == "no-failover"
    with pytest.raises(ErrorReply, match="READONLY"):
        one.call("SET", "a", "1")
    two.call("SET", "after", "the switch")
    compare.settle(two, one)
    compare.assert_equal(two, one)
    assert two.stat("sync_full") == 0 and two.stat("sync_partial_ok") == 1
    two.call("FAILOVER", "TO", "127.0.0.1", str(one.port))
    wait_until("and back", lambda: is_over(two, one))
    compare.settle(one, two)
    compare.assert_equal(one, two)


def test_writes_wait_and_none_is_lost(lab: Lab) -> None:
    one, two = in_step(lab, "pyrepl", "pyrepl")
    written = 0
    one.call("FAILOVER", "TIMEOUT", "20000")
    try:
        while True:
            one.call("RPUSH", "log", str(written))
            written += 1
    except ErrorReply as error:
        assert str(error).startswith("READONLY")
    wait_until("the roles are exchanged", lambda: is_over(one, two))
    assert two.call("LLEN", "log") == written


def test_nobody_in_time(lab: Lab) -> None:
    one, two = in_step(lab, "pyrepl", "pyrepl")
    two.process.send_signal(signal.SIGSTOP)
    one.call("SET", "a", "1")
    one.call("FAILOVER", "TIMEOUT", "300")
    assert one.info("replication")["master_failover_state"] == "waiting-for-sync"
    wait_until("it gives up", lambda: one.info("replication")["master_failover_state"] == "no-failover")
    assert one.call("SET", "a", "2") == "OK"
    two.process.send_signal(signal.SIGCONT)
    compare.settle(one, two)
    compare.assert_equal(one, two)


def test_aborted(lab: Lab) -> None:
    one, two = in_step(lab, "pyrepl", "pyrepl")
    two.process.send_signal(signal.SIGSTOP)
    one.call("SET", "a", "1")
    one.call("FAILOVER")
    assert one.call("FAILOVER", "ABORT") == "OK"
    assert one.call("SET", "a", "2") == "OK"
    two.process.send_signal(signal.SIGCONT)
    with pytest.raises(ErrorReply, match="No failover in progress"):
        one.call("FAILOVER", "ABORT")
