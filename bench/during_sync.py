"""What clients of a master lose while it serves a full sync: writes per second and p99, with a sync and without.

8 clients of redis-benchmark write, one request at a time, to a master of 1000-byte strings (1 GB at scale 1); a new
replica attaches, on two connections. Each figure is that of the sync by that of the same writes before it.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from bench import rdbchannel
from bench.rdbchannel import Figures
from bench.report import BESIDE, Row
from tests.peers.lab import Lab, Node

RIVAL: Final = "redis8"
KINDS: Final = ("pyrepl", RIVAL, BESIDE)
DATA_BYTES: Final = 500_000_000
CALM_S: Final = 3.0


def measure(rounds: int, scale: float) -> list[Row]:
    """Figures with a sync, without one, and what is left; `scale` makes the data set smaller or larger."""
    keys = int(DATA_BYTES * scale) // rdbchannel.VALUE_BYTES
    calm: dict[str, list[Figures]] = {kind: [] for kind in KINDS}
    busy: dict[str, list[Figures]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        masters = {kind: rdbchannel.start_master(lab, kind, keys) for kind in KINDS}
        for _ in range(rounds):
            for kind, master in masters.items():
                calm[kind].append(_without(master))
                busy[kind].append(rdbchannel.full_sync(lab, master, "two"))
    return _rows(calm, busy)


def _without(master: Node) -> Figures:
    figures = Figures()
    stopped = threading.Event()
    with rdbchannel.writes(master):
        time.sleep(rdbchannel.WARM_UP_S)
        prober = threading.Thread(target=rdbchannel.probe, args=(master, figures, stopped), daemon=True)
        prober.start()
        began, before = time.monotonic(), rdbchannel.commands(master)
        time.sleep(CALM_S)
        figures.writes_per_s = (rdbchannel.commands(master) - before) / (time.monotonic() - began)
        stopped.set()
        prober.join(60)
    return figures


def _rows(calm: dict[str, list[Figures]], busy: dict[str, list[Figures]]) -> list[Row]:
    def row(what: str, unit: str, of: dict[str, list[float]], goal: str = "") -> Row:
        return Row(what, unit, of["pyrepl"], of[RIVAL], goal, of[BESIDE])

    def writes(figures: dict[str, list[Figures]]) -> dict[str, list[float]]:
        return {kind: [one.writes_per_s for one in figures[kind]] for kind in KINDS}

    def p99(figures: dict[str, list[Figures]]) -> dict[str, list[float]]:
        return {kind: [one.latency_ms(99) for one in figures[kind]] for kind in KINDS}

    def ratios(over: dict[str, list[float]], under: dict[str, list[float]]) -> dict[str, list[float]]:
        return {kind: [a / b for a, b in zip(over[kind], under[kind], strict=True)] for kind in KINDS}

    return [
        row("writes, no sync", "per s", writes(calm)),
        row("writes during the sync", "per s", writes(busy)),
        row("writes kept", "x", ratios(writes(busy), writes(calm)), ">= 1x"),
        row("p99, no sync", "ms", p99(calm)),
        row("p99 during the sync", "ms", p99(busy)),
        row("p99 grows by", "x", ratios(p99(busy), p99(calm)), "<= 1x"),
    ]
