"""A replica that keeps every byte of its master's stream, and holds it against what the master has after a crash."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

from tests.peers.lab import Node
from tests.peers.wire import Wire, Word, encode

_NO_WRITES: Final = (b"SELECT", b"PING", b"REPLCONF")


class Follower:
    """Attached to a node from `__init__` on; `end` waits for the end of the connection."""

    def __init__(self, node: Node, *, silent: bool = False) -> None:
        """`silent`: with CLIENT REPLY OFF, as no replica says it."""
        self._wire = Wire(node.port)
        self._wire.call("REPLCONF", "listening-port", 1)
        self._wire.call("REPLCONF", "capa", "eof", "capa", "psync2")
        if silent:
            self._wire.send(encode(("CLIENT", "REPLY", "OFF")))
        _, self.replid, offset = self._wire.call("PSYNC", "?", "-1").split()
        self.start: int = int(offset)
        self.stream = bytearray()
        self._skip_snapshot()
        self._wire.send(b"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$1\r\n0\r\n")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def held(self) -> int:
        """The cut up to which it has the stream."""
        return self.start + len(self.stream)

    def end(self) -> None:
        """The node was killed: take in what is still on its way."""
        self._reader.join(60)
        assert not self._reader.is_alive(), "the node that was killed still holds the connection"
        self._wire.close()

    def say(self, *words: Word) -> None:
        """Send a command that is not answered, as REPLCONF ACK."""
        self._wire.send(encode(words))

    def units_up_to(self, cut: int) -> int:
        """How many writes (a transaction is one) the stream holds left of `cut`. Raises AssertionError if the cut does
        not lie between two commands."""
        return units(bytes(self.stream[: cut - self.start]))

    def asks_again(self, node: Node) -> str:
        """The verdict on its request to continue; after +CONTINUE it holds what it missed, as far as it has come."""
        with Wire(node.port) as wire:
            wire.call("REPLCONF", "listening-port", 1)
            wire.call("REPLCONF", "capa", "eof", "capa", "psync2")
            return str(wire.call("PSYNC", self.replid, self.held + 1))

    def _skip_snapshot(self) -> None:
        line = b"\n"
        while line == b"\n":
            line = self._wire.file.readline()
        mark = line.strip()[5:]
        assert line.startswith(b"$EOF:") and len(mark) == 40
        data = b""
        while not data.endswith(mark):
            data += self._wire.file.read(1)

    def _read(self) -> None:
        with suppress(OSError):
            while data := self._wire.file.read1():  # type: ignore[attr-defined]
                self.stream += data


def units(stream: bytes) -> int:
    """Writes in a piece of stream; what stands between MULTI and EXEC is one."""
    count, at, is_open = 0, 0, False
    while at < len(stream):
        words, at = _command(stream, at)
        name = words[0].upper()
        if name == b"MULTI":
            is_open = True
        elif name == b"EXEC":
            is_open = False
            count += 1
        elif name not in _NO_WRITES and not is_open:
            count += 1
    assert not is_open, "the cut lies within a transaction"
    return count


def _command(stream: bytes, at: int) -> tuple[list[bytes], int]:
    number, at = _header(stream, at, b"*")
    words = []
    for _ in range(number):
        size, at = _header(stream, at, b"$")
        words.append(stream[at : at + size])
        at += size + 2
    assert at <= len(stream), "the cut lies within a command"
    return words, at


def _header(stream: bytes, at: int, mark: bytes) -> tuple[int, int]:
    end = stream.find(b"\r\n", at)
    assert stream[at : at + 1] == mark and end > 0, f"byte {at} begins no command"
    return int(stream[at + 1 : end]), end + 2
