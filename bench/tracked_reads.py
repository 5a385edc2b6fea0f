"""Client-side caching: clients read with CLIENT TRACKING on, another one writes the same keys, and each reader is told.

Bytes are counted, not parsed, so that the servers are measured and not this program: all replies are known beforehand.
"""

from __future__ import annotations

import time
from typing import Final

from tests.peers.lab import Node
from tests.peers.wire import Wire, encode

READERS: Final = 8
KEYS: Final = 200
VALUE: Final = b"x" * 100


def run(node: Node, reads: int) -> float:
    """Reads per second, of about so many; each is followed by a write and an invalidation. Raises AssertionError when
    a client was sent something else."""
    keys = [b"cached:%05d" % number for number in range(KEYS)]
    writes = b"".join(encode(("SET", key, VALUE)) for key in keys)
    asks = b"".join(encode(("GET", key)) for key in keys)
    values = b"$%d\r\n%b\r\n" % (len(VALUE), VALUE) * KEYS
    told = b"".join(b">2\r\n$10\r\ninvalidate\r\n*1\r\n$%d\r\n%b\r\n" % (len(key), key) for key in keys)
    writer = node.connect()
    readers = [node.connect() for _ in range(READERS)]
    try:
        for reader in readers:
            reader.call("HELLO", 3)
            assert reader.call("CLIENT", "TRACKING", "ON") == "OK"
        _exchange(writer, writes, b"+OK\r\n" * KEYS)
        rounds = max(1, reads // (KEYS * READERS))
        started = time.perf_counter()
        for _ in range(rounds):
            for reader in readers:
                reader.send(asks)
            for reader in readers:
                assert reader.file.read(len(values)) == values
            _exchange(writer, writes, b"+OK\r\n" * KEYS)
            for reader in readers:
                assert reader.file.read(len(told)) == told
        return rounds * KEYS * READERS / (time.perf_counter() - started)
    finally:
        for wire in (writer, *readers):
            wire.close()


def _exchange(wire: Wire, requests: bytes, replies: bytes) -> None:
    """Send all, and read what must come."""
    wire.send(requests)
    assert wire.file.read(len(replies)) == replies
