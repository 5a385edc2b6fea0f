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

from collections.abc import Callable, Sequence
from typing import Any


class Wire:
    """One connected transport, which belongs to us. No Protocol, as the compiled form calls the methods of a class
    directly.

    `fd` is the descriptor to poll, -1 once the wire is closed. Every method that moves bytes raises OSError when the
    connection is broken; none of them may be called after `close`.
    """

    __slots__ = ("fd", "is_plain", "receives_when_writable", "sends_when_readable")

    def __init__(self, fd: int, *, is_plain: bool) -> None:
        self.fd: int = fd
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
        raise NotImplementedError

    def keep_alive(self, seconds: int) -> None:
        """Ask a silent peer for a sign of life after `seconds`, then three times at a third of that, as Redis does
        (SO_KEEPALIVE). Without effect on a unix socket."""
        raise NotImplementedError

    def peer_name(self) -> str:
        """The peer's address as `host_port` writes it; empty on a unix socket, and when the peer has gone."""
        raise NotImplementedError

    def own_name(self) -> str:
        """The address of our end; empty on a unix socket, and after `close`."""
        raise NotImplementedError

    def certified(self, field: str) -> list[bytes]:
        """The texts in a field (CN, or a kind of SAN such as URI) of the certificate that the peer has proved to own;
        none without a certificate."""
        raise NotImplementedError

    def shut_down(self) -> None:
        """End the connection for every process that has a copy of the descriptor; without effect on one that is
        broken or closed."""
        raise NotImplementedError

    def close(self) -> None:
        """Give the descriptor back; harmless when that was done."""
        raise NotImplementedError


def host_port(address: tuple[Any, ...]) -> str:
    """A socket's address for people: `ip:port`, `[ip6]:port`."""
    host, port = str(address[0]), address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
