"""A wire that carries the bytes as they are, on a TCP or a unix socket. Hot: a thin layer over the system calls."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from typing import final

from pyrepl.daemon.wires.descriptor_io import receive, receive_whole, send
from pyrepl.daemon.wires.wire import Wire


@final
class PlainWire(Wire):
    """A connected socket. It never has to send in order to receive, nor the other way."""

    __slots__ = ()

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock, is_plain=True)

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
