"""No room on the disk: what is stored stays, the failure is told, and it mends itself when there is room again.

The disk is filled for one process alone: the kernel refuses it files above a size (RLIMIT_FSIZE), live.
"""

from __future__ import annotations

import time

import psutil
import pytest

from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply

SCALE = 3000
SMALL = 100_000
WATCHED_S = 2.0
MOST_TRIES = 6
"""Pauses that begin with a second leave time for fewer; without them there would be dozens."""


def limit_files(node: Node, size_bytes: int) -> None:
    """The node and the children it forks from now on can make no file longer than this; -1: no limit any more."""
    psutil.Process(node.process.pid).rlimit(psutil.RLIMIT_FSIZE, (size_bytes, psutil.RLIM_INFINITY))


def save_in_background(node: Node) -> str:
    """BGSAVE to its end; ok or err."""
    node.call("BGSAVE")
    wait_until("the save has ended", lambda: node.info("persistence")["rdb_bgsave_in_progress"] == "0")
    return node.info("persistence")["rdb_last_bgsave_status"]


@pytest.fixture
def node(lab: Lab) -> Node:
    node = lab.start("pyrepl", directives={"save": "3600 1000000"})
    dataset.fill(node, dataset.commands(SCALE))
    return node


def test_bgsave_without_room(node: Node) -> None:
    assert save_in_background(node) == "ok"
    old = (node.folder / "dump.rdb").read_bytes()
    digest = compare.digest(node)
    limit_files(node, SMALL)
    assert save_in_background(node) == "err"
    assert "Write error saving DB on disk" in node.log()
    assert (node.folder / "dump.rdb").read_bytes() == old
    assert [path.name for path in node.folder.iterdir() if path.name.startswith("temp")] == []
    assert compare.digest(node) == digest

    with pytest.raises(ErrorReply, match=r"^MISCONF Redis is configured to save RDB snapshots"):
        node.call("SET", "a", "1")
    assert node.call("DBSIZE") > 0
    limit_files(node, -1)
    assert save_in_background(node) == "ok"
    assert node.call("SET", "a", "1") == "OK"


def test_save_in_the_foreground_without_room(node: Node) -> None:
    limit_files(node, SMALL)
    with pytest.raises(ErrorReply):
        node.call("SAVE")
    assert node.call("ECHO", "alive") == b"alive"  # PING would answer MISCONF, as in Redis
    assert not (node.folder / "dump.rdb").exists()
    # Without room it would not end either.
    limit_files(node, -1)


def test_sigterm_without_room_does_not_lose_the_data(node: Node) -> None:
    """As Redis: a node that is to save and cannot does not exit, for the data is nowhere else."""
    limit_files(node, SMALL)
    node.process.terminate()
    node.wait_log("can't exit")
    time.sleep(0.3)
    assert node.call("ECHO", "alive") == b"alive"  # PING would answer MISCONF, as in Redis
    limit_files(node, -1)
    assert node.terminate() == 0
    assert (node.folder / "dump.rdb").stat().st_size > SMALL


def test_master_without_room_for_the_snapshot(lab: Lab) -> None:
    """A disk-based sync fails at the master; the replica keeps asking with patience, and gets it when there is room."""
    master = lab.start("pyrepl", directives={"repl-diskless-sync": "no"})
    dataset.fill(master, dataset.commands(SCALE))
    limit_files(master, SMALL)
    replica = lab.start("pyrepl", master)
    master.wait_log("Write error saving DB on disk")
    time.sleep(WATCHED_S)
    assert not replica.link_is_up()
    assert int(master.info("stats")["total_forks"]) <= MOST_TRIES
    limit_files(master, -1)
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


def test_replica_without_room_for_the_snapshot(lab: Lab) -> None:
    """It keeps the data it has, tells the reason, tries again with patience."""
    first = lab.start("pyrepl")
    first.call("SET", "kept", "1")
    master = lab.start("pyrepl")
    dataset.fill(master, dataset.commands(SCALE))
    replica = lab.start("pyrepl", first, directives={"repl-diskless-load": "disabled"})
    replica.wait_link_up()
    compare.settle(first, replica)
    limit_files(replica, SMALL)
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    wait_until("it says why", lambda: replica.info("replication").get("master_last_sync_error"))
    time.sleep(WATCHED_S)
    assert replica.call("GET", "kept") == b"1"
    assert master.stat("sync_full") <= MOST_TRIES
    assert [path.name for path in replica.folder.iterdir() if path.stat().st_size > SMALL] == []
    limit_files(replica, -1)
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
