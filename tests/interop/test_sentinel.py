"""Redis's own Sentinel over pyrepl nodes: it promotes the replica when the master dies, and turns the rest to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers import finder
from tests.peers.lab import HOST, Lab, Node, die_with_parent, free_port, wait_until
from tests.peers.wire import Reply, Wire


class Sentinel:
    """One running sentinel, quorum 1, that watches one master by the name `m`."""

    def __init__(self, master: Node, folder: Path) -> None:
        self.port = free_port()
        config = folder / "sentinel.conf"
        config.write_text(
            f"port {self.port}\nbind {HOST}\ndir {folder}\nsentinel monitor m {HOST} {master.port} 1\n"
            "sentinel down-after-milliseconds m 1000\nsentinel failover-timeout m 5000\n"
        )
        self.log = (folder / "sentinel.log").open("wb")
        command = [str(finder.server("redis7")), str(config), "--sentinel"]
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=die_with_parent
        )

    def call(self, *words: str) -> Reply:
        """SENTINEL ..."""
        with Wire(self.port) as wire:
            return wire.call("SENTINEL", *words)

    def master(self) -> dict[bytes, bytes]:
        """What it knows of the master."""
        flat = self.call("MASTER", "m")
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def end(self) -> None:
        """It does not run any more."""
        self.process.kill()
        self.process.wait()
        self.log.close()


@pytest.fixture
def nodes(lab: Lab) -> list[Node]:
    """A master and two replicas, the second a real server."""
    master = lab.start("pyrepl")
    replicas = [lab.start(kind, master) for kind in ("pyrepl", "redis7")]
    for replica in replicas:
        replica.wait_link_up()
    replicas[1].call("CONFIG", "SET", "replica-priority", "200")
    return [master, *replicas]


@pytest.fixture
def sentinel(nodes: list[Node], tmp_path: Path) -> Iterator[Sentinel]:
    folder = tmp_path / "sentinel"
    folder.mkdir()
    sentinel = Sentinel(nodes[0], folder)
    try:
        wait_until("the sentinel answers", lambda: _answers(sentinel.port))
        yield sentinel
    finally:
        sentinel.end()
        print((folder / "sentinel.log").read_text()[-3000:])


def _answers(port: int) -> bool:
    try:
        with Wire(port) as wire:
            return bool(wire.call("PING") == "PONG")
    except OSError:
        return False


def test_failover(nodes: list[Node], sentinel: Sentinel) -> None:
    master, heir, other = nodes
    master.call("SET", "before", "1")
    assert master.call("WAIT", 2, 5000) == 2
    wait_until("it knows both replicas", lambda: sentinel.master()[b"num-slaves"] == b"2", 30)
    os.kill(master.process.pid, 9)
    master.process.wait()
    port = str(heir.port).encode()
    wait_until("the replica is promoted", lambda: sentinel.call("GET-MASTER-ADDR-BY-NAME", "m")[1] == port, 60)
    wait_until("it is a master", lambda: heir.info("replication")["role"] == "master", 30)
    heir.call("SET", "after", "2")
    new = str(heir.port)
    wait_until("the other follows it", lambda: other.info("replication").get("master_port") == new, 30)
    other.wait_link_up()
    wait_until("the stream flows on", lambda: other.call("GET", "after") == b"2")
    assert other.call("GET", "before") == b"1"
    assert heir.stat("sync_full") == 0
