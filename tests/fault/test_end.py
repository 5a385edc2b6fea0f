"""SIGTERM and SIGINT: within ten seconds, replicas fed to the last byte, no process left behind."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from tests.fault.processes import children, left_behind, runs, snapshot_child
from tests.peers import compare, dataset
from tests.peers.kinds import REAL
from tests.peers.lab import STOP_S, Lab, Node, wait_until
from tests.peers.proxy import Proxy
from tests.peers.wire import Wire

PATIENT = {"shutdown-timeout": "1000"}
"""Whoever waited as long as this allows would not end in time."""


def end(node: Node, by: signal.Signals = signal.SIGTERM) -> None:
    """Send the signal and wait. The node must exit with 0 and leave nobody."""
    node.hang_up()
    family = children(node)
    node.process.send_signal(by)
    assert node.process.wait(STOP_S) == 0, node.tail()
    wait_until("nobody is left behind", lambda: not left_behind(node) and not any(map(runs, family)))


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT], ids=lambda by: by.name)
def test_idle_node_ends_at_once(lab: Lab, by: signal.Signals) -> None:
    node = lab.start("pyrepl", directives=PATIENT)
    end(node, by)
    assert "bye bye" in node.log()


@pytest.mark.parametrize("kind", ["pyrepl", *REAL])
def test_replica_holds_all_that_was_acknowledged(lab: Lab, kind: str) -> None:
    """A client pipelines writes; SIGTERM comes in between; whatever got its +OK is on the replica."""
    master = lab.start("pyrepl")
    replica = lab.start(kind, master)
    replica.wait_link_up()
    acknowledged = sum(1 for _ in _write_until_cut(master, lab))
    assert acknowledged > 1000
    assert left_behind(master) == []
    wait_until("the replica has noticed", lambda: not replica.link_is_up())
    held = set(replica.call("KEYS", "*"))
    missing = [number for number in range(acknowledged) if b"key:%d" % number not in held]
    assert missing == []


def _write_until_cut(master: Node, lab: Lab) -> Iterator[None]:
    """One item for every write that was acknowledged before the master, told to end, closed the connection."""
    wire = Wire(master.port)
    wire.send(
        b"".join(b"*3\r\n$3\r\nSET\r\n$%d\r\nkey:%d\r\n$1\r\nv\r\n" % (4 + len(str(n)), n) for n in range(60_000))
    )
    try:
        for number in range(60_000):
            if wire.read() != "OK":
                break
            if number == 1500:
                master.hang_up()
                master.process.terminate()
            yield
    except OSError:
        pass
    assert master.process.wait(STOP_S) == 0
    wire.close()


def test_waits_for_a_replica_that_lags(lab: Lab) -> None:
    """The replica's link stalls for a second during the end: the master waits, then the replica has it all."""
    master = lab.start("pyrepl")
    with Proxy(master.port) as proxy:
        replica = lab.start("redis7", proxy.port)
        replica.wait_link_up()
        master.wait_online()
        proxy.stall()
        for number in range(500):
            master.call("SET", f"key:{number}", "v" * 100)
        master.hang_up()
        master.process.terminate()
        time.sleep(1)
        assert master.alive()
        proxy.heal()
        assert master.process.wait(STOP_S) == 0
        assert "replicas are in sync" in master.log()
        wait_until("the replica has it all", lambda: replica.call("DBSIZE") == 500)


def test_does_not_wait_for_ever(lab: Lab) -> None:
    """A replica that never catches up is left behind, and named."""
    master = lab.start("pyrepl", directives=PATIENT)
    with Proxy(master.port) as proxy:
        replica = lab.start("redis7", proxy.port)
        replica.wait_link_up()
        master.wait_online()
        proxy.stall()
        master.call("SET", "a", "1")
        end(master)
        assert "Lagging replica" in master.log()


@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_ends_in_the_middle_of_a_snapshot(lab: Lab, diskless: str) -> None:
    master = lab.start("pyrepl", directives={"repl-diskless-sync": diskless, "rdb-key-save-delay": "5000"})
    dataset.fill(master, dataset.commands(3000))
    lab.start("pyrepl", master)
    snapshot_child(master)
    end(master)
    assert [path.name for path in master.folder.iterdir()] == []


def test_replica_ends_while_it_loads(lab: Lab) -> None:
    master = lab.start("redis7")
    dataset.fill(master, dataset.commands(3000))
    directives = {"key-load-delay": "2000", "loading-process-events-interval-bytes": "1024"}
    replica = lab.start("pyrepl", master, directives=directives)
    replica.wait_log("MASTER <-> REPLICA sync")
    time.sleep(0.5)
    end(replica)


def test_replica_ends_while_its_master_is_away(lab: Lab) -> None:
    replica = lab.start("pyrepl", 1, directives=PATIENT)
    end(replica)


def test_saves_when_it_is_to_save(lab: Lab) -> None:
    node = lab.start("pyrepl", directives={"save": "3600 100000"})
    dataset.fill(node, dataset.commands(1000))
    before = compare.digest(node)
    end(node)
    again = lab.start("pyrepl", folder=node.folder)
    again.wait_loaded()
    assert compare.digest(again) == before


def test_shutdown_command(lab: Lab) -> None:
    """SHUTDOWN as a client says it: no reply, the connection closed, exit 0."""
    node = lab.start("pyrepl")
    with Wire(node.port) as wire, pytest.raises(ConnectionError):
        wire.call("SHUTDOWN", "NOSAVE")
    assert node.process.wait(STOP_S) == 0
