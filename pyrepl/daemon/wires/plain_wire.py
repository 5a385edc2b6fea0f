"""A wire that carries the bytes as they are, on a TCP or a unix socket. Hot: a thin layer over the system calls."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import final

from pyrepl.daemon.wires.descriptor_io import receive, receive_whole, send
from pyrepl.daemon.wires.socket_options import keep_alive, name_of
from pyrepl.daemon.wires.wire import Wire


@final
class PlainWire(Wire):
    """A connected socket, non-blocking from now on. It never has to send in order to receive, nor the other way."""

    __slots__ = ("_sock",)

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        super().__init__(sock.fileno(), is_plain=True)
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
        keep_alive(self._sock, seconds)

    def peer_name(self) -> str:
        return name_of(self._sock.getpeername)

    def own_name(self) -> str:
        return name_of(self._sock.getsockname)

    def certified(self, field: str) -> list[bytes]:
        return []

    def shut_down(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.fd = -1
        self._sock.close()
