"""Tells systemd that the node is ready, what it does, and that it ends: by datagrams to the socket in NOTIFY_SOCKET.

The protocol is sd_notify(3): lines of NAME=VALUE. Which lines are sent when is Redis's choice (7.0,
`redisCommunicateSystemd`); STATUS goes on afterwards, so that `systemctl status` shows a sync while it runs. RELOADING
is not sent: nothing that a node does makes systemd's `reload`. A supervisor that is gone never disturbs the node.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.service import Service
from pyrepl.node.node import Node
from pyrepl.replication.link import Link
from pyrepl.units import format_memory

NOTIFY_SOCKET: Final = "NOTIFY_SOCKET"
_LOOK_EVERY_S: Final = 1.0
_WAIT_S: Final = 0.1
"""As often it is looked whether what units that need us wait for is done: each start of theirs takes as much longer."""


@final
class Supervision(Service):
    """Reports to the supervisor, if there is one.

    Clients are served as soon as the data is loaded; `awaited` may keep READY back longer.

    Invariant: `_last` is the state that was reported last; once the node is ready, a state is reported only when it
    differs from the last one.
    """

    def __init__(
        self, node: Node, environment: Mapping[str, str], awaited: Callable[[float], str] = lambda now: ""
    ) -> None:
        """`environment` is that of the process. The directive `supervised` says whether there is to be a supervisor:
        systemd, auto (systemd if NOTIFY_SOCKET is set), or no. `awaited` says what else is to be done before units that
        need us may start, "" if nothing."""
        self._node = node
        self._awaited = awaited
        self._is_served = False
        mode = node.settings.supervised
        wanted = mode in ("systemd", "auto")
        self._address = _address(environment.get(NOTIFY_SOCKET, "")) if wanted else None
        self._last = ""
        self._is_ready = False
        self.missing = mode == "systemd" and self._address is None
        """Is `supervised` systemd, but there is no socket? Then systemd did not start us, or the unit lacks
        Type=notify."""
        node.process.supervised = "no" if self._address is None else "systemd"

    def ready(self, now: float) -> None:
        """The data is loaded and clients are served: units that wait for us may start, if nothing else is awaited."""
        self._is_served = True
        self.tick(now)

    def tick(self, now: float) -> None:
        """Report the state if it has changed; before the node is ready, each time."""
        if self._address is None:
            return
        awaited = self._awaited(now) if self._is_served and not self._is_ready else ""
        state = awaited or condition(self._node)
        if self._is_served and not self._is_ready and not awaited:
            self._is_ready = True
            self._tell(f"READY=1\nSTATUS={state}")
        elif not self._is_ready:
            # Otherwise systemd would take a long load for a start that hangs, and kill us.
            self._tell(f"EXTEND_TIMEOUT_USEC=30000000\nSTATUS={state}")
        elif state != self._last:
            self._tell(f"STATUS={state}")
        self._last = state

    def next_deadline(self, now: float) -> float:
        return now + (_WAIT_S if self._is_served and not self._is_ready and self._address else _LOOK_EVERY_S)

    def stop(self) -> None:
        """The node has begun to end."""
        self._tell("STOPPING=1\nSTATUS=Shutting down")

    def _tell(self, state: str) -> None:
        if self._address is None:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            # A supervisor that does not read must not block the loop.
            sock.setblocking(False)
            sock.sendto(state.encode("utf-8", "replace"), self._address)


def condition(node: Node) -> str:
    """What the node does now, as one line for people."""
    loading = node.persistence.loading
    link = node.replication.link
    if loading is not None:
        return f"Loading the dataset in memory: {loading.percent:.0f}%"
    if not node.replication.role.is_replica or link is None:
        replicas = sum(session.is_replica for session in node.replication.roster.sessions.values())
        return f"Ready to accept connections; master of {replicas} replica{'' if replicas == 1 else 's'}"
    master = f"{node.replication.master_host}:{node.replication.master_port}"
    if node.replication.link_is_up:
        return f"Ready to accept connections; replica of {master}, in sync"
    return f"Ready to accept connections; replica of {master}, {_why_not_up(link, node.process.now)}"


def _why_not_up(link: Link, now: float) -> str:
    progress = link.progress
    if progress.transfer is not None:
        percent = progress.transfer.percent
        size = format_memory(progress.transfer.read_bytes)
        return f"receiving a snapshot: {size}" + (f" ({percent:.0f}%)" if percent is not None else "")
    why = f" ({progress.last_sync_error})" if progress.last_sync_error else ""
    wait_s = progress.next_try_in_s(now)
    if wait_s is not None:
        return f"link down{why}, next try in {wait_s:.0f} s"
    return f"connecting{why}"


def _address(path: str) -> str | None:
    """The socket's address: a path, or a name in the abstract namespace, written with @. None for anything else."""
    if path.startswith("@"):
        return "\0" + path[1:]
    return path if path.startswith("/") else None
