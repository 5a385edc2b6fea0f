"""A full resync of 100-byte strings.

From REPLICAOF to a link that is up; pyrepl to pyrepl against Redis to Redis. Diskless, as both do by default, without
the delay that waits for more replicas. Each round has a new, empty replica.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.report import Row
from tests.peers.lab import HOST, Lab, Node, wait_until

RIVAL = "redis8"
GOAL = "1.5x"
MILLIONS = (1, 5)
VALUE_BYTES = 100


def measure(rounds: int, scale: float, millions: Sequence[float] = MILLIONS) -> list[Row]:
    """Seconds for each number of keys; `scale` makes all of them fewer or more."""
    return [_size(int(count * 1_000_000 * scale), rounds) for count in millions]


def _size(keys: int, rounds: int) -> Row:
    figures: dict[str, list[float]] = {"pyrepl": [], RIVAL: []}
    for kind in figures:
        with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
            master = lab.start(kind)
            with master.connect(timeout_s=600) as wire:
                wire.call("DEBUG", "POPULATE", keys, "key", VALUE_BYTES)
            figures[kind] = [_once(lab, kind, master, keys) for _ in range(rounds)]
    return Row(f"full sync of {keys:,} keys", "s", figures["pyrepl"], figures[RIVAL], GOAL)


def _once(lab: Lab, kind: str, master: Node, keys: int) -> float:
    replica = lab.start(kind)
    began = time.monotonic()
    replica.call("REPLICAOF", HOST, master.port)
    replica.wait_link_up(900)
    took = time.monotonic() - began
    assert replica.call("DBSIZE") == keys
    replica.end()
    wait_until("the master has let it go", lambda: master.info("replication")["connected_slaves"] == "0", 60)
    return took
