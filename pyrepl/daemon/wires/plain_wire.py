"""A wire that carries the bytes as they are, on a TCP or a unix socket. Hot: a thin layer over the system calls."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, final

from pyrepl.daemon.wires.descriptor_io import receive, receive_whole, send
from pyrepl.daemon.wires.wire import Wire, host_port


@final
class PlainWire(Wire):
    """A connected socket, non-blocking from now on. It never has to send in order to receive, nor the other way."""

    __slots__ = ("_sock",)

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        super().__init__(sock.fileno())
        self._sock = sock

    def receive(self, size: int) -> bytes | None:
        return receive(self.fd, size)

    def receive_whole(self, rest: bytes, size: int, whole_bytes: Callable[[bytes], int]) -> tuple[bytes, bytes] | None:
        return receive_whole(self.fd, rest, size, whole_bytes)

    def send(self, data: bytes | memoryview) -> int:
        if type(data) is bytes:
            return send(self.fd, data)
        return self.send_pieces((data,))

    def send_pieces(self, pieces: Sequence[bytes | memoryview]) -> int:
        try:
            return self._sock.sendmsg(pieces)
        except (BlockingIOError, InterruptedError):
            return 0

    def send_file(self, file_fd: int, offset: int, count: int) -> int:
        try:
            size = os.sendfile(self.fd, file_fd, offset, count)
        except (BlockingIOError, InterruptedError):
            return 0
        if size == 0:
            raise OSError(errno.EIO, "the file ends too early")
        return size

    def set_no_delay(self, wanted: bool) -> None:
        if self._sock.family != socket.AF_UNIX:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, wanted)

    def keep_alive(self, seconds: int) -> None:
        sock = self._sock
        if sock.family == socket.AF_UNIX:
            return
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, seconds // 3))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def peer_name(self) -> str:
        return _name_of(self._sock.getpeername)

    def own_name(self) -> str:
        return _name_of(self._sock.getsockname)

    def shut_down(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.fd = -1
        self._sock.close()


def _name_of(ask: Callable[[], Any]) -> str:
    try:
        address = ask()
    except OSError:
        return ""
    return host_port(address) if isinstance(address, tuple) else ""
