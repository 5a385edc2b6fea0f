"""Thousands of histories by one command: `python -m tests.simulation.many --seeds 5000 [--first N] [--workers 2]`.

Each seed that fails is printed at once, with the report of the first few; then what happened in all histories together.
Exit status: 0 if all held, 1 if not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from typing import Final

from tests.simulation.history import run

SHOWN_REPORTS: Final = 3
PROGRESS_S: Final = 10.0
MOST_SEEDS: Final = 1 << 31


def try_seed(seed: int) -> tuple[int, Counter[str], str]:
    """The seed, what happened in its history, and the report of its failure ("" if there was none)."""
    try:
        return seed, run(seed).seen, ""
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        return seed, Counter(), trace


def main() -> int:
    """Run them all; the exit status."""
    options = _options()
    first = options.first if options.first is not None else int(time.time()) * 1000 % MOST_SEEDS
    seeds = range(first, first + options.seeds)
    print(f"seeds {seeds.start} to {seeds.stop - 1}, {options.workers} at a time", flush=True)
    seen: Counter[str] = Counter()
    failed: list[int] = []
    began = shown_at = time.monotonic()
    with multiprocessing.Pool(options.workers) as pool:
        for done, (seed, happened, report) in enumerate(pool.imap_unordered(try_seed, seeds, chunksize=4), start=1):
            seen += happened
            if report:
                failed.append(seed)
                print(f"SEED {seed} FAILED; once more: make simulate FIRST={seed} SEEDS=1", flush=True)
                if len(failed) <= SHOWN_REPORTS:
                    print(report, flush=True)
            if time.monotonic() >= shown_at + PROGRESS_S:
                shown_at = time.monotonic()
                print(f"{done:6} of {len(seeds)}, {len(failed)} failed, {shown_at - began:.0f} s", flush=True)
    for what, count in sorted(seen.items()):
        print(f"{count:9} {what}")
    print(f"{len(seeds)} histories, {len(failed)} failed: {sorted(failed)}")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Simulate many seeded histories.")
    parser.add_argument("--seeds", type=int, default=5000, help="how many")
    parser.add_argument("--first", type=int, default=None, help="the first seed; by the clock if not given")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
