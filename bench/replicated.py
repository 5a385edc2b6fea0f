"""SET -P 16 with one replica and with three.

All nodes of a side are of one kind, pyrepl's or Redis's. A run counts when every replica has all of it: the wait for
that is part of the time.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from bench import redis_benchmark
from bench.report import BESIDE, Row
from tests.peers.lab import Lab, Node, wait_until

RIVAL: Final = "redis8"
GOAL: Final = ">= 1x"
REQUESTS: Final = 400_000
DEPTH: Final = 16
REPLICAS: Final = (1, 3)


def measure(rounds: int, scale: float) -> list[Row]:
    """Requests per second for each number of replicas; `scale` shortens or lengthens each run."""
    return [_with(count, rounds, int(REQUESTS * scale)) for count in REPLICAS]


def _with(count: int, rounds: int, requests: int) -> Row:
    figures: dict[str, list[float]] = {"pyrepl": [], RIVAL: [], BESIDE: []}
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        sides = [_side(lab, kind, count) for kind in figures]
        for _ in range(rounds):
            for master, replicas in sides:
                figures[master.kind].append(_once(master, replicas, requests))
    word = "one replica" if count == 1 else f"{count} replicas"
    return Row(f"SET -P {DEPTH}, {word}", "req/s", figures["pyrepl"], figures[RIVAL], GOAL, figures[BESIDE])


def _side(lab: Lab, kind: str, count: int) -> tuple[Node, list[Node]]:
    master = lab.start(kind)
    replicas = [lab.start(kind, master) for _ in range(count)]
    for replica in replicas:
        replica.wait_link_up()
    return master, replicas


def _once(master: Node, replicas: list[Node], requests: int) -> float:
    began = time.monotonic()
    redis_benchmark.run(master, ["set"], requests, DEPTH)
    end = master.offset()
    for replica in replicas:
        wait_until("the replica has it all", lambda node=replica: node.offset() >= end, 120)  # type: ignore[misc]
    return requests / (time.monotonic() - began)
