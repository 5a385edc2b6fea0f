"""Hand-overs: clients that wait in BLPOP, one that pushes, and an element for each of them.

The waiting clients are two groups that take turns. While one group gets its elements, the other one's BLPOPs are at the
server already, so that each element meets a client that waits.
"""

from __future__ import annotations

import time
from typing import Final

from tests.peers.lab import Node
from tests.peers.wire import encode

GROUP: Final = 25
VALUE: Final = b"x" * 100


def run(node: Node, elements: int) -> float:
    """Elements handed over per second, of about so many. Raises AssertionError when a client got something else."""
    groups = [[node.connect() for _ in range(GROUP)] for _ in range(2)]
    pusher = node.connect()
    asks = [[encode(("BLPOP", _key(group, at), 0)) for at in range(GROUP)] for group in range(2)]
    pushes = [b"".join(encode(("RPUSH", _key(group, at), VALUE)) for at in range(GROUP)) for group in range(2)]
    try:
        for group, clients in enumerate(groups):
            for client, ask in zip(clients, asks[group]):
                client.send(ask)
        rounds = max(1, elements // (2 * GROUP))
        started = time.perf_counter()
        for _ in range(rounds):
            for group, clients in enumerate(groups):
                pusher.send(pushes[group])
                for at, (client, ask) in enumerate(zip(clients, asks[group])):
                    assert client.read() == [_key(group, at), VALUE]
                    client.send(ask)
                for _ in range(GROUP):
                    pusher.read()
        return rounds * 2 * GROUP / (time.perf_counter() - started)
    finally:
        for wire in (pusher, *groups[0], *groups[1]):
            wire.close()


def _key(group: int, at: int) -> bytes:
    return b"queue:%d:%d" % (group, at)
