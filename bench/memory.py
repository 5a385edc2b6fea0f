"""Memory: bytes for each key, on a node written to and on one that was synced, and what a snapshot child costs.

Bytes per key are resident memory beyond that of the empty node. The child's are the pages that it does not share with
its parent at its end (rdb_last_cow_size), with no writes meanwhile, as a share of the data set.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

from bench import data
from bench.report import BESIDE, Row
from tests.peers.lab import Lab, Node, wait_until

RIVAL: Final = "redis8"
KINDS: Final = ("pyrepl", RIVAL, BESIDE)
KEYS: Final = 1_000_000
MIXED: Final = 200_000
VALUE_BYTES: Final = 100
GOALS: Final = ("<= 1.5x", "", "<= 5 % of ours")

Fill = Callable[[Node, int], None]


def measure(rounds: int, scale: float) -> list[Row]:
    """Bytes and shares; `scale` makes the data sets smaller or larger."""
    strings = int(KEYS * scale)
    mixed = int(MIXED * scale)
    return [
        *_data_set(f"{strings:,} strings of {VALUE_BYTES} bytes", _fill_strings, strings, rounds, GOALS),
        *_data_set(f"{mixed:,} hashes, lists, sorted sets", data.fill_mixed, mixed, rounds, ("", "", GOALS[2])),
    ]


def _fill_strings(node: Node, keys: int) -> None:
    data.fill_strings(node, keys, VALUE_BYTES)


def _data_set(what: str, fill: Fill, keys: int, rounds: int, goals: tuple[str, str, str]) -> list[Row]:
    figures: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
                figures[kind].append(_once(lab, kind, fill, keys))
    names = (("per key, written", "bytes"), ("per key, synced", "bytes"), ("snapshot child, share", "%"))
    rows = []
    for at, (name, unit) in enumerate(names):
        ours, theirs, beside = ([round_[at] for round_ in figures[kind]] for kind in KINDS)
        rows.append(Row(f"{what}: {name}", unit, ours, theirs, goals[at], beside))
    return rows


def _once(lab: Lab, kind: str, fill: Fill, keys: int) -> tuple[float, float, float]:
    node, replica = lab.start(kind), lab.start(kind)
    empty, empty_replica = _resident(node), _resident(replica)
    fill(node, keys)
    used = _resident(node) - empty
    node.call("BGSAVE")
    wait_until("the snapshot is saved", lambda: node.info("persistence")["rdb_bgsave_in_progress"] == "0", 300)
    child = int(node.info("persistence")["rdb_last_cow_size"])
    replica.call("REPLICAOF", "127.0.0.1", node.port)
    replica.wait_link_up(600)
    return used / keys, (_resident(replica) - empty_replica) / keys, 100 * child / used


def _resident(node: Node) -> int:
    return int(psutil.Process(node.process.pid).memory_info().rss)
