"""A deployment to fail over in: a master, two replicas, and three sentinels of any kind that watch it by the name `m`.

Each node has a configuration file, so that what Sentinel makes of it (REPLICAOF, CONFIG REWRITE) outlives a restart.
Three ways for a master to go: killed, frozen (SIGSTOP), and by SENTINEL FAILOVER, with nothing wrong. The clients that
write meanwhile are in sentinel_clients.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from tests.peers import finder
from tests.peers.lab import Lab, Node, die_with_parent, wait_until
from tests.peers.ports import HOST, free_port
from tests.peers.wire import ErrorReply, Reply, Wire

QUORUM: Final = 2
DOWN_AFTER_MS: Final = 2500
"""Sentinel pings once a second, so a bound near that lets a busy machine fail over for nothing."""
FAILOVER_TIMEOUT_MS: Final = 4000
"""Sentinel begins no second failover before twice this has passed."""
SWITCH_S: Final = 60.0
WAYS: Final = ("kill", "freeze", "command")


class Times(NamedTuple):
    """One failover, in seconds from the fault: until a sentinel acted on it, and until all name the new master."""

    way: str
    detected_s: float
    switched_s: float

    def __str__(self) -> str:
        return f"{self.way:8} detected after {self.detected_s:5.2f} s, switched after {self.switched_s:5.2f} s"


class Sentinel:
    """One running sentinel."""

    def __init__(self, kind: str, folder: Path, master_port: int, more: str = "") -> None:
        """`more` are further lines of its configuration."""
        folder.mkdir()
        self.port = free_port()
        config = folder / "sentinel.conf"
        config.write_text(
            f"port {self.port}\nbind {HOST}\ndir {folder}\nsentinel monitor m {HOST} {master_port} {QUORUM}\n"
            f"sentinel down-after-milliseconds m {DOWN_AFTER_MS}\nsentinel failover-timeout m {FAILOVER_TIMEOUT_MS}\n"
            f"sentinel parallel-syncs m 2\n{more}"
        )
        self.log_path = folder / "sentinel.log"
        command = [str(finder.server(kind)), str(config), "--sentinel"]
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=die_with_parent
            )
        wait_until("the sentinel answers", self._answers)
        # It asks for INFO every 10 s and is slow to turn an old master; how it finds a fault stays as it is.
        self.call("DEBUG", "info-period", "1000", "publish-period", "500")

    def call(self, *words: str) -> Reply:
        """SENTINEL ..."""
        with Wire(self.port) as wire:
            return wire.call("SENTINEL", *words)

    def master(self) -> dict[str, str]:
        """What it knows of the master."""
        flat = [word.decode() for word in self.call("MASTER", "m")]
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def master_port(self) -> int:
        """Where it sends clients."""
        return int(self.call("GET-MASTER-ADDR-BY-NAME", "m")[1])

    def end(self) -> None:
        """It does not run any more."""
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        try:
            with Wire(self.port) as wire:
                return bool(wire.call("PING") == "PONG")
        except OSError:
            return False


class Deployment:
    """The nodes, by port, and the sentinels, for the length of its `with`; the sentinels' logs are printed at its
    end."""

    def __init__(
        self,
        lab: Lab,
        kinds: tuple[str, ...],
        sentinel_kind: str,
        folder: Path,
        of_nodes: str = "",
        of_sentinels: str = "",
        tls: bool = False,
    ) -> None:
        """`of_nodes` and `of_sentinels` are further lines of their configurations. With `tls`, nodes and sentinels
        reach each other by TLS alone; the plain ports are for the test."""
        self._lab = lab
        self._tls = tls
        self._more: dict[Path, dict[str, str]] = {}
        self._of_nodes = of_nodes
        self._of_sentinels = of_sentinels
        self._sentinel_kind = sentinel_kind
        self._folder = folder
        self.nodes: dict[int, Node] = {}
        self.master = self._start_node(kinds[0], None)
        for kind in kinds[1:]:
            self._start_node(kind, self.master).wait_link_up()
        self.sentinels: list[Sentinel] = []

    def __enter__(self) -> Self:
        try:
            for number in range(3):
                self._start_sentinel(self._folder / f"sentinel-{number}")
            wait_until("the sentinels know each other and the replicas", self._is_watched, SWITCH_S)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def fail_over(self, way: str) -> Times:
        """Let the master go, wait for the new one and for the rest to follow it; then the old one comes back."""
        old = self.master
        self._wait_for_leave()
        began = time.monotonic()
        if way == "kill":
            old.kill()
        elif way == "freeze":
            os.kill(old.process.pid, signal.SIGSTOP)
        else:
            # It may still hold the last failover against us.
            wait_until("it takes the order", self._ordered, SWITCH_S, every_s=0.2)
            began = time.monotonic()
        try:
            wait_until("a sentinel acts", lambda: self._acts(old.link_port), SWITCH_S, every_s=0.01)
            detected_s = time.monotonic() - began
            wait_until("all know the new master", lambda: self._agreed(old.link_port), SWITCH_S, every_s=0.01)
            switched_s = time.monotonic() - began
        finally:
            if way == "freeze":
                os.kill(old.process.pid, signal.SIGCONT)
        if way == "kill":
            self.restart(old)
        self.wait_all_follow()
        return Times(way, detected_s, switched_s)

    def restart(self, node: Node) -> Node:
        """Start a node that has ended again, from its own file."""
        directives = {**_directives(node.folder), **self._more[node.folder]}
        fresh = self._lab.start(node.kind, directives=directives, port=node.port, folder=node.folder)
        self.nodes[node.link_port] = fresh
        return fresh

    def wait_all_follow(self) -> None:
        """All sentinels name one master, and every other node is its replica, with the link up."""
        wait_until("all follow one master", self._is_settled, SWITCH_S, every_s=0.05)
        self.master = self.nodes[self.sentinels[0].master_port()]

    def _end(self) -> None:
        """No sentinel runs any more; the nodes are the lab's."""
        for sentinel in self.sentinels:
            sentinel.end()
            print(f"--- sentinel {sentinel.port}\n{sentinel.log_path.read_text()[-3000:]}")

    def _start_sentinel(self, folder: Path) -> None:
        more = self._lab.authority.directives() if self._tls else {}
        lines = "".join(f"{name} {value}\n" for name, value in more.items())
        port = self.master.link_port
        self.sentinels.append(Sentinel(self._sentinel_kind, folder, port, self._of_sentinels + lines))

    def _start_node(self, kind: str, master: Node | None) -> Node:
        folder = self._lab.folder / f"deployment-{len(self.nodes)}"
        folder.mkdir()
        role = "" if master is None else f"replicaof {HOST} {master.link_port}\n"
        (folder / "node.conf").write_text(role + self._of_nodes)
        self._more[folder] = self._lab.authority.directives() if self._tls else {}
        node = self._lab.start(kind, directives={**_directives(folder), **self._more[folder]}, folder=folder)
        self.nodes[node.link_port] = node
        return node

    def _is_watched(self) -> bool:
        known = [sentinel.master() for sentinel in self.sentinels]
        return all(one["num-slaves"] == "2" and one["num-other-sentinels"] == "2" for one in known)

    def _wait_for_leave(self) -> None:
        """Until every sentinel sees the whole deployment well."""
        wait_until("all is well", lambda: self._is_watched() and self._replicas_are_well(), SWITCH_S, every_s=0.1)

    def _replicas_are_well(self) -> bool:
        for sentinel in self.sentinels:
            for flat in sentinel.call("REPLICAS", "m"):
                known = dict(zip(flat[::2], flat[1::2], strict=True))
                if known[b"flags"] != b"slave" or known[b"master-link-status"] != b"ok":
                    return False
        return True

    def _ordered(self) -> bool:
        try:
            return bool(self.sentinels[0].call("FAILOVER", "m") == "OK")
        except ErrorReply:
            return False

    def _acts(self, old_port: int) -> bool:
        return any(
            "failover_in_progress" in sentinel.master()["flags"] or sentinel.master_port() != old_port
            for sentinel in self.sentinels
        )

    def _is_settled(self) -> bool:
        ports = {sentinel.master_port() for sentinel in self.sentinels}
        if len(ports) != 1:
            return False
        master = self.nodes[ports.pop()]
        others = [node for node in self.nodes.values() if node is not master]
        found = _info(master)
        return (
            found.get("role") == "master"
            and found["connected_slaves"] == "2"
            and all(_follows(_info(node), str(master.link_port)) for node in others)
        )

    def _agreed(self, old_port: int) -> bool:
        ports = {sentinel.master_port() for sentinel in self.sentinels}
        return len(ports) == 1 and old_port not in ports


def _directives(folder: Path) -> dict[str, str]:
    return {"config": str(folder / "node.conf")}


def _info(node: Node) -> dict[str, str]:
    try:
        return node.info("replication")
    except (ConnectionError, TimeoutError):
        return {}


def _follows(found: dict[str, str], master_port: str) -> bool:
    wanted = ("slave", master_port, "up")
    return (found.get("role"), found.get("master_port"), found.get("master_link_status")) == wanted
