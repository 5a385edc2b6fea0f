"""Listening sockets: TCP on each address of `bind`, or a unix socket.

Each connection that comes in becomes a wire, which is handed to the callback of `accept_with`; with TLS after its
handshake. `ports` and the server of change streams own listeners.
"""

from __future__ import annotations

import asyncio
import errno
import grp
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.daemon.wires.wire import Wire
from pyrepl.errors import ConfigError

_ABSENT_FAMILY: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT})
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_NO_ROOM_PAUSE_S: Final = 0.1
_ACCEPTED_AT_ONCE: Final = 1000
"""Connections accepted in one turn of the loop, as in Redis (MAX_ACCEPTS_PER_CALL)."""


OnWire = Callable[[Wire], None]


def hand_on_plain(sock: socket.socket, on_wire: OnWire) -> None:
    """Make a plain wire of a connection that came in, at once."""
    on_wire(PlainWire(sock))


@final
class Listener:
    """Some listening sockets, with one callback for all of them.

    Invariant: `_sockets` are bound and listening from `bind_tcp` or `bind_unix` on until `close`.
    """

    def __init__(self, mark: int = 0, hand_on: Callable[[socket.socket, OnWire], None] = hand_on_plain) -> None:
        """`mark` is that of the TCP packets (SO_MARK), which accepted connections take over; 0 sets none. `hand_on`
        makes the wire of each connection that came in, and gives it to the callback."""
        self._mark = mark
        self._hand_on = hand_on
        self._on_wire: OnWire | None = None
        self._sockets: list[socket.socket] = []
        self._unix_path: str = ""

    @property
    def port(self) -> int:
        """The TCP port that was bound, which port 0 leaves to the system to choose; 0 without TCP."""
        return next((s.getsockname()[1] for s in self._sockets if s.family != socket.AF_UNIX), 0)

    def bind_tcp(self, addresses: list[str], port: int, backlog: int, *, beside: Listener | None = None) -> None:
        """Bind every address of `bind`. An address with a leading `-` may be absent on this machine, as in Redis.

        `beside` is a listener of ours that may hold the same addresses and that the caller closes afterwards.
        Raises ConfigError with one line that says which address and why; nothing is bound then.
        """
        if beside is not None:
            beside._share(True)
        try:
            self._bind_all(addresses, port, backlog, shared=beside is not None)
        except ConfigError:
            self.close()
            if beside is not None:
                beside._share(False)
            raise
        self._share(False)

    def stay(self) -> None:
        """Another listener was bound beside this one, and was given up: nobody shares the addresses any more."""
        self._share(False)

    def _share(self, shared: bool) -> None:
        """Allow (True) or forbid that another socket of this user binds the same addresses."""
        for listening in self._sockets:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)

    def _bind_all(self, addresses: list[str], port: int, backlog: int, *, shared: bool) -> None:
        for address in addresses:
            optional = address.startswith("-")
            for family, where in _resolve(address.removeprefix("-")):
                try:
                    listening = _listening(family, where, port, backlog, shared)
                except OSError as error:
                    if optional and error.errno in _ABSENT_FAMILY:
                        continue
                    raise ConfigError(_why_not_bound(address, port, error)) from None
                self._sockets.append(listening)
                if self._mark:
                    _mark(listening, self._mark)
        if not self._sockets:
            raise ConfigError(f"Could not listen on port {port}: none of the addresses in 'bind' exists here")

    def bind_unix(self, path: str, mode: int, backlog: int, group: str = "") -> None:
        """Bind a unix socket; a stale socket file of an earlier run is replaced. `mode` 0 leaves the permissions, and
        an empty `group` the group. Raises ConfigError."""
        group_id = _group_id(group) if group else -1
        try:
            if Path(path).is_socket():
                os.unlink(path)
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listening.bind(path)
            os.chown(path, -1, group_id)
            if mode:
                os.chmod(path, mode)
            listening.listen(backlog)
        except OSError as error:
            raise ConfigError(f"Could not open the unix socket {path}: {error.strerror or error}") from None
        listening.setblocking(False)
        self._sockets.append(listening)
        self._unix_path = path

    def accept_with(self, on_wire: OnWire) -> None:
        """Begin to accept connections. The callback owns each wire that it is given, and closes it."""
        self._on_wire = on_wire
        for listening in self._sockets:
            self._watch(listening)

    def look(self) -> None:
        """Accept the connections that wait, without the event loop."""
        for listening in self._sockets:
            self._accept(listening)

    def _watch(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            asyncio.get_running_loop().add_reader(listening.fileno(), self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Accept the connections that wait, _ACCEPTED_AT_ONCE at most. When the process has no descriptors left, stop
        for a moment: the socket stays readable, so the loop would call this without end."""
        assert self._on_wire is not None
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                sock, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening.fileno())
                loop.call_later(_NO_ROOM_PAUSE_S, self._watch, listening)
                return
            self._hand_on(sock, self._on_wire)

    def close(self) -> None:
        """Accept no more connections, and remove the unix socket's file. Connections that were accepted stay."""
        for listening in self._sockets:
            if self._on_wire is not None:
                asyncio.get_running_loop().remove_reader(listening.fileno())
            listening.close()
        if self._unix_path:
            Path(self._unix_path).unlink(missing_ok=True)


def _resolve(address: str) -> list[tuple[socket.AddressFamily, str]]:
    """The families and numeric addresses meant by one word of `bind`; `*` and `::*` mean every interface."""
    if address in ("*", "0.0.0.0"):
        return [(socket.AF_INET, "0.0.0.0")]
    if address in ("::*", "::"):
        return [(socket.AF_INET6, "::")]
    try:
        found = socket.getaddrinfo(address, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise ConfigError(f"Could not resolve the address {address!r} in 'bind'") from None
    family, _, _, _, where = found[0]
    return [(family, str(where[0]))]


def _listening(family: socket.AddressFamily, where: str, port: int, backlog: int, shared: bool) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((where, port))
        listening.listen(backlog)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _mark(listening: socket.socket, mark: int) -> None:
    """Mark the packets of this socket. Raises ConfigError."""
    try:
        # As bytes, since Python takes no number above 2^31 - 1 here.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark.to_bytes(4, sys.byteorder))
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "give the process CAP_NET_ADMIN, or remove socket-mark-id"
        raise ConfigError(f"Could not mark the packets of the TCP port with {mark}: {reason}; {hint}") from None


def _group_id(group: str) -> int:
    """The number of a group given by name or number. Raises ConfigError."""
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        if group.isdecimal() and int(group) < 2**32 - 1:
            return int(group)
        hint = "create it, or change unixsocketgroup"
        raise ConfigError(f"There is no group {group!r} for the unix socket: {hint}") from None


def _why_not_bound(address: str, port: int, error: OSError) -> str:
    reason = error.strerror or str(error)
    hint = {
        errno.EADDRINUSE: "; another process listens there: stop it, or choose another --port",
        errno.EACCES: "; ports below 1024 need a privileged user: choose a port above",
    }.get(error.errno or 0, "")
    return f"Could not create server TCP listening socket {address.removeprefix('-')}:{port}: bind: {reason}{hint}"
