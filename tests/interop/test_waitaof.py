"""WAITAOF counts the replicas that have a write on their disks, as they say with FACK."""

from __future__ import annotations

import pytest

from tests.peers.lab import Lab, wait_until
from tests.peers.wire import encode

PERSISTENT = {"appendonly": "yes", "appendfsync": "everysec"}


@pytest.mark.parametrize(("master", "replica"), [("pyrepl", "pyrepl"), ("pyrepl", "redis8"), ("redis8", "pyrepl")])
def test_here_and_there(lab: Lab, master: str, replica: str) -> None:
    one = lab.start(master, directives=PERSISTENT)
    two = lab.start(replica, one, directives=PERSISTENT)
    two.wait_link_up()
    with one.connect() as wire:
        wire.call("SET", "a", "1")
        assert wire.call("WAITAOF", "1", "1", "50000") == [1, 1]


def test_a_replica_without_a_file_counts_for_nothing(lab: Lab) -> None:
    one = lab.start("pyrepl", directives=PERSISTENT)
    lab.start("pyrepl", one).wait_link_up()
    with one.connect() as wire:
        wire.call("SET", "a", "1")
        assert wire.call("WAITAOF", "1", "0", "50000") == [1, 0]
        assert wire.call("WAITAOF", "1", "1", "500") == [1, 0]


@pytest.mark.parametrize("replica", ["pyrepl", "redis8"])
def test_a_replica_that_comes_by_a_full_sync_ends_the_wait(lab: Lab, replica: str) -> None:
    """Nothing is written after the sync: the file that the replica makes of the snapshot has what was asked for."""
    one = lab.start("pyrepl", directives=PERSISTENT)
    with one.connect() as wire:
        wire.call("SET", "a", "1")
        wire.send(encode(["WAITAOF", "1", "1", "0"]))
        wait_until("the client waits", lambda: one.info("clients")["blocked_clients"] == "1")
        two = lab.start(replica, one, directives=PERSISTENT)
        assert wire.read() == [1, 1]
    assert one.stat("sync_full") == 1
    assert two.call("GET", "a") == b"1"
    assert any(two.folder.glob("appendonlydir/*.manifest"))
