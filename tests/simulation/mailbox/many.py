"""Thousands of histories of mailboxes: `python -m tests.simulation.mailbox.many --seeds 5000 --first N --workers 2`.

Exit status: 0 if all held, 1 if not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from typing import Final

from tests.simulation.mailbox.history import run

SHOWN: Final = 5
PROGRESS_S: Final = 10.0


def try_seed(seed: int) -> tuple[int, Counter[str], str]:
    """The seed, what happened, and what was broken ("" for nothing)."""
    try:
        return seed, run(seed), ""
    except Exception as error:
        return seed, Counter(), f"{type(error).__name__} {error}"


def main() -> int:
    """Run them all; the exit status."""
    parser = argparse.ArgumentParser(description="Simulate many seeded histories of mailboxes.")
    parser.add_argument("--seeds", type=int, default=5000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    failed: list[int] = []
    began = shown_at = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    with multiprocessing.Pool(options.workers) as pool:
        for done, (seed, happened, report) in enumerate(pool.imap_unordered(try_seed, seeds, chunksize=8), start=1):
            seen += happened
            if report:
                failed.append(seed)
                if len(failed) <= SHOWN:
                    print(f"SEED {seed}: {report[:1000]}", flush=True)
            if time.monotonic() >= shown_at + PROGRESS_S:
                shown_at = time.monotonic()
                print(f"{done:6} of {len(seeds)}, {len(failed)} failed, {shown_at - began:.0f} s", flush=True)
    for what, count in sorted(seen.items()):
        print(f"{count:9} {what}")
    print(f"{len(seeds)} histories, {len(failed)} failed: {sorted(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
