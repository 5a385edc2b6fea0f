"""Places between pyrepl and real servers: scores, and sets that each node stores for itself, are equal."""

from __future__ import annotations

from random import Random

import pytest

from tests.peers import compare
from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply, Word

PEERS = ("redis8", "valkey8")


def write(node: Node, seed: int) -> None:
    """Places, many of them the same, and searches whose results are stored: replicas search anew."""
    rng = Random(seed)
    places = [(rng.uniform(-10, 10), rng.uniform(40, 50)) for _ in range(20)]
    lines: list[tuple[Word, ...]] = []
    for number in range(150):
        x, y = rng.choice(places)
        lines.append(("GEOADD", f"g{number % 3}", repr(x), repr(y), f"m{rng.randrange(200)}"))
        if number % 5 == 0:
            where = ("FROMLONLAT", repr(rng.uniform(-10, 10)), repr(rng.uniform(40, 50)))
            lines.append(("GEOSEARCHSTORE", f"near{number % 7}", "g0", *where, "BYRADIUS", 500, "km", "COUNT", 9))
            lines.append(("GEORADIUS", "g1", *where[1:], 400, "mi", "COUNT", 12, "DESC", "STOREDIST", f"far{number}"))
    with node.connect() as wire:
        replies = wire.pipeline(lines)
    assert not [reply for reply in replies if isinstance(reply, ErrorReply)]


@pytest.mark.parametrize("real", PEERS)
@pytest.mark.parametrize("ours_is_master", [True, False])
def test_sets_are_equal(lab: Lab, real: str, ours_is_master: bool) -> None:
    ours, other = lab.start("pyrepl"), lab.start(real)
    master, replica = (ours, other) if ours_is_master else (other, ours)
    write(master, 1)
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_link_up()
    write(master, 2)
    compare.settle(master, replica)
    assert master.call("ZCARD", "near0") and master.call("KEYS", "far*")
    compare.assert_equal(master, replica)
