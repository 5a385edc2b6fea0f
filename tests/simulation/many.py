"""Thousands of histories by one command: `python -m tests.simulation.many --seeds 5000 [--first N] [--workers 2]`."""

from __future__ import annotations

import sys
from collections import Counter

from tests.simulation.driver import main
from tests.simulation.history import run


def seen(seed: int) -> Counter[str]:
    """What happened in the history of a seed."""
    return run(seed).seen


if __name__ == "__main__":
    sys.exit(main(seen, "Simulate many seeded histories."))
