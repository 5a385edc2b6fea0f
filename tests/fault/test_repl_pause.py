"""DEBUG REPL-PAUSE: a node stops itself (SIGSTOP) at the named point of a sync, and the sync ends well after SIGCONT.

Each story is told of a real Redis 8.2 too: what is asked of pyrepl is what that does.
"""

from __future__ import annotations

import signal

import psutil
import pytest

from tests.fault.processes import snapshot_child
from tests.interop import channels
from tests.interop.channels import REDIS
from tests.peers import compare
from tests.peers.lab import Lab, Node, wait_until

STOPS = "Process is about to stop."
GOES_ON = "Process has been continued."
KINDS = ("pyrepl", "redis8")


def is_stopped(node: Node) -> bool:
    """Is it in state T of /proc/<pid>/stat?"""
    return bool(psutil.Process(node.process.pid).status() == psutil.STATUS_STOPPED)


def go_on(node: Node) -> None:
    node.process.send_signal(signal.SIGCONT)


def told(node: Node) -> tuple[int, int]:
    """How often its log says that it stops, and that it goes on."""
    return node.log().count(STOPS), node.log().count(GOES_ON)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_after_fork(lab: Lab, kind: str, diskless: str) -> None:
    """A master stops at each sync until CLEAR; its child goes on."""
    master = lab.start(kind, directives={"repl-diskless-sync": diskless})
    master.call("SET", "a", "1")
    assert master.call("DEBUG", "REPL-PAUSE", "after-fork") == "OK"
    for turn in (1, 2):
        replica = lab.start("pyrepl", master)
        wait_until("the master stops", lambda: is_stopped(master))
        assert told(master) == (turn, turn - 1)
        go_on(master)
        replica.wait_link_up()
        assert replica.call("GET", "a") == b"1"
    assert master.call("DEBUG", "REPL-PAUSE", "clear") == "OK"
    lab.start("pyrepl", master).wait_link_up()
    assert told(master) == (2, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_before_rdb_channel(lab: Lab, kind: str) -> None:
    """The replica stops when its second connection has introduced itself and has yet to ask for the snapshot."""
    master = lab.start("redis8", directives=channels.directives("redis8", REDIS))
    replica = lab.start(kind, directives=channels.directives(kind, REDIS))
    replica.call("DEBUG", "REPL-PAUSE", "before-rdb-channel")
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    wait_until("the replica stops", lambda: is_stopped(replica))
    wait_until("it has introduced itself", lambda: "cmd=replconf" in master.call("CLIENT", "LIST").decode())
    assert master.stat("total_forks") == 0
    assert told(replica) == (1, 0)
    go_on(replica)
    replica.wait_link_up()
    assert told(replica) == (1, 1)
    channels.prove(master, replica, REDIS)


@pytest.mark.parametrize("kind", KINDS)
def test_on_streaming_repl_buf(lab: Lab, kind: str) -> None:
    """The replica stops at each piece that it applies of the stream it held, here besides another point."""
    master = lab.start("redis8", directives={"save": "", **channels.directives("redis8", REDIS)})
    master.call("DEBUG", "POPULATE", 1500, "key", 1000)
    master.call("CONFIG", "SET", "rdb-key-save-delay", 2000)
    attentive = {"loading-process-events-interval-bytes": "1024"}
    replica = lab.start(kind, directives={**channels.directives(kind, REDIS), **attentive})
    for point in ("before-rdb-channel", "on-streaming-repl-buf"):
        assert replica.call("DEBUG", "REPL-PAUSE", point) == "OK"
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    replica.hang_up()
    wait_until("the replica stops", lambda: is_stopped(replica))
    go_on(replica)
    child = snapshot_child(master)
    child.suspend()
    for number in range(40):
        master.call("SET", f"beside:{number}", b"x" * 50_000)
    child.resume()
    caught_up = "uccessfully streamed replication buffer into the db"

    def went_on_to_the_end() -> bool:
        if is_stopped(replica):
            go_on(replica)
        return caught_up in replica.log()

    wait_until("it catches up", went_on_to_the_end)
    replica.wait_link_up()
    stops, goes_on = told(replica)
    assert stops == goes_on > 2
    log = replica.log()
    assert STOPS in log[log.index("Starting to stream replication buffer") : log.index(caught_up)]
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert told(replica) == (stops, stops), "the stream behind it stops nobody"
