"""Readers of changes for bench/streams.py, each a process: `python -m bench.stream_readers KIND WAY PORT ...`.

    pyrepl socket|client PORT ROWS TOKEN    reads so many rows of the stream `keys`, from TOKEN or NOW
    redis8 socket|client PORT ROWS NOW      as many notifications of changed keys, by pub/sub
    redis8 socket PORT ROWS 0               as many entries of the Redis stream `log`, by XREAD
    KIND drain PORT CONNECTIONS             so many live subscribers, read and thrown away until the process is killed

`socket` counts what comes and looks at nothing else; `client` makes rows of it, with our client and with redis-py. Says
"ready" when it will see what is written from then on, and "done" when all has come.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
import sys
from typing import Final

import redis.asyncio

from pyrepl.changes.client import subscribe
from tests.peers.ports import HOST
from tests.peers.wire import Wire, encode

PATTERN: Final = "__keyspace@0__:*"
_CHUNK: Final = 1 << 18
_ENTRIES_AT_ONCE: Final = 1000


def _greeting(kind: str, start: str) -> bytes:
    return f"REPLICATE keys {start}\n".encode() if kind == "pyrepl" else encode(["PSUBSCRIBE", PATTERN])


_MARK: Final = {"pyrepl": b"RDATA ", "redis8": b"pmessage\r"}
_READY: Final = {"pyrepl": b"POSITION", "redis8": b"psubscribe"}


def _connected(kind: str, port: int, start: str) -> socket.socket:
    sock = socket.create_connection((HOST, port))
    sock.sendall(_greeting(kind, start))
    return sock


def count(kind: str, port: int, rows: int, start: str) -> None:
    """By their marks, wherever the bytes are cut."""
    mark = _MARK[kind]
    sock = _connected(kind, port, start)
    seen, rest, is_ready = 0, b"", start != "NOW"
    while seen < rows:
        data = sock.recv(_CHUNK)
        if not data:
            sys.exit("the node closed the connection")
        if not is_ready and _READY[kind] in rest + data:
            is_ready = True
            print("ready", flush=True)
        seen += (rest + data).count(mark)
        rest = data[-len(mark) + 1 :]


def read_log(port: int, rows: int) -> None:
    """A Redis stream from its beginning."""
    last, seen = "0", 0
    with Wire(port) as wire:
        while seen < rows:
            ((_, entries),) = wire.call("XREAD", "COUNT", _ENTRIES_AT_ONCE, "STREAMS", "log", last)
            seen += len(entries)
            last = entries[-1][0]


async def take(kind: str, port: int, rows: int, start: str) -> None:
    """By a client library."""
    if kind == "pyrepl":
        await _take_ours(port, rows, start)
    else:
        await _take_theirs(port, rows)


async def _take_ours(port: int, rows: int, start: str) -> None:
    seen, is_ready = 0, start != "NOW"
    async with subscribe([(HOST, port)], "keys", start) as changes:
        while seen < rows:
            batch = await changes.next_batch()
            seen += len(batch.rows)
            if not is_ready:
                is_ready = True
                print("ready", flush=True)


async def _take_theirs(port: int, rows: int) -> None:
    seen = 0
    async with redis.asyncio.Redis(host=HOST, port=port) as client, client.pubsub() as pubsub:
        await pubsub.psubscribe(PATTERN)
        async for message in pubsub.listen():
            if message["type"] == "psubscribe":
                print("ready", flush=True)
                continue
            seen += 1
            if seen == rows:
                return


def drain(kind: str, port: int, connections: int) -> None:
    """Who is cut comes back, as now."""
    waiting = selectors.DefaultSelector()
    for _ in range(connections):
        waiting.register(_connected(kind, port, "NOW"), selectors.EVENT_READ)
    print("ready", flush=True)
    buffer = bytearray(_CHUNK)
    while True:
        for key, _ in waiting.select():
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            try:
                is_open = sock.recv_into(buffer) > 0
            except ConnectionError:
                is_open = False
            if not is_open:
                waiting.unregister(sock)
                sock.close()
                waiting.register(_connected(kind, port, "NOW"), selectors.EVENT_READ)


def main() -> None:
    """Read as the command line says."""
    kind, way, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if way == "drain":
        drain(kind, port, int(sys.argv[4]))
    rows, start = int(sys.argv[4]), sys.argv[5]
    if way == "client":
        asyncio.run(take(kind, port, rows, start))
    elif kind == "redis8" and start != "NOW":
        read_log(port, rows)
    else:
        count(kind, port, rows, start)
    print("done", flush=True)


if __name__ == "__main__":
    main()
