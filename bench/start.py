"""From the start of the process to the first PONG, without data."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from bench.report import BESIDE, Row
from tests.peers.lab import Lab
from tests.peers.wire import Wire

RIVAL: Final = "redis8"
GOAL: Final = "<= 0.3 s"
_STARTS: Final = 3
"""In each round, whatever the scale: they are short."""


def measure(rounds: int, scale: float) -> list[Row]:
    """Seconds; `scale` is without meaning here."""
    figures: dict[str, list[float]] = {"pyrepl": [], RIVAL: [], BESIDE: []}
    for _ in range(rounds * _STARTS):
        for kind, seconds in figures.items():
            with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
                seconds.append(_once(lab, kind))
    return [Row("start to first PONG", "s", figures["pyrepl"], figures[RIVAL], GOAL, figures[BESIDE])]


def _once(lab: Lab, kind: str) -> float:
    began = time.monotonic()
    node = lab.launch(kind)
    while True:
        try:
            with Wire(node.port, timeout_s=5) as wire:
                wire.call("PING")
            return time.monotonic() - began
        except OSError:
            assert node.alive(), node.tail()
            time.sleep(0.002)
