"""A small Redis client on a plain socket: commands out, replies in, nothing hidden.

It speaks RESP2 and the RESP3 types that answer a `HELLO 3`. No pool, no retry, no conversion: a test sees what came.
redis-py and the other real clients have their own tests in tests/interop/test_clients.py.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

Word = bytes | str | int | float
Reply = Any
"""int, bytes, str (simple string), None, list, dict, set, bool, float or ErrorReply."""

TIMEOUT_S: Final = 60.0


class ErrorReply(Exception):
    """A `-ERR ...` line. `call` raises it, `pipeline` returns it in its place."""


def encode(words: Iterable[Word]) -> bytes:
    """One command as a RESP array."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"".join([b"*%d\r\n" % len(parts), *[b"$%d\r\n%s\r\n" % (len(part), part) for part in parts]])


class Wire:
    """One connection. Not thread-safe: a thread that talks has its own."""

    def __init__(self, port: int, host: str = "127.0.0.1", timeout_s: float = TIMEOUT_S) -> None:
        self.sock = socket.create_connection((host, port), timeout_s)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.sock.makefile("rb", buffering=1 << 16)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        with suppress(OSError):
            self.file.close()
        self.sock.close()

    def call(self, *words: Word) -> Reply:
        """Send one command and return its reply. Raises ErrorReply, ConnectionError, TimeoutError."""
        self.sock.sendall(encode(words))
        reply = self.read()
        if isinstance(reply, ErrorReply):
            raise reply
        return reply

    def pipeline(self, commands: Sequence[Sequence[Word]]) -> list[Reply]:
        """Send all, then read all; error replies stand in their places."""
        self.sock.sendall(b"".join(map(encode, commands)))
        return [self.read() for _ in commands]

    def send(self, data: bytes) -> None:
        """Bytes as they are, for requests that are wrong on purpose."""
        self.sock.sendall(data)

    def read_to_end(self) -> bytes:
        """Everything until the other end closes."""
        return bytes(self.file.read())

    def read(self) -> Reply:
        """One reply. Raises ConnectionError when the other end has closed."""
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError(f"the server closed the connection after {line!r}")
        mark, rest = line[:1], line[1:-2]
        match mark:
            case b"+":
                return rest.decode()
            case b"-":
                return ErrorReply(rest.decode())
            case b":":
                return int(rest)
            case b"$" | b"=":
                return self._bulk(int(rest))
            case b"*" | b">" | b"~":
                return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
            case b"%":
                return {self.read(): self.read() for _ in range(int(rest))}
            case b"_":
                return None
            case b"#":
                return rest == b"t"
            case b",":
                return float(rest)
            case _:
                raise ConnectionError(f"not a RESP reply: {line!r}")

    def _bulk(self, size: int) -> bytes | None:
        if size < 0:
            return None
        data = bytes(self.file.read(size + 2))
        if len(data) != size + 2:
            raise ConnectionError(f"the server closed the connection within a string of {size} bytes")
        return data[:-2]
