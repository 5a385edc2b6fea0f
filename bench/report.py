"""Figures of two servers side by side: medians, ratios, a table for people, JSON for machines."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from pyrepl import VERSION, kernels

BESIDE: Final = "valkey8"
"""The third server, where a bench has no other third."""
OUT = Path(__file__).with_name("out")
"""Not tracked by git."""


@dataclass(frozen=True)
class Row:
    """One measurement: every round's figure for ours and for theirs, and what is wanted of the ratio; where a third
    server took its turns too, its figures are `beside`."""

    what: str
    unit: str
    ours: list[float]
    theirs: list[float]
    goal: str
    beside: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Ours to theirs, of medians."""
        return statistics.median(self.ours) / statistics.median(self.theirs)


def show(title: str, rival: str, rows: list[Row], beside: str = BESIDE) -> None:
    """Print the table; `beside` is who took its turns as the third."""
    about = facts()
    caption = f"medians; pyrepl {about['pyrepl_build']}, {about['cpu']}; every round's figure is in the JSON file"
    table = Table(title=title, caption=caption)
    table.add_column("what")
    for name in ("unit", "pyrepl", rival, "ratio", "goal", beside):
        table.add_column(name, justify="right")
    for row in rows:
        third = _median(row.beside) if row.beside else ""
        table.add_row(row.what, row.unit, _median(row.ours), _median(row.theirs), f"{row.ratio:.2f}x", row.goal, third)
    Console().print(table)


def save(name: str, rival: str, rows: list[Row]) -> Path:
    """Write them as JSON; where to."""
    OUT.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = OUT / f"{name}-{now:%Y%m%d-%H%M%S}.json"
    rounds = [{**asdict(row), "ratio": row.ratio} for row in rows]
    path.write_text(
        json.dumps({"bench": name, "at": now.isoformat(), **facts(), "rival": rival, "rows": rounds}, indent=1)
    )
    return path


def facts() -> dict[str, str | int]:
    """What the figures depend on besides the two programs: the machine, versions, our commit, which form of us ran."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "system": platform.platform(),
        "python": platform.python_version(),
        "pyrepl": VERSION,
        "pyrepl_build": kernels.form(),
        "commit": _commit(),
    }


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit() -> str:
    """Of the checkout, with a `+` when something is changed; empty without git."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=OUT.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _median(figures: list[float]) -> str:
    figure = statistics.median(figures)
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"
