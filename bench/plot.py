"""Pictures of figures: ratios as bars, memory of both ends of a sync over time. Needs matplotlib (`bench` extra)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bench.report import OUT

Samples = Sequence[tuple[float, int, int]]
"""(seconds, bytes on the master, bytes on the replica)."""

ACROSS = 2
MISSING = "none, matplotlib is missing (pip install -e '.[bench]')"


def draw(name: str, title: str, pictures: Mapping[str, Samples]) -> str:
    """One panel for each of `pictures`, all on the same scales; where the PNG is, or why there is none."""
    pyplot = _pyplot()
    if pyplot is None:
        return MISSING
    down = -(-len(pictures) // ACROSS)
    figure, axes = pyplot.subplots(down, ACROSS, figsize=(12, 4 * down), sharey=True, sharex=True, squeeze=False)
    for panel, (what, samples) in zip(axes.flat, pictures.items()):
        seconds = [sample[0] for sample in samples]
        panel.fill_between(seconds, [sample[1] / 1e6 for sample in samples], alpha=0.5, label="master")
        panel.fill_between(seconds, [sample[2] / 1e6 for sample in samples], alpha=0.5, label="replica")
        panel.set_title(what)
        panel.set_xlabel("seconds since REPLICAOF")
        panel.set_ylabel("MB")
        panel.grid(alpha=0.3)
        panel.legend(loc="upper left")
    figure.suptitle(title)
    return _save(pyplot, figure, name)


def ratios(name: str, title: str, values: Mapping[str, float]) -> str:
    """A bar for each ratio, and a line at 1; where the PNG is, or why there is none."""
    pyplot = _pyplot()
    if pyplot is None:
        return MISSING
    figure, axis = pyplot.subplots(figsize=(9, 1.2 + 0.35 * len(values)))
    axis.barh(list(values), list(values.values()))
    axis.axvline(1.0, color="black", linewidth=1)
    axis.invert_yaxis()
    axis.set_xlabel("ratio of medians")
    axis.grid(alpha=0.3, axis="x")
    axis.set_title(title)
    return _save(pyplot, figure, name)


def _pyplot() -> Any:
    """matplotlib's, drawing without a screen; None where it is not installed."""
    try:
        importlib.import_module("matplotlib").use("Agg")
        return importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return None


def _save(pyplot: Any, figure: Any, name: str) -> str:
    """Where the PNG is."""
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}.png"
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return str(path)
