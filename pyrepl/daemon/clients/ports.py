"""The ports of a node: the TCP port and the unix socket for clients, opened at the start and anew by CONFIG SET.

`life` calls `listen` and `accept`. Other ports, as that of change streams (changes/server.py), are opened
together with these, but serve their connections themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, final

from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.listener import Listener
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.service import Service
from pyrepl.errors import ConfigError
from pyrepl.node.node import Node
from pyrepl.observability import events


class OtherPort(Protocol):
    """A port of the node that is not for its clients."""

    def bind(self) -> None:
        """Open the port; no connection is accepted yet. Raises ConfigError."""

    def accept(self) -> None:
        """Accept connections from now on."""


@final
class Ports(Service):
    """All ports of a node. Invariant: from `listen` on, `process.tcp_port` is the TCP port for clients."""

    def __init__(self, node: Node, clients: Clients, others: Sequence[OtherPort], log: Log) -> None:
        """`others` are opened after the ports for clients, in this order."""
        self._node = node
        self._clients = clients
        self._others = others
        self._log = log
        self._tcp = Listener(node.settings.socket_mark_id)
        self._unix = Listener()

    def listen(self) -> None:
        """Open the ports that the configuration names; no connection is accepted yet. Raises ConfigError."""
        settings = self._node.settings
        if settings.port:
            try:
                self._tcp.bind_tcp(list(settings.bind), settings.port, settings.tcp_backlog)
            except ConfigError:
                self._log(events.ListeningFailed(settings.port))
                raise
            self._node.process.tcp_port = self._tcp.port
        if settings.unixsocket:
            self._unix.bind_unix(
                settings.unixsocket, settings.unixsocketperm, settings.tcp_backlog, settings.unixsocketgroup
            )
        if not settings.port and not settings.unixsocket:
            raise ConfigError("Configured to not listen anywhere: set 'port' or 'unixsocket'")
        for other in self._others:
            other.bind()

    def accept(self) -> None:
        """Accept connections on all ports from now on."""
        self._tcp.accept_with(self._clients.accept)
        self._unix.accept_with(self._clients.accept)
        for other in self._others:
            other.accept()

    def look(self) -> None:
        """Accept the clients that wait for it, while the event loop stands still."""
        self._tcp.look()
        self._unix.look()

    def settings_changed(self, names: Collection[str]) -> None:
        if "port" in names or "bind" in names:
            self._listen_anew()

    def _listen_anew(self) -> None:
        """Move to the present `port` and `bind`. The new sockets are bound before the old ones are closed, so that a
        failure leaves the old ones in use. Raises ConfigError."""
        settings = self._node.settings
        fresh = Listener(settings.socket_mark_id)
        if settings.port:
            fresh.bind_tcp(list(settings.bind), settings.port, settings.tcp_backlog, beside=self._tcp)
        self._tcp.close()
        self._tcp = fresh
        self._node.process.tcp_port = fresh.port
        fresh.accept_with(self._clients.accept)

    @property
    def listeners(self) -> list[str]:
        """Where clients come in, in the words of the log: tcp, unix."""
        settings = self._node.settings
        return ["tcp"] * bool(settings.port) + ["unix"] * bool(settings.unixsocket)

    def stop(self) -> None:
        """Accept no more clients. Other ports are services, which close by themselves."""
        self._tcp.close()
        self._unix.close()
