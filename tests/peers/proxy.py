"""A TCP proxy between two nodes that cuts after byte N, stalls, half-closes and heals, on command.

Directions are named by where the bytes come from: "up" from the replica towards the master, "down" from the master
towards the replica. Counts are per connection and direction; faults set before a connection apply to it too.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from tests.peers.lab import HOST, free_port

CHUNK: Final = 1 << 14
DIRECTIONS: Final = ("up", "down")


class Proxy:
    """Listens on `port` and forwards each connection to `target`. Ended at the end of its `with`."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = free_port()
        self.connections = 0
        self.passed = {"up": 0, "down": 0}
        self._cut_after: dict[str, int] = {}
        self._refusing = False
        self._flowing = threading.Event()
        self._flowing.set()
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._closed = False
        self._listener = socket.create_server((HOST, self.port))
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End listener and connections."""
        self._closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._flowing.set()
        self.cut()

    def cut_after(self, count: int, direction: str) -> None:
        """Every connection from now on is cut when it has passed exactly `count` bytes in that direction."""
        assert direction in DIRECTIONS
        self._cut_after[direction] = count

    def heal(self) -> None:
        """No fault any more; what was held back flows on."""
        self._cut_after.clear()
        self._refusing = False
        self._flowing.set()

    def cut(self) -> None:
        """Both sides of every connection are closed now."""
        with self._lock:
            victims, self._open = self._open, []
        for victim in victims:
            with suppress(OSError):
                victim.shutdown(socket.SHUT_RDWR)
            victim.close()

    def refuse(self) -> None:
        """Cut, and close every new connection at once, until healed."""
        self._refusing = True
        self.cut()

    def stall(self) -> None:
        """Connections stay open and pass nothing, until healed."""
        self._flowing.clear()

    def half_close(self) -> None:
        """The masters' side says it will send no more; the replicas' bytes still pass."""
        with self._lock:
            clients = self._open[::2]
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_WR)

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self._refusing:
                client.close()
                continue
            try:
                master = socket.create_connection((HOST, self.target), 5)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open += [client, master]
            for direction, source, sink in (("up", client, master), ("down", master, client)):
                args = (direction, source, sink)
                threading.Thread(target=self._pump, args=args, name=f"proxy-{direction}", daemon=True).start()

    def _pump(self, direction: str, source: socket.socket, sink: socket.socket) -> None:
        passed = 0
        try:
            while data := source.recv(CHUNK):
                self._flowing.wait()
                limit = self._cut_after.get(direction)
                allowed = data if limit is None else data[: max(0, limit - passed)]
                sink.sendall(allowed)
                passed += len(allowed)
                self.passed[direction] += len(allowed)
                if limit is not None and passed >= limit:
                    break
        except OSError:
            pass
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
