"""SET and GET by redis-benchmark.

One request at a time and sixteen, with and without a replica. The two servers take turns within each round, so that
whatever else the machine does hits both. 100-byte values, keys from a million, 50 clients, as many requests for
either.
"""

from __future__ import annotations

import csv
import subprocess
import tempfile
from pathlib import Path

from bench.report import Row
from tests.peers import finder
from tests.peers.lab import HOST, Lab, Node

RIVAL = "redis8"
GOALS = {1: "0.8x", 16: "0.4x"}
REQUESTS = {1: 100_000, 16: 800_000}


def measure(rounds: int, scale: float) -> list[Row]:
    """All figures, in requests per second; `scale` shortens or lengthens each run."""
    rows = []
    for replicas in (0, 1):
        with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
            ours, theirs = (_start(lab, kind, replicas) for kind in ("pyrepl", RIVAL))
            for depth in (1, 16):
                rows += _alternate(ours, theirs, depth, rounds, int(REQUESTS[depth] * scale), replicas)
    return rows


def _start(lab: Lab, kind: str, replicas: int) -> Node:
    node = lab.start(kind)
    for _ in range(replicas):
        lab.start(kind, node).wait_link_up()
    return node


def _alternate(ours: Node, theirs: Node, depth: int, rounds: int, requests: int, replicas: int) -> list[Row]:
    figures: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for node in (ours, theirs):
            for test, per_second in _run(node, depth, requests).items():
                figures.setdefault((test, node.kind), []).append(per_second)
    ending = ", one replica" if replicas else ""
    tests = sorted({test for test, _ in figures}, reverse=True)
    return [
        Row(f"{test} -P {depth}{ending}", "req/s", figures[test, ours.kind], figures[test, theirs.kind], GOALS[depth])
        for test in tests
    ]


def _run(node: Node, depth: int, requests: int) -> dict[str, float]:
    """Test -> requests per second. Raises CalledProcessError when the benchmark met an error reply."""
    command = [finder.tool("redis-benchmark"), "-h", HOST, "-p", node.port, "-t", "set,get", "-n", requests]
    command += ["-r", 1_000_000, "-P", depth, "-c", 50, "-d", 100, "--csv"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    return {row["test"]: float(row["rps"]) for row in csv.DictReader(lines)}
