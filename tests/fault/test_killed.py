"""kill -9 of a snapshot child, a master, a replica: the others go on, and nothing stays behind."""

from __future__ import annotations

import time

import pytest

from tests.fault.processes import children, gone, left_behind, reaped, snapshot_child
from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.writer import Writer

SCALE = 3000
SLOW = {"rdb-key-save-delay": "10000"}
"""Microseconds a key: the snapshot takes half a minute, time enough to kill somebody."""


def start_slow_master(lab: Lab, diskless: str) -> Node:
    master = lab.start("pyrepl", directives={**SLOW, "repl-diskless-sync": diskless})
    dataset.fill(master, dataset.commands(SCALE))
    return master


def quick(master: Node) -> None:
    master.call("CONFIG", "SET", "rdb-key-save-delay", "0")


@pytest.mark.parametrize("replica_kind", ["pyrepl", "redis7"])
@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_snapshot_child_killed(lab: Lab, diskless: str, replica_kind: str) -> None:
    master = start_slow_master(lab, diskless)
    replica = lab.start(replica_kind, master)
    child = snapshot_child(master)
    quick(master)  # that is the next one
    child.kill()
    wait_until("the child is reaped", lambda: reaped(child), 25)
    replica.wait_link_up(60)
    compare.settle(master, replica)
    compare.assert_equal(master, replica)


def test_saving_child_killed(lab: Lab) -> None:
    """BGSAVE's own child: the failure is told, the old file stays whole, no half-written one stays."""
    node = start_slow_master(lab, "yes")
    quick(node)
    node.call("SAVE")
    old = (node.folder / "dump.rdb").read_bytes()
    node.call("CONFIG", "SET", "rdb-key-save-delay", "10000")
    node.call("SET", "new", "1")
    node.call("BGSAVE")
    snapshot_child(node).kill()
    wait_until("the save has ended", lambda: node.info("persistence")["rdb_bgsave_in_progress"] == "0", 25)
    assert node.info("persistence")["rdb_last_bgsave_status"] == "err"
    assert "terminated by signal 9" in node.log()
    assert (node.folder / "dump.rdb").read_bytes() == old
    assert [path.name for path in node.folder.iterdir() if path.name != "dump.rdb"] == []


@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_master_killed_while_it_feeds_a_snapshot(lab: Lab, diskless: str) -> None:
    """The child dies with its parent; the replica follows the next master on that port."""
    master = start_slow_master(lab, diskless)
    replica = lab.start("pyrepl", master)
    child = snapshot_child(master)
    master.kill()
    wait_until("the child died with its parent", lambda: gone(child), 15)
    assert left_behind(master) == []
    again = lab.start("redis7", port=master.port)
    again.call("SET", "a", "1")
    replica.wait_link_up(60)
    compare.settle(again, replica)
    compare.assert_equal(again, replica)


def test_nobody_waits_for_the_snapshot_any_more(lab: Lab) -> None:
    """The only replica is killed in the middle of a diskless transfer: the child is ended too, not run to its end."""
    master = start_slow_master(lab, "yes")
    replica = lab.start("pyrepl", master)
    child = snapshot_child(master)
    replica.kill()
    wait_until("the child is ended and reaped", lambda: reaped(child), 15)
    assert children(master) == []
    assert master.call("PING") == "PONG"


@pytest.mark.parametrize("load", ["disabled", "on-empty-db", "swapdb"])
def test_replica_killed_while_it_loads(lab: Lab, load: str) -> None:
    """Started again in the same folder it has no half data, and gets there."""
    master = lab.start("pyrepl")
    dataset.fill(master, dataset.commands(SCALE))
    directives = {"repl-diskless-load": load, "key-load-delay": "1000", "loading-process-events-interval-bytes": "1024"}
    replica = lab.start("pyrepl", master, directives=directives)
    replica.wait_log("MASTER <-> REPLICA sync")
    time.sleep(0.5)
    replica.kill()
    assert left_behind(replica) == []
    again = lab.start("pyrepl", master, directives={"repl-diskless-load": load}, folder=replica.folder)
    again.wait_link_up(60)
    compare.settle(master, again)
    compare.assert_equal(master, again)


def test_replica_killed_and_restarted_under_load(lab: Lab) -> None:
    master = lab.start("pyrepl")
    with Writer(master):
        replica = lab.start("pyrepl", master)
        replica.wait_link_up()
        replica.kill()
        again = lab.start("pyrepl", master, folder=replica.folder)
        again.wait_link_up()
    compare.settle(master, again)
    compare.assert_equal(master, again)


def test_several_replicas_share_one_child(lab: Lab) -> None:
    """Three replicas that ask within the delay get one snapshot, and each holds the data."""
    waits = {"repl-diskless-sync-delay": "100", "repl-diskless-sync-max-replicas": "3"}
    directives = {"repl-diskless-sync": "yes", **waits}
    master = lab.start("pyrepl", directives=directives)
    dataset.fill(master, dataset.commands(SCALE))
    replicas = [lab.launch(kind, master) for kind in ("pyrepl", "redis7", "valkey8")]
    for replica in replicas:
        replica.wait_ready()
        replica.wait_link_up(60)
    assert master.info("stats")["total_forks"] == "1"
    compare.settle(master, *replicas)
    for replica in replicas:
        compare.assert_equal(master, replica)
