"""A master that does what it is told: plays a handshake by the book, then says whatever a test wants to see answered.

It serves one connection after the other; `asked` counts the PSYNC requests, which is how the tests see whether a
replica comes back with growing pauses or in a tight loop.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from tests.peers.ports import HOST
from tests.peers.wire import encode

REPLID: Final = b"f" * 40
EMPTY_RDB: Final = bytes.fromhex("524544495330303131fa0972656469732d76657205372e322e34ff0000000000000000")
"""Version 11, one AUX field, no data, checksum off."""

Talk = Callable[[socket.socket], None]


def snapshot(rdb: bytes, then: bytes = b"") -> Talk:
    """Answer PSYNC with a full resync of this file, then send these bytes as the stream and stay."""

    def talk(sock: socket.socket) -> None:
        sock.sendall(b"+FULLRESYNC %s 0\r\n$%d\r\n%s%s" % (REPLID, len(rdb), rdb, then))
        _stay(sock)

    return talk


def stream(*commands: tuple[str | bytes | int, ...]) -> bytes:
    """Commands as a master's stream."""
    return b"".join(encode(command) for command in commands)


def raw(data: bytes, close: bool = False) -> Talk:
    """Answer PSYNC with these bytes; then stay, or close."""

    def talk(sock: socket.socket) -> None:
        sock.sendall(data)
        if not close:
            _stay(sock)

    return talk


def _stay(sock: socket.socket) -> None:
    with suppress(OSError):
        while sock.recv(4096):
            pass


class FakeMaster:
    """Listens on `port`; `talk` is what it does once PSYNC has come, and may be exchanged while it runs."""

    def __init__(self, talk: Talk, replconf: bytes = b"+OK\r\n", ping: bytes = b"+PONG\r\n") -> None:
        self.talk = talk
        self.replconf = replconf
        self.ping = ping
        self.asked: list[float] = []
        self.connected = 0
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, name="fake-master", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            sock.close()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connected += 1
            self._open.append(sock)
            threading.Thread(target=self._converse, args=(sock,), name="fake-master-talk", daemon=True).start()

    def _converse(self, sock: socket.socket) -> None:
        with suppress(OSError), sock, sock.makefile("rb") as file:
            while line := file.readline():
                # SYNC, to a master that does not know PSYNC, is a line of its own.
                if line[:1] == b"*":
                    words = [_word(file.readline(), file) for _ in range(int(line[1:]))]
                else:
                    words = line.split()
                match words[0].upper():
                    case b"PING":
                        sock.sendall(self.ping)
                    case b"REPLCONF":
                        sock.sendall(self.replconf)
                    case b"PSYNC" | b"SYNC":
                        self.asked.append(time.monotonic())
                        self.talk(sock)
                        return


def _word(header: bytes, file: object) -> bytes:
    read = file.read  # type: ignore[attr-defined]
    return bytes(read(int(header[1:]) + 2)[:-2])
