"""Runs thousands of seeded histories in several processes, for the commands that do (many.py, mailbox/many.py).

Each seed that fails is printed at once, with the report of the first few; then what happened in all histories together.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

SHOWN_REPORTS: Final = 3
PROGRESS_S: Final = 10.0
MOST_SEEDS: Final = 1 << 31

Run = Callable[[int], Counter[str]]
"""The history of a seed: what happened in it, by name. An exception is its failure."""


class _Told(NamedTuple):
    """`report` is "" if all held."""

    seed: int
    happened: Counter[str]
    report: str


class _Try:
    """One seed's history as a worker runs it."""

    def __init__(self, run: Run) -> None:
        """`run` has to be a function of a module: its name goes to the workers."""
        self._run: Final = run

    def __call__(self, seed: int) -> _Told:
        try:
            return _Told(seed, self._run(seed), "")
        except Exception as error:
            return _Told(seed, Counter(), "".join(traceback.format_exception(error)))


def main(run: Run, description: str) -> int:
    """Run them all as the command line says; the exit status: 0 if all held, 1 if not."""
    options = _options(description)
    first = options.first if options.first is not None else int(time.time()) * 1000 % MOST_SEEDS
    seeds = range(first, first + options.seeds)
    print(f"seeds {seeds.start} to {seeds.stop - 1}, {options.workers} at a time", flush=True)
    seen: Counter[str] = Counter()
    failed: list[int] = []
    began = shown_at = time.monotonic()
    with multiprocessing.Pool(options.workers) as pool:
        for done, told in enumerate(pool.imap_unordered(_Try(run), seeds, chunksize=4), start=1):
            seen += told.happened
            if told.report:
                failed.append(told.seed)
                print(f"SEED {told.seed} FAILED; once more: make simulate FIRST={told.seed} SEEDS=1", flush=True)
                if len(failed) <= SHOWN_REPORTS:
                    print(told.report, flush=True)
            if time.monotonic() >= shown_at + PROGRESS_S:
                shown_at = time.monotonic()
                print(f"{done:6} of {len(seeds)}, {len(failed)} failed, {shown_at - began:.0f} s", flush=True)
    for what, count in sorted(seen.items()):
        print(f"{count:9} {what}")
    print(f"{len(seeds)} histories in {time.monotonic() - began:.0f} s, {len(failed)} failed: {sorted(failed)}")
    return 1 if failed else 0


def _options(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, default=5000, help="how many")
    parser.add_argument("--first", type=int, default=None, help="the first seed; by the clock if not given")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    return parser.parse_args()
