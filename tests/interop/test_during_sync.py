"""What an operator does while a replica's full sync is on its way, with pyrepl and with real servers in its place."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from tests.interop import channels
from tests.interop.channels import ONE, REDIS
from tests.peers import compare
from tests.peers.kinds import OURS
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import Wire

KINDS: Final = (OURS, "redis8")
KEYS: Final = 2000
NEVER_ENDING_US: Final = 100_000
"""rdb-key-save-delay: a snapshot of KEYS keys takes longer than any test waits."""


def child_writes(master: Node) -> bool:
    """Is a replica's snapshot being made?"""
    return master.info("persistence")["rdb_bgsave_in_progress"] == "1" and "slave0" in master.info("replication")


def sleeper(master: Node) -> Wire:
    """A replica that asks for everything and reads nothing."""
    wire = Wire(master.port)
    assert wire.call("REPLCONF", "capa", "eof", "capa", "psync2") == "OK"
    wire.send(b"*3\r\n$5\r\nPSYNC\r\n$1\r\n?\r\n$2\r\n-1\r\n")
    return wire


@pytest.mark.parametrize("kind", KINDS)
def test_a_repl_timeout_lowered_meanwhile_reaches_a_replica_that_takes_nothing(lab: Lab, kind: str) -> None:
    together = {"repl-diskless-sync": "yes", "repl-diskless-sync-delay": "1000", "repl-diskless-sync-max-replicas": "2"}
    master = lab.start(kind, directives=together | {"repl-timeout": "3600", "rdbcompression": "no"})
    master.call("DEBUG", "POPULATE", 300, "key", 200_000)
    with sleeper(master):
        replica = lab.start("redis8", master, directives=channels.directives("redis8", ONE))
        wait_until("one child writes to both", lambda: child_writes(master))
        master.call("CONFIG", "SET", "repl-timeout", 3)
        master.wait_log("Disconnecting timedout replica (full sync): 127.0.0.1:<unknown-replica-port>")
        replica.wait_link_up()
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    cut, done = (master.log().index(words) for words in ("Disconnecting timedout replica", "done reading from pipe"))
    assert cut < done, "at once, while the snapshot goes on to the other one"


@contextmanager
def frozen(node: Node) -> Iterator[None]:
    """Its process neither runs nor ends meanwhile; its connections stand."""
    os.kill(node.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(node.process.pid, signal.SIGCONT)


def phase(replica: Node) -> tuple[str, str]:
    """What ROLE calls its link, and what INFO says of a sync."""
    return replica.call("ROLE")[3].decode(), replica.info("replication")["master_sync_in_progress"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", [ONE, REDIS])
def test_a_master_that_waits_with_its_snapshot_is_in_the_handshake_still(lab: Lab, kind: str, dialect: str) -> None:
    """And silence counts there as in all of the handshake, by a repl-timeout set meanwhile too."""
    waits = {
        "repl-diskless-sync": "yes",
        "repl-diskless-sync-delay": "1000",
        "rdb-key-save-delay": str(NEVER_ENDING_US),
    }
    master = lab.start("redis8", directives=waits | channels.directives("redis8", dialect))
    master.call("DEBUG", "POPULATE", KEYS)
    replica = lab.start(kind, master, directives={"repl-timeout": "3600"} | channels.directives(kind, dialect))
    master.wait_log("Delay next BGSAVE for diskless SYNC")
    assert phase(replica) == ("handshake", "0")
    with frozen(master):
        replica.call("CONFIG", "SET", "repl-timeout", 2)
        replica.wait_log("Timeout connecting to the MASTER...")
        replica.call("CONFIG", "SET", "repl-timeout", 3600)
    master.call("CONFIG", "SET", "repl-diskless-sync-delay", 0)
    wait_until("the snapshot comes", lambda: phase(replica) == ("sync", "1"))
    master.call("FLUSHALL")
    replica.wait_link_up()
    assert phase(replica) == ("connected", "0")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("diskless", "dialect"), [("yes", ONE), ("yes", REDIS), ("no", ONE)])
def test_flushall_ends_the_snapshot_of_the_old_data(lab: Lab, kind: str, diskless: str, dialect: str) -> None:
    delay = {"rdb-key-save-delay": str(NEVER_ENDING_US), "repl-diskless-sync": diskless}
    master = lab.start(kind, directives=delay | channels.directives(kind, dialect))
    master.call("DEBUG", "POPULATE", KEYS)
    replica = lab.start("redis8", master, directives=channels.directives("redis8", dialect))
    wait_until("the snapshot of the old data is on its way", lambda: child_writes(master))
    assert master.call("FLUSHALL") == "OK"
    assert master.call("SET", "after", 1) == "OK"
    replica.wait_link_up()
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    assert replica.call("DBSIZE") == 1
    assert master.stat("sync_full") == 2
    assert master.info("persistence")["rdb_last_bgsave_status"] == "ok"
