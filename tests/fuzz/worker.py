"""Runs cases of one target, one after the other, in a process that may die of one.

`python -P -m tests.fuzz.worker TARGET --first N --cases C --seconds S --status FILE`. Before each case its seed is
written into FILE, where whoever started this finds it, however this ends. A case has CASE_S seconds of processor time;
then where it is is shown, and the process ends.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
import time
from importlib import import_module
from random import Random
from typing import Final

CASE_S: Final = 60.0
"""Of processor time, which no other process takes away; a case needs a hundredth as a rule."""
MOST_SEEDS: Final = 1 << 62


def main() -> int:
    """Run until cases or seconds are over; 1 after an exception, which is a finding."""
    options = _options()
    case = import_module(f"tests.fuzz.targets.{options.target}").case
    status = os.open(options.status, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)
    end = time.monotonic() + options.seconds
    seed = options.first
    while seed < options.first + options.cases and time.monotonic() < end:
        os.pwrite(status, b"%-24d" % seed, 0)
        signal.setitimer(signal.ITIMER_PROF, CASE_S)
        case(Random(seed))
        seed += 1
    signal.setitimer(signal.ITIMER_PROF, 0)
    os.pwrite(status, b"%-24d" % seed, 0)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--cases", type=int, default=MOST_SEEDS)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--status", required=True)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
