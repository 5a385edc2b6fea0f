"""`python -m bench.results FILE.json ... > bench/RESULTS.md`: figures that were kept as one page.

Behind a bench's table goes `bench/remarks/NAME.md`, where somebody has written down why a goal is missed: what the
profile shows, what was tried, what would be needed.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

REMARKS: Final = Path(__file__).with_name("remarks")
_HEAD: Final = """\
| what | unit | pyrepl | rival | ratio | lowest, highest of a round | goal | third |
|---|---|---:|---:|---:|---:|---|---:|"""


def page(files: Iterable[Path]) -> str:
    """The page, in the order of the files."""
    return "\n".join(_lines([json.loads(path.read_text()) for path in files])) + "\n"


def _lines(runs: list[dict[str, Any]]) -> Iterator[str]:
    yield "# Results\n"
    yield "Made by `python -m bench.results`. A ratio is ours to theirs, of medians of all rounds; whether more or less"
    yield "is better follows from the unit. Both sides ran in turn, in one run, on one machine.\n"
    for run in runs:
        # A ratio of medians is one figure of them all.
        rounds = max(len(row["ours"]) for row in run["rows"])
        yield f"## {run['bench']}\n"
        yield (
            f"{run['at'][:16].replace('T', ' ')} UTC, commit {run['commit']}, {run['pyrepl_build']}, Python"
            f" {run['python']}, {run['cpu']}, {run['cores']} cores; rival {run['rival']}; rounds: {rounds}\n"
        )
        yield _HEAD
        yield from map(_row, run["rows"])
        yield ""
        remarks = REMARKS / f"{run['bench']}.md"
        if remarks.exists():
            yield remarks.read_text()


def _row(row: dict[str, Any]) -> str:
    beside = _figure(row["beside"]) if row.get("beside") else ""
    ratios = sorted(ours / theirs for ours, theirs in zip(row["ours"], row["theirs"]))
    return (
        f"| {row['what']} | {row['unit']} | {_figure(row['ours'])} | {_figure(row['theirs'])} | {row['ratio']:.2f}x"
        f" | {ratios[0]:.2f}x, {ratios[-1]:.2f}x | {row['goal']} | {beside} |"
    )


def _figure(figures: list[float]) -> str:
    figure = statistics.median(figures)
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


if __name__ == "__main__":
    sys.stdout.write(page(map(Path, sys.argv[1:])))
