"""Loopback ports for nodes that tests start: never the same one twice, not in this process, nor in another.

A port that is merely free can be another's a moment later: the other test worker's node, or the near end of some
connection. So ports are given below the kernel's ephemeral range, in blocks, and a process that gives from a block
holds a lock on the block's file until it ends.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
FIRST: Final = 20_000
END: Final = 32_000
"""Exclusive; the ephemeral range begins at 32768."""

BLOCK: Final = 100


class NoPort(AssertionError):
    """Every port is held by somebody."""


class Ports:
    """What one process gives; its locks live as long as it does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: list[int] = []
        self._rest = self._all()

    def free(self) -> int:
        """A port that nobody listens on and nobody else is given. Raises NoPort."""
        for port in self._rest:
            if is_free(port):
                return port
        raise NoPort(f"no free port from {FIRST} to {END - 1}")

    def _all(self) -> Iterator[int]:
        for first in range(FIRST, END, BLOCK):
            if self._hold(first):
                yield from range(first, first + BLOCK)

    def _hold(self, first: int) -> bool:
        self._folder.mkdir(exist_ok=True)
        lock = os.open(self._folder / str(first), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._locks.append(lock)
        return True


def is_free(port: int) -> bool:
    """Does nobody listen on this loopback port, and did nobody a moment ago?"""
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


_ports: Final = Ports(Path(tempfile.gettempdir()) / "pyrepl-test-ports")


def free_port() -> int:
    """A loopback port for one node of this process. Raises NoPort."""
    return _ports.free()
