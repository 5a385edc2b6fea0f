"""A subscriber that is cut at random and goes on at another node with its token: by the line protocol, nothing else."""

from __future__ import annotations

import base64
import json
import random
import socket
import threading
import time
from typing import Any

from tests.peers.stream_judge import offset_of

Fact = tuple[int, list[Any]]
"""(its offset or id, its rows)."""


class Follower(threading.Thread):
    """Follows one stream at whichever of `ports` chance names, and collects its facts until told to stop.

    It holds a number and nothing else, and trusts only what the protocol says: a position moves with a numeric token.
    `stream` is a stream, or a stream and one of its writers; `token` where it begins.
    """

    def __init__(self, stream: str, ports: list[int], token: int, seed: int, *, cuts: bool = True) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.ports = ports
        self.token = token
        self.facts: list[Fact] = []
        self.connections = 0
        self.errors: list[str] = []
        self.failure: BaseException | None = None
        self._cuts = cuts
        self._chance = random.Random(seed)
        self._over = threading.Event()

    def run(self) -> None:
        try:
            while not self._over.is_set():
                self._follow(self._chance.choice(self.ports))
        except BaseException as error:
            self.failure = error

    def _at(self, token: int) -> int:
        """The offset or id of a token."""
        return offset_of(token) if self.stream in ("keys", "commands", "caches") else token

    def finish(self, at: int, timeout_s: float = 60.0) -> list[Fact]:
        """Wait until it is at this offset or id; all its facts. Raises AssertionError if it does not get there."""
        end = time.monotonic() + timeout_s
        while self._at(self.token) < at and self.failure is None and time.monotonic() < end:
            time.sleep(0.02)
        self._over.set()
        self.join(10)
        assert self.failure is None, self.failure
        assert self._at(self.token) >= at, f"at token {self.token}, not at {at}; errors: {self.errors[-3:]}"
        return self.facts

    def _follow(self, port: int) -> None:
        """One connection, up to a cut."""
        left = self._chance.choice([1, 20, 100, 500]) if self._cuts else 10**9
        try:
            sock = socket.create_connection(("127.0.0.1", port), timeout=1.0)
        except OSError:
            time.sleep(0.05)
            return
        self.connections += 1
        with sock, sock.makefile("rb") as lines:
            sock.sendall(f"NAME follower\nREPLICATE {self.stream} {self.token}\n".encode())
            held: list[Any] = []
            while left and not self._over.is_set():
                try:
                    line = lines.readline()
                except OSError:
                    return
                if not line.endswith(b"\n") or not self._take(line.decode().rstrip("\n"), held):
                    return
                left -= 1

    def _take(self, line: str, held: list[Any]) -> bool:
        """Take one line; False when the connection is over."""
        verb, _, rest = line.partition(" ")
        if verb == "RDATA":
            token, row = rest.removeprefix(self.stream + " ").split(" ", 1)
            held.append(json.loads(row))
            if token != "batch":
                self.facts.append((self._at(int(token)), held[:]))
                held.clear()
                self.token = int(token)
        elif verb == "POSITION":
            assert not held, "a position in the middle of a batch"
            self.token = int(rest.split()[-1])
        elif verb == "ERROR":
            self.errors.append(rest)
            time.sleep(0.05)
            return False
        return True


def words_of(fact: Fact) -> tuple[int, list[tuple[int, list[bytes]]]]:
    """A fact of the stream `commands` as (token, [(database, words)])."""
    token, rows = fact
    return token, [(db, [_bytes(word) for word in words]) for db, words in rows]


def _bytes(word: Any) -> bytes:
    return word.encode() if isinstance(word, str) else base64.b64decode(word["base64"])
