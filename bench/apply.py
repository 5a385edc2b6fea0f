"""A replica applies a recorded stream: the master is this program, which sends the same bytes to either.

From the first byte of the stream until the replica's offset says that it has executed the last.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from bench.report import BESIDE, Row
from pyrepl.rdb.writer import RdbWriter
from tests.interop import channels
from tests.peers.lab import Lab, wait_until
from tests.peers.ports import HOST
from tests.peers.wire import encode

RIVAL: Final = "redis8"
KINDS: Final = ("pyrepl", RIVAL, BESIDE)
COMMANDS: Final = 1_000_000
KEYS: Final = 200_000
REPLID: Final = "5" * 40
TIMEOUT_S: Final = 300.0


def measure(rounds: int, scale: float) -> list[Row]:
    """Commands per second; `scale` makes the streams shorter or longer."""
    count = int(COMMANDS * scale)
    return [
        _stream(f"SET of 100 bytes, {count:,}", _sets(count), count, rounds),
        _stream(f"INCR, HSET, RPUSH, ZADD in turn, {count:,}", _mixed(count), count, rounds),
    ]


def _sets(count: int) -> bytes:
    value = b"x" * 100
    keys = (b"key:%d" % (n * 7919 % KEYS) for n in range(count))
    sets = (b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(key), key, len(value), value) for key in keys)
    return encode(["SELECT", "0"]) + b"".join(sets)


def _mixed(count: int) -> bytes:
    parts = [encode(["SELECT", "0"])]
    for n in range(0, count, 4):
        key = n * 7919 % KEYS
        parts.append(encode(["INCR", f"n:{key}"]))
        parts.append(encode(["HSET", f"h:{key}", f"field:{n % 20}", f"value:{n}"]))
        parts.append(encode(["RPUSH", f"l:{key}", f"item:{n}"]))
        parts.append(encode(["ZADD", f"z:{key}", n, f"member:{n % 50}"]))
    return b"".join(parts)


def _stream(what: str, stream: bytes, count: int, rounds: int) -> Row:
    figures: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in KINDS:
            figures[kind].append(count / _once(kind, stream))
    return Row(what, "per s", figures["pyrepl"], figures[RIVAL], ">= 1x", figures[BESIDE])


def _once(kind: str, stream: bytes) -> float:
    began: list[float] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Lab(Path(folder)) as lab,
        socket.create_server((HOST, 0)) as listener,
    ):
        master = threading.Thread(target=_be_master, args=(listener, stream, began), daemon=True)
        master.start()
        port: int = listener.getsockname()[1]
        replica = lab.start(kind, port, directives=channels.directives(kind, channels.ONE))
        wait_until("it has applied the stream", lambda: replica.offset() >= len(stream), TIMEOUT_S, every_s=0.01)
        took = time.monotonic() - began[0]
    master.join(10)
    return took


def _be_master(listener: socket.socket, stream: bytes, began: list[float]) -> None:
    """Answer the handshake of one replica, send an empty snapshot and the stream, and read on until it goes."""
    conn, _ = listener.accept()
    with conn, conn.makefile("rb") as lines:
        while words := _command(lines.readline(), lines.readline):
            if words[0].upper() == b"PSYNC":
                break
            conn.sendall(b"+PONG\r\n" if words[0].upper() == b"PING" else b"+OK\r\n")
        snapshot = _empty_snapshot()
        conn.sendall(b"+FULLRESYNC %b 0\r\n$%d\r\n%b" % (REPLID.encode(), len(snapshot), snapshot))
        time.sleep(0.5)
        began.append(time.monotonic())
        drain = threading.Thread(target=_drain, args=(conn,), daemon=True)
        drain.start()
        conn.sendall(stream)
        drain.join()


def _command(first: bytes, readline: object) -> list[bytes]:
    assert callable(readline)
    words = []
    for _ in range(int(first[1:] or 0)):
        readline()
        words.append(bytes(readline()).rstrip(b"\r\n"))
    return words


def _empty_snapshot() -> bytes:
    writer = RdbWriter()
    return writer.begin() + writer.end()


def _drain(conn: socket.socket) -> None:
    """Read the replica's ACKs, so that its socket never fills, until it has gone."""
    try:
        while conn.recv(65536):
            pass
    except OSError:
        pass
