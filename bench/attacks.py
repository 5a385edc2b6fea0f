"""What those who are logged in wait for while somebody attacks the ports: slowloris, floods, half handshakes, guesses.

The 99th percentile of GETs on two connections, one of them by TLS, beside Redis 7.0 with the same settings. The loads
are those of tests/fault/attacks.py. Redis takes no newcomer while the attackers have all its places, so that newcomers
are not part of this.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Final

from bench.report import Row
from tests.fault.attacks import ATTACKS, by_tls, reads_during
from tests.peers.lab import Lab

RIVAL: Final = "redis7"
KINDS: Final = ("pyrepl", RIVAL)
PASSWORD: Final = "correct horse battery staple"
GOAL: Final = "ours <= 10 ms"


def measure(rounds: int, scale: float) -> list[Row]:
    """Milliseconds. The attacks have a length of their own, so `scale` says nothing."""
    figures: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in KINDS} for name in ATTACKS}
    for _ in range(rounds):
        for name in ATTACKS:
            for kind in KINDS:
                figures[name][kind].append(_worst(kind, name))
    names = {name: name.replace("_", " ") for name in ATTACKS}
    return [Row(names[name], "ms", of["pyrepl"], of[RIVAL], GOAL) for name, of in figures.items()]


def _worst(kind: str, name: str) -> float:
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        directives = {**lab.authority.directives(), "requirepass": PASSWORD, "maxclients": "400"}
        node = lab.start(kind, directives=directives)
        node.call("SET", "key", "value")
        files = lab.authority.folder / "node.pem", lab.authority.ca_file
        with node.connect() as plain, by_tls(node, *files, PASSWORD) as secured:
            waits = reads_during(name, node, [plain, secured], lambda: None)
        return statistics.quantiles(waits, n=100)[98] * 1000
