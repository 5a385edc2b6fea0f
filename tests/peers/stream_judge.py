"""What really went down a replication stream: reads it as a replica would, and says which commands end at which offset.

It attaches by PSYNC where the master stands, so it needs a master with a backlog (one that has had a replica), and no
snapshot. It decodes by itself: what takes effect together (MULTI ... EXEC) has the offset behind its end.
"""

from __future__ import annotations

import base64
import io
import socket
import threading
import zlib
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from tests.peers.lab import Node, wait_until
from tests.peers.wire import Wire, encode

Fact = tuple[int, list[tuple[int, list[bytes]]]]
"""(offset behind it, its commands as (database, words))."""

_SILENT: Final = (b"PING", b"REPLCONF")
_SCALE: Final = 100_000


def token_at(offset: int, replid: str) -> int:
    """What subscribers are told for an offset of a history: the offset, and five digits that stand for the replid."""
    return offset * _SCALE + zlib.crc32(replid.encode()) % _SCALE


def offset_of(token: int) -> int:
    """The offset in a token of `keys`, `commands` or `caches`."""
    return token // _SCALE


class StreamJudge:
    """Reads a node's stream in a thread, from where it is now on, or from `(replid, offset)`."""

    def __init__(self, node: Node, at: tuple[str, int] | None = None, db: int = 0) -> None:
        info = node.info("replication")
        self.replid, self.start = at or (info["master_replid"], int(info["master_repl_offset"]))
        self.db = db
        """Selected at the start: 0 unless somebody knows better."""
        self._data = bytearray()
        self._lock = threading.Lock()
        self._wire = Wire(node.port)
        self._wire.send(encode(["PSYNC", self.replid, self.start + 1]))
        answer = self._wire.read()
        assert isinstance(answer, str) and answer.startswith("CONTINUE"), answer
        self._closed = threading.Event()
        for work in (self._read, self._acknowledge):
            threading.Thread(target=work, name="stream judge", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """What was read stays."""
        self._closed.set()
        with suppress(OSError):
            self._wire.sock.shutdown(socket.SHUT_RDWR)
        self._wire.close()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            file = self._wire.file
            assert isinstance(file, io.BufferedReader)
            while data := file.read1(1 << 16):
                with self._lock:
                    self._data += data

    def _acknowledge(self) -> None:
        """A master gives up a replica that says nothing for a minute."""
        with suppress(OSError):
            while not self._closed.wait(1.0):
                self._wire.send(encode(["REPLCONF", "ACK", self.end]))

    @property
    def end(self) -> int:
        """The offset up to which it has read."""
        with self._lock:
            return self.start + len(self._data)

    def token(self, offset: int) -> int:
        """The token of an offset of the history it reads."""
        return token_at(offset, self.replid)

    def wait_for(self, offset: int) -> None:
        """Until it has read so far."""
        wait_until(f"the judge has read up to {offset}", lambda: self.end >= offset)

    def facts(self) -> list[Fact]:
        """All so far, in order."""
        with self._lock:
            data = bytes(self._data)
        facts: list[Fact] = []
        db = self.db
        together: list[tuple[int, list[bytes]]] | None = None
        for words, end in _commands(data):
            name = words[0].upper()
            if name == b"SELECT":
                db = int(words[1])
            elif name == b"MULTI":
                together = []
            elif name == b"EXEC":
                assert together is not None
                facts.append((self.start + end, together))
                together = None
            elif name not in _SILENT:
                if together is None:
                    facts.append((self.start + end, [(db, words)]))
                else:
                    together.append((db, words))
        return facts

    def rows(self) -> list[tuple[int, int, Any]]:
        """As the stream `commands` should give them, by offset: (offset, part, [database, words])."""
        return [
            (offset, part, [db, [_json(word) for word in words]])
            for offset, commands in self.facts()
            for part, (db, words) in enumerate(commands)
        ]


def _json(word: bytes) -> Any:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(word).decode()}


def _commands(data: bytes) -> list[tuple[list[bytes], int]]:
    """Whole commands and where they end."""
    found: list[tuple[list[bytes], int]] = []
    at = 0
    while at < len(data):
        line_end = data.find(b"\r\n", at)
        if line_end < 0:
            break
        assert data[at : at + 1] == b"*", data[at : at + 40]
        words = []
        place = line_end + 2
        for _ in range(int(data[at + 1 : line_end])):
            line_end = data.find(b"\r\n", place)
            if line_end < 0:
                return found
            begin = line_end + 2
            place = begin + int(data[place + 1 : line_end]) + 2
            words.append(data[begin : place - 2])
        if place > len(data):
            break
        found.append((words, place))
        at = place
    return found
