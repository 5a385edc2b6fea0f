"""What a wire can do: the connected transport between us and one peer, whatever carries the bytes.

A wire never waits and knows no event loop. Who uses it polls its `fd` and keeps what it did not take: `PolledSocket`
for clients, replicas and subscribers, `LinkConn` for our master. Each kind of wire is a module of this room:
`plain_wire` is bytes on a socket as they are, `tls_wire` the same encrypted.

The rules that let the same code serve both kinds:

- A wire leaves nothing behind that it has taken from the kernel: `receive` hands out a record of TLS whole, even where
  it is longer than was asked for. So who polls `fd` misses nothing.
- What was not taken comes again: the next bytes to be sent begin with the bytes that the wire did not take, as they may
  be encrypted already.
- To receive, a wire may have to send first (new keys), and to send it may have to receive first. It says so by
  `receives_when_writable` and `sends_when_readable`; its user then polls for the other event, and calls again.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any


class Wire:
    """One connected socket, TCP or unix, which belongs to us and is non-blocking from now on. No Protocol, as the
    compiled form calls the methods of a class directly.

    `fd` is the descriptor to poll, -1 once the wire is closed. Every method that moves bytes raises OSError when the
    connection is broken; none of them may be called after `close`.
    """

    __slots__ = ("_sock", "fd", "is_plain", "receives_when_writable", "sends_when_readable")

    def __init__(self, sock: socket.socket, *, is_plain: bool) -> None:
        sock.setblocking(False)
        self._sock: socket.socket = sock
        self.fd: int = sock.fileno()
        self.is_plain: bool = is_plain
        """Do bytes written to `fd` reach the peer as they are? Then a child process may write there."""
        self.receives_when_writable: bool = False
        """The last `receive` can go on only when `fd` can be written."""
        self.sends_when_readable: bool = False
        """What was sent last can go on only when `fd` can be read."""

    def receive(self, size: int) -> bytes | None:
        """What has come, about `size` bytes at most; b"" at the end, None when nothing has come."""
        raise NotImplementedError

    def receive_whole(self, rest: bytes, size: int, whole_bytes: Callable[[bytes], int]) -> tuple[bytes, bytes] | None:
        """What has come, about `size` bytes at most, as one piece with `rest` before it, cut where `whole_bytes` says.

        Both parts; two empty ones at the end, None when nothing has come. `whole_bytes` must not keep its argument.
        """
        raise NotImplementedError

    def send(self, data: bytes | memoryview) -> int:
        """Send the beginning of `data`: how many bytes were taken, 0 when there is no room now."""
        raise NotImplementedError

    def send_pieces(self, pieces: Sequence[bytes | memoryview]) -> int:
        """As `send`, for the pieces one after another, 1024 at most."""
        raise NotImplementedError

    def send_file(self, file_fd: int, offset: int, count: int) -> int:
        """Send `count` bytes of a file from `offset` on: how many were taken, 0 when there is no room now.

        Raises ConnectionError when the connection is broken, and any other OSError when the file cannot be read or
        ends before `offset` + 1.
        """
        raise NotImplementedError

    def set_no_delay(self, wanted: bool) -> None:
        """Send small packets at once, or collect them for a moment (TCP_NODELAY). Without effect on a unix socket."""
        if self._sock.family != socket.AF_UNIX:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, wanted)

    def keep_alive(self, seconds: int) -> None:
        """Ask a silent peer for a sign of life after `seconds`, then three times at a third of that, as Redis does
        (SO_KEEPALIVE). Without effect on a unix socket."""
        sock = self._sock
        if sock.family == socket.AF_UNIX:
            return
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, seconds // 3))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def peer_name(self) -> str:
        """The peer's address as `host_port` writes it; empty on a unix socket, and when the peer has gone."""
        return name_of(self._sock.getpeername)

    def own_name(self) -> str:
        """The address of our end; empty on a unix socket, and after `close`."""
        return name_of(self._sock.getsockname)

    def certified(self, field: str) -> list[bytes]:
        """The texts in a field (CN, or a kind of SAN such as URI) of the certificate that the peer has proved to own;
        none without a certificate."""
        return []

    def shut_down(self) -> None:
        """End the connection for every process that has a copy of the descriptor; without effect on one that is
        broken or closed."""
        with suppress(OSError):
            # Of the plain socket: the method of an SSLSocket would take the encryption off our own end.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def untaken(self) -> int:
        """How many bytes that were sent the peer's system has not taken yet (SIOCOUTQ)."""
        return int.from_bytes(fcntl.ioctl(self.fd, termios.TIOCOUTQ, bytes(4)), sys.byteorder)

    def reset(self) -> None:
        """Have `close` end the connection at once, whatever is still to be sent: a peer that reads nothing would not
        hear of the end for minutes (SO_LINGER). Without effect on a unix socket, and on one that is broken."""
        with suppress(OSError):
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close(self) -> None:
        """Give the descriptor back; harmless when that was done."""
        self.fd = -1
        self._sock.close()


def name_of(ask: Callable[[], Any]) -> str:
    """The address that `getpeername` or `getsockname` gives, as `host_port` writes it; empty if there is none."""
    try:
        address = ask()
    except OSError:
        return ""
    return host_port(address) if isinstance(address, tuple) else ""


def host_port(address: tuple[Any, ...]) -> str:
    """A socket's address for people: `ip:port`, `[ip6]:port`."""
    host, port = str(address[0]), address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
