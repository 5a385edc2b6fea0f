"""A partial resync: a replica that was away catches up with 64 MB of stream out of the master's backlog.

From REPLICAOF until the replica's offset is the master's. pyrepl to pyrepl against Redis to Redis, in turns.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from bench.report import BESIDE, Row
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.ports import HOST, free_port
from tests.peers.wire import encode

RIVAL: Final = "redis8"
KINDS: Final = ("pyrepl", RIVAL, BESIDE)
MISSED_BYTES: Final = 64_000_000
VALUE_BYTES: Final = 1000
KEYS: Final = 20_000
BATCH: Final = 1000
TIMEOUT_S: Final = 300.0


def measure(rounds: int, scale: float) -> list[Row]:
    """Seconds; `scale` makes what was missed less or more."""
    missed = int(MISSED_BYTES * scale)
    figures: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        pairs = {kind: _pair(lab, kind, missed) for kind in KINDS}
        for _ in range(rounds):
            for kind, (master, replica) in pairs.items():
                figures[kind].append(_once(master, replica, missed))
    return [Row(f"catch up {missed / 1e6:.0f} MB", "s", figures["pyrepl"], figures[RIVAL], "<= 1x", figures[BESIDE])]


def _pair(lab: Lab, kind: str, missed: int) -> tuple[Node, Node]:
    master = lab.start(kind, directives={"repl-backlog-size": str(2 * missed + (1 << 20))})
    replica = lab.start(kind, master)
    replica.wait_link_up()
    return master, replica


def _once(master: Node, replica: Node, missed: int) -> float:
    """The replica looks for a master where there is none, and comes back."""
    before = master.stat("sync_partial_ok")
    replica.call("REPLICAOF", HOST, free_port())
    wait_until("the replica has gone", lambda: master.info("replication")["connected_slaves"] == "0", 60)
    _write(master, missed)
    began = time.monotonic()
    replica.call("REPLICAOF", HOST, master.port)
    replica.wait_link_up(TIMEOUT_S)
    wanted = master.offset()
    wait_until("it has all of it", lambda: replica.offset() >= wanted, TIMEOUT_S, every_s=0.01)
    took = time.monotonic() - began
    assert master.stat("sync_partial_ok") == before + 1
    return took


def _write(master: Node, missed: int) -> None:
    value = b"x" * VALUE_BYTES
    with master.connect(timeout_s=TIMEOUT_S) as wire:
        for first in range(0, missed // VALUE_BYTES, BATCH):
            wire.send(b"".join(encode(["SET", f"key:{n % KEYS}", value]) for n in range(first, first + BATCH)))
            for _ in range(BATCH):
                wire.read()
