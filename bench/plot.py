"""Pictures of figures: ratios as bars, memory of both ends of a sync over time. Needs matplotlib (`bench` extra)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from bench.report import OUT

Samples = Sequence[tuple[float, int, int]]
"""(seconds, bytes on the master, bytes on the replica)."""

ACROSS = 2


def draw(name: str, title: str, pictures: Mapping[str, Samples]) -> str:
    """One panel for each of `pictures`, all on the same scales; where the PNG is, or why there is none."""
    try:
        backend = importlib.import_module("matplotlib")
        backend.use("Agg")
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return "none, matplotlib is missing (pip install -e '.[bench]')"
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
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}.png"
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return str(path)


def ratios(name: str, title: str, values: Mapping[str, float]) -> str:
    """A bar for each ratio, and a line at 1; where the PNG is, or why there is none."""
    try:
        backend = importlib.import_module("matplotlib")
        backend.use("Agg")
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return "none, matplotlib is missing (pip install -e '.[bench]')"
    figure, axis = pyplot.subplots(figsize=(9, 1.2 + 0.35 * len(values)))
    axis.barh(list(values), list(values.values()))
    axis.axvline(1.0, color="black", linewidth=1)
    axis.invert_yaxis()
    axis.set_xlabel("ratio of medians")
    axis.grid(alpha=0.3, axis="x")
    axis.set_title(title)
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}.png"
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return str(path)
