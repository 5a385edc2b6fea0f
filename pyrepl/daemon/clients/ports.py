"""The ports of a node: TCP, TLS and the unix socket for clients, opened at the start and anew by CONFIG SET.

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
from pyrepl.daemon.wires.handshakes import Handshakes
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
    """All ports of a node. Invariant: from `listen` on, `process.tcp_port` and `process.tls_port` are those for
    clients."""

    def __init__(
        self, node: Node, clients: Clients, handshakes: Handshakes, others: Sequence[OtherPort], log: Log
    ) -> None:
        """`others` are opened after the ports for clients, in this order."""
        self._node = node
        self._handshakes = handshakes
        self._clients = clients
        self._others = others
        self._log = log
        self._tcp = Listener(node.settings.socket_mark_id)
        self._tls = Listener(node.settings.socket_mark_id, handshakes.begin_one)
        self._unix = Listener()

    def listen(self) -> None:
        """Open the ports that the configuration names; no connection is accepted yet. Raises ConfigError."""
        settings = self._node.settings
        for listener, port, name in ((self._tcp, settings.port, "tcp"), (self._tls, settings.tls_port, "tls")):
            if port:
                try:
                    listener.bind_tcp(list(settings.bind), port, settings.tcp_backlog)
                except ConfigError:
                    self._log(events.ListeningFailed(port, name))
                    raise
        self._note_ports()
        if settings.unixsocket:
            self._unix.bind_unix(
                settings.unixsocket, settings.unixsocketperm, settings.tcp_backlog, settings.unixsocketgroup
            )
        if not settings.port and not settings.tls_port and not settings.unixsocket:
            raise ConfigError("Configured to not listen anywhere: set 'port', 'tls-port' or 'unixsocket'")
        for other in self._others:
            other.bind()

    def accept(self) -> None:
        """Accept connections on all ports from now on."""
        self._tcp.accept_with(self._clients.accept)
        self._tls.accept_with(self._clients.accept)
        self._unix.accept_with(self._clients.accept)
        for other in self._others:
            other.accept()

    def look(self) -> None:
        """Accept the clients that wait for it, while the event loop stands still."""
        self._tcp.look()
        self._tls.look()
        self._unix.look()

    def settings_changed(self, names: Collection[str]) -> None:
        is_moved = "bind" in names
        moves_tcp, moves_tls = is_moved or "port" in names, is_moved or "tls-port" in names
        settings = self._node.settings
        tcp, tls = self._tcp, self._tls
        if moves_tcp:
            tcp = self._bound(Listener(settings.socket_mark_id), settings.port, tcp)
        if moves_tls:
            try:
                tls = self._bound(Listener(settings.socket_mark_id, self._handshakes.begin_one), settings.tls_port, tls)
            except ConfigError:
                if moves_tcp:
                    tcp.close()
                    self._tcp.stay()
                raise
        for former, fresh in ((self._tcp, tcp), (self._tls, tls)):
            if fresh is not former:
                former.close()
                fresh.accept_with(self._clients.accept)
        self._tcp, self._tls = tcp, tls
        self._note_ports()

    def _bound(self, fresh: Listener, port: int, former: Listener) -> Listener:
        """Bind a listener to the present `bind` and `port`, beside the former one, which a failure leaves in use.
        Raises ConfigError."""
        settings = self._node.settings
        if port:
            fresh.bind_tcp(list(settings.bind), port, settings.tcp_backlog, beside=former)
        return fresh

    def _note_ports(self) -> None:
        self._node.process.tcp_port = self._tcp.port
        self._node.process.tls_port = self._tls.port

    @property
    def listeners(self) -> list[str]:
        """Where clients come in, in the words of the log: tcp, unix, tls (in the order of Valkey)."""
        settings = self._node.settings
        is_open = {"tcp": settings.port, "unix": settings.unixsocket, "tls": settings.tls_port}
        return [name for name, wanted in is_open.items() if wanted]

    def stop(self) -> None:
        """Accept no more clients. Other ports are services, which close by themselves."""
        self._tcp.close()
        self._tls.close()
        self._unix.close()
