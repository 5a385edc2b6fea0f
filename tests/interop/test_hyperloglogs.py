"""HyperLogLogs between pyrepl and real servers, in snapshots and in streams: the strings are equal byte for byte."""

from __future__ import annotations

from random import Random

import pytest

from tests.peers import compare
from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply, Word

PEERS = ("redis8", "valkey8")
KEYS = [f"h{number}" for number in range(8)]


def write(node: Node, seed: int) -> None:
    """Small and large HyperLogLogs, estimates, unions."""
    rng = Random(seed)
    lines: list[tuple[Word, ...]] = []
    for _ in range(150):
        key = rng.choice(KEYS)
        count = rng.choice((1, 5, 200)) if key in KEYS[:4] else 3
        lines.append(("PFADD", key, *[rng.randrange(10**6) for _ in range(count)]))
        lines.append(("PFCOUNT", rng.choice(KEYS)))
        if rng.random() < 0.1:
            lines.append(("PFMERGE", *rng.sample(rng.choice((KEYS[:4], KEYS[4:])), 3)))
    with node.connect() as wire:
        replies = wire.pipeline(lines)
    assert not [reply for reply in replies if isinstance(reply, ErrorReply)]


@pytest.mark.parametrize("real", PEERS)
@pytest.mark.parametrize("ours_is_master", [True, False])
def test_strings_are_equal(lab: Lab, real: str, ours_is_master: bool) -> None:
    ours, other = lab.start("pyrepl"), lab.start(real)
    master, replica = (ours, other) if ours_is_master else (other, ours)
    write(master, 1)
    replica.call("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_link_up()
    write(master, 2)
    compare.settle(master, replica)
    encodings = {master.call("PFDEBUG", "ENCODING", key) for key in KEYS}
    assert len(encodings) == 2, "both forms are compared"
    assert [replica.call("GET", key) for key in KEYS] == [master.call("GET", key) for key in KEYS]
    assert compare.digest(replica) == compare.digest(master)
