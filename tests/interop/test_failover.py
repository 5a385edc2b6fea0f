"""FAILOVER: the master hands over to its replica under writes; nothing is lost, and no data is sent twice."""

from __future__ import annotations

import random
import re
import signal
from functools import partial

import pytest

from tests.interop.pair import BACKLOG, load
from tests.interop.writing import Writing
from tests.peers import compare, dataset
from tests.peers.kinds import OURS, REAL
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST
from tests.peers.proxy import Proxy
from tests.peers.wire import ErrorReply

SCALE = 2000
EAGER = {**BACKLOG, "repl-ping-replica-period": "1"}
PAIRS = [(OURS, OURS), *((OURS, real) for real in REAL), *((real, OURS) for real in REAL)]


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


def tell(master: Node, replica: Node, *options: str) -> object:
    """FAILOVER to this replica by name."""
    return master.call("FAILOVER", "TO", HOST, str(replica.port), *options)


def state(master: Node) -> str:
    return master.info("replication")["master_failover_state"]


def told_and_asked(master: Node, *words: str) -> str:
    """FAILOVER with these words, and the state in the same moment: its time may be over in the next."""
    with master.connect() as wire:
        answer, info = wire.pipeline([("FAILOVER", *words), ("INFO", "replication")])
    assert answer == "OK"
    return str(re.findall(r"master_failover_state:(\S+)", info.decode())[0])


@pytest.mark.parametrize(
    "kinds",
    [
        ("pyrepl", "pyrepl"),
        ("pyrepl", "valkey8"),
        pytest.param(("pyrepl", "redis8"), marks=pytest.mark.matrix),
        pytest.param(("pyrepl", "redis7"), marks=pytest.mark.matrix),
    ],
    ids="-".join,
)
def test_there_and_back_under_writes_and_pings(lab: Lab, kinds: tuple[str, str]) -> None:
    """The master pings each second, in the stream: that never moves its offset past the switch, whoever is master."""
    ends = [lab.start(kinds[0], directives=EAGER)]
    ends.append(lab.start(kinds[1], ends[0], directives=EAGER))
    ends[1].wait_link_up()
    writing = Writing(ends[0], random.Random(1))
    old, new = ends
    for _ in range(6):
        before = writing.written
        wait_until("writes go on", partial(writing.has_written, before + 200))
        assert tell(old, new) == "OK"
        wait_until("the roles are exchanged", partial(is_over, old, new))
        writing.root = new
        old, new = new, old
    writing.end()
    compare.settle(old, new)
    compare.assert_equal(old, new)
    assert sum(node.stat("sync_full") for node in ends) == 1, "the one of the beginning"


@pytest.mark.parametrize(("master", "replica"), [("pyrepl", "pyrepl"), ("pyrepl", "redis8"), ("redis8", "pyrepl")])
def test_by_force_what_the_replica_lacks_is_lost(lab: Lab, master: str, replica: str) -> None:
    """The stream does not reach it: when the time is over it takes over without the last write, for both of them."""
    one = lab.start(master, directives=BACKLOG)
    with Proxy(one.port) as proxy:
        two = lab.start(replica, proxy.port, directives=BACKLOG)
        two.wait_link_up()
        one.call("SET", "kept", "1")
        assert one.call("WAIT", 1, 50_000) == 1
        proxy.stall()
        one.call("SET", "lost", "1")
        with pytest.raises(ErrorReply, match="requires both a timeout and target"):
            tell(one, two, "FORCE")
        by_force = told_and_asked(one, "TO", HOST, str(two.port), "FORCE", "TIMEOUT", "300")
        assert by_force == "waiting-for-sync"
        wait_until("the roles are exchanged", lambda: is_over(one, two))
    assert state(one) == "no-failover"
    compare.settle(two, one)
    compare.assert_equal(two, one)
    assert (one.call("EXISTS", "kept"), one.call("EXISTS", "lost")) == (1, 0)
    assert two.stat("sync_full") == 1
    if replica == "pyrepl":
        assert two.stat("sync_full_past_fork") == 1


@pytest.mark.parametrize("sibling", ["redis7", pytest.param("pyrepl", marks=pytest.mark.matrix)])
def test_to_the_one_that_is_named(lab: Lab, sibling: str) -> None:
    """The other one, though it has everything first, stays where it is, now below the old master."""
    one, two = in_step(lab, "pyrepl", "valkey8")
    other = lab.start(sibling, one, directives=BACKLOG)
    other.wait_link_up()
    full = one.stat("sync_full")
    two.process.send_signal(signal.SIGSTOP)
    one.call("SET", "a", "1")
    tell(one, two)
    wait_until("the other one has everything", lambda: other.call("GET", "a") == b"1")
    assert state(one) == "waiting-for-sync"
    two.process.send_signal(signal.SIGCONT)
    wait_until("the roles are exchanged", lambda: is_over(one, two))
    other.wait_link_up()
    two.call("SET", "b", "1")
    compare.settle(two, one, other)
    compare.assert_equal(two, other)
    assert (one.stat("sync_full"), two.stat("sync_full")) == (full, 0)
    assert len({node.info("replication")["master_replid"] for node in (one, two, other)}) == 1


def test_who_cannot_take_over(lab: Lab) -> None:
    one, two = in_step(lab, "pyrepl", "pyrepl")
    with pytest.raises(ErrorReply, match="target HOST and PORT is not a replica"):
        one.call("FAILOVER", "TO", HOST, "1")
    with pytest.raises(ErrorReply, match="not valid when server is a replica"):
        two.call("FAILOVER")
    with pytest.raises(ErrorReply, match="timeout must be greater than 0"):
        one.call("FAILOVER", "TIMEOUT", "0")
    with pytest.raises(ErrorReply, match="syntax error"):
        one.call("FAILOVER", "TO", HOST)
    with pytest.raises(ErrorReply, match="requires connected replicas"):
        lab.start("pyrepl").call("FAILOVER")
    assert state(one) == "no-failover" and one.call("SET", "a", "1") == "OK"


STILL = [("pyrepl", "pyrepl"), ("pyrepl", "redis8"), ("valkey8", "pyrepl")]


@pytest.mark.parametrize(("master", "replica"), STILL)
def test_nobody_in_time(lab: Lab, master: str, replica: str) -> None:
    one, two = in_step(lab, master, replica)
    two.process.send_signal(signal.SIGSTOP)
    one.call("SET", "a", "1")
    assert told_and_asked(one, "TIMEOUT", "300") == "waiting-for-sync"
    wait_until("it gives up", lambda: state(one) == "no-failover")
    assert one.call("SET", "a", "2") == "OK"
    two.process.send_signal(signal.SIGCONT)
    compare.settle(one, two)
    compare.assert_equal(one, two)


@pytest.mark.parametrize(("master", "replica"), STILL)
def test_aborted(lab: Lab, master: str, replica: str) -> None:
    one, two = in_step(lab, master, replica)
    two.process.send_signal(signal.SIGSTOP)
    one.call("SET", "a", "1")
    one.call("FAILOVER")
    assert one.call("FAILOVER", "ABORT") == "OK"
    assert one.call("SET", "a", "2") == "OK"
    two.process.send_signal(signal.SIGCONT)
    with pytest.raises(ErrorReply, match="No failover in progress"):
        one.call("FAILOVER", "ABORT")
