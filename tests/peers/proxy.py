"""A TCP proxy between two nodes that cuts after byte N, stalls, half-closes and heals, on command.

Directions are named by where the bytes come from: "up" from the replica towards the master, "down" from the master
towards the replica. Counts are per connection and direction; faults set before a connection apply to it too.

Of the two connections of a full sync on two, the one for the snapshot (RDB) is known by what the replica says on it.
Who hangs up first is kept for each connection, and the other end can be left untold.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from tests.peers.ports import HOST, free_port

CHUNK: Final = 1 << 14
CONNECT_S: Final = 5.0
DIRECTIONS: Final = ("up", "down")

MAIN: Final = "main"
RDB: Final = "rdb"
RDB_MARK: Final = b"rdb-only"
"""What only the second connection of a sync says (REPLCONF), in either dialect."""


class Passage:
    """One connection through the proxy: both its sockets, and what has passed."""

    def __init__(self, client: socket.socket, master: socket.socket) -> None:
        self.client = client
        self.master = master
        self.passed = {"up": 0, "down": 0}
        self.channel = MAIN
        self.hung_up: list[str] = []
        self.kept = {direction: bytearray() for direction in DIRECTIONS}
        """What has passed, if the proxy keeps it."""

    def close(self) -> None:
        for end in (self.client, self.master):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """Listens on `port` and forwards each connection to `target`. Ended at the end of its `with`."""

    def __init__(self, target: int, *, keeps: bool = False) -> None:
        """`keeps`: all that passes, for `kept`."""
        self.target = target
        self._kept: list[Passage] | None = [] if keeps else None
        self.port = free_port()
        self.connections = 0
        self.passed = {"up": 0, "down": 0}
        self._cut_after: dict[str, int] = {}
        self._refusing = False
        self._flowing = {direction: threading.Event() for direction in DIRECTIONS}
        self._flow()
        self._open: list[Passage] = []
        self._admitted: int | None = None
        self._untold: str | None = None
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
        self._flow()
        self.cut()

    def cut_after(self, count: int, direction: str) -> None:
        """Every connection from now on is cut when it has passed exactly `count` bytes in that direction."""
        assert direction in DIRECTIONS
        self._cut_after[direction] = count

    def heal(self) -> None:
        """No fault any more; what was held back flows on."""
        self._cut_after.clear()
        self._refusing = False
        self._admitted = None
        self._flow()

    def _flow(self) -> None:
        for flowing in self._flowing.values():
            flowing.set()

    def cut(self, channel: str | None = None) -> None:
        """Both sides of every connection, or of those of that channel, are closed now."""
        with self._lock:
            victims = [passage for passage in self._open if channel in (None, passage.channel)]
            self._open = [passage for passage in self._open if passage not in victims]
        for victim in victims:
            victim.close()

    def cut_older(self, channel: str) -> None:
        """As `cut`, but for the newest of that channel."""
        with self._lock:
            older = [passage for passage in self._open if passage.channel == channel][:-1]
            self._open = [passage for passage in self._open if passage not in older]
        for passage in older:
            passage.close()

    def admit(self, count: int) -> None:
        """Of the connections from now on only `count` reach the master; the others stay open, unanswered, until cut."""
        self._admitted = self.connections + count

    def passed_on(self, channel: str) -> int:
        """Bytes that came down on the newest connection of that channel; 0 if there is none."""
        with self._lock:
            found = [passage.passed["down"] for passage in self._open if passage.channel == channel]
        return found[-1] if found else 0

    def withhold_hang_ups(self, direction: str) -> None:
        """When that end hangs up a snapshot's connection from now on, the other end is not told, and may go on."""
        assert direction in DIRECTIONS
        self._untold = direction

    def hung_up(self, channel: str) -> list[str]:
        """The ends that hung up the newest connection of that channel, the first one first; empty if there is none."""
        with self._lock:
            found = [list(passage.hung_up) for passage in self._open if passage.channel == channel]
        return found[-1] if found else []

    def shut_the_door(self) -> None:
        """Close every new connection at once, until healed; those that are there go on."""
        self._refusing = True

    def refuse(self) -> None:
        """Cut, and close every new connection at once, until healed."""
        self.shut_the_door()
        self.cut()

    def stall(self, *directions: str) -> None:
        """Connections stay open and pass nothing in these directions, or in both, until healed."""
        for direction in directions or DIRECTIONS:
            self._flowing[direction].clear()

    def kept(self, direction: str) -> list[bytes]:
        """All that has passed in that direction, by connection."""
        assert self._kept is not None and direction in DIRECTIONS
        return [bytes(passage.kept[direction]) for passage in self._kept]

    def half_close(self) -> None:
        """The masters' side says it will send no more; the replicas' bytes still pass."""
        with self._lock:
            passages = list(self._open)
        for passage in passages:
            with suppress(OSError):
                passage.client.shutdown(socket.SHUT_WR)

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
                master = socket.create_connection((HOST, self.target), CONNECT_S)
            except OSError:
                client.close()
                continue
            # The limit is for connecting alone: a socket that kept it would be cut when its master is silent that long.
            master.settimeout(None)
            for end in (client, master):
                # As the two ends do themselves: what passes is late by nothing but its way through here.
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            passage = Passage(client, master)
            with self._lock:
                self._open.append(passage)
            if self._kept is not None:
                self._kept.append(passage)
            if self._admitted is not None and self.connections > self._admitted:
                passage.channel = RDB
                continue
            for direction, source, sink in (("up", client, master), ("down", master, client)):
                args = (passage, direction, source, sink)
                threading.Thread(target=self._pump, args=args, name=f"proxy-{direction}", daemon=True).start()

    def _pump(self, passage: Passage, direction: str, source: socket.socket, sink: socket.socket) -> None:
        passed = 0
        try:
            while data := source.recv(CHUNK):
                self._flowing[direction].wait()
                if direction == "up" and passed < CHUNK and RDB_MARK in data:
                    passage.channel = RDB
                limit = self._cut_after.get(direction)
                allowed = data if limit is None else data[: max(0, limit - passed)]
                sink.sendall(allowed)
                passed += len(allowed)
                if self._kept is not None:
                    passage.kept[direction] += allowed
                passage.passed[direction] = passed
                self.passed[direction] += len(allowed)
                if limit is not None and passed >= limit:
                    break
            else:
                passage.hung_up.append(direction)
                if passage.channel == RDB and direction == self._untold:
                    return
        except OSError:
            pass
        passage.close()
