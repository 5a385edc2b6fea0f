"""redis-benchmark, the load that both sides get."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Sequence
from typing import Final

from tests.peers import finder
from tests.peers.lab import Node
from tests.peers.ports import HOST

CLIENTS: Final = 50
VALUE_BYTES: Final = 100
KEYS: Final = 1_000_000
TIMEOUT_S: Final = 900


def run(node: Node, tests: Sequence[str], requests: int, depth: int) -> dict[str, float]:
    """Test as it is printed (`SET`) -> requests per second, with `depth` requests under way on each connection.

    Raises CalledProcessError when the benchmark met an error reply.
    """
    command = [finder.tool("redis-benchmark"), "-h", HOST, "-p", node.port, "-t", ",".join(tests), "-n", requests]
    command += ["-r", KEYS, "-P", depth, "-c", CLIENTS, "-d", VALUE_BYTES, "--csv"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    return {row["test"].partition(" (")[0]: float(row["rps"]) for row in csv.DictReader(lines)}
