"""The scripts of tests/data/scripts.txt as commands."""

from __future__ import annotations

from pathlib import Path

PATH = Path(__file__).resolve().parents[1] / "data" / "scripts.txt"


def corpus() -> list[list[str]]:
    """EVAL of each script, with its keys and arguments, in the order of the file."""
    _, *blocks = PATH.read_text().split("\n== ")
    evals = []
    for block in blocks:
        head, _, script = block.partition("\n")
        numkeys, *words = head.split(" ")
        evals.append(["EVAL", script.rstrip("\n"), numkeys, *(word.replace("\\n", "\n") for word in words if word)])
    return evals
