"""Data sets for the benchmarks, made over the wire: the same commands for every kind of server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.peers.lab import Node
from tests.peers.wire import encode

CHUNK_KEYS: Final = 2000
TIMEOUT_S: Final = 900.0


def fill_strings(node: Node, keys: int, value_bytes: int) -> None:
    """`key:<n>`, each of so many bytes, as DEBUG POPULATE makes them."""
    with node.connect(timeout_s=TIMEOUT_S) as wire:
        wire.call("DEBUG", "POPULATE", keys, "key", value_bytes)


def fill_mixed(node: Node, keys: int, *, alone: bool = True) -> None:
    """In turn a hash of 10 fields, a list of 20 elements and a sorted set of 20 members; `alone` in their database."""
    with node.connect(timeout_s=TIMEOUT_S) as wire:
        wire.send(encode(["CLIENT", "REPLY", "OFF"]))
        for first in range(0, keys, CHUNK_KEYS):
            wire.send(b"".join(_mixed(first, min(keys, first + CHUNK_KEYS))))
        wire.send(encode(["CLIENT", "REPLY", "ON"]))
        wire.read()
        assert not alone or wire.call("DBSIZE") == keys


def _mixed(first: int, stop: int) -> Iterator[bytes]:
    for key in range(first, stop):
        if key % 3 == 0:
            yield encode(
                ["HSET", f"h:{key}", *(word for n in range(10) for word in (f"field:{n}", f"value:{key * n}"))]
            )
        elif key % 3 == 1:
            yield encode(["RPUSH", f"l:{key}", *(f"item:{key * n}" for n in range(20))])
        else:
            yield encode(["ZADD", f"z:{key}", *(word for n in range(20) for word in (key * n, f"member:{n}"))])
