"""`python -m tests.fuzz`: every target for its share of the time, or one case again. Exit status 1 after a finding."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests.fuzz.build import ROOT, NotBuilt, environment, make
from tests.fuzz.worker import CASE_S

TARGETS: Final = ("loading", "edits", "hyperloglogs", "requests", "streams", "master")
MOST_SEEDS: Final = 1 << 40
SHOWN_LINES: Final = 60
SILENT_S: Final = 20 * CASE_S
"""Without a new case for so long a worker hangs where no processor time passes; it is killed."""
NICE: Final = 15
POLL_S: Final = 0.5


class Outcome(NamedTuple):
    """How many cases of a target ended well, in how many seconds; the seed of the one that did not, and its output."""

    cases: int
    spent_s: float
    failed: int | None
    output: str


def main() -> int:
    """Fuzz; the exit status."""
    options = _options()
    try:
        make()
    except NotBuilt as error:
        print(f"no fuzzing: {error}")
        return 2
    targets = [options.target] if options.target else TARGETS
    if options.seed is not None:
        return report(targets[0], run(targets[0], options.seed, 1, float("inf")))
    first = options.first if options.first is not None else time.time_ns() % MOST_SEEDS
    seconds = 60 * options.minutes / len(targets)
    print(f"{', '.join(targets)}: {seconds:.0f} s each under AddressSanitizer, seeds from {first} on", flush=True)
    return max(report(target, run(target, first, options.cases, seconds)) for target in targets)


def run(target: str, first: int, cases: int, seconds: float) -> Outcome:
    """Cases of one target, in a process of its own, until it fails or cases or seconds are over."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        status, log = Path(folder) / "status", Path(folder) / "log"
        command = [sys.executable, "-P", "-m", "tests.fuzz.worker", target, "--status", str(status)]
        command += ["--first", str(first), "--cases", str(cases), "--seconds", str(seconds)]
        began = time.monotonic()
        with log.open("wb") as output:
            worker = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment() | {"TMPDIR": folder},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: os.nice(NICE),
            )
        try:
            code = _watch(worker, status)
        finally:
            worker.kill()
            worker.wait()
        seed = _seed(status, first)
        spent_s = time.monotonic() - began
        if code == 0:
            return Outcome(seed - first, spent_s, None, "")
        lines = log.read_text(errors="replace").splitlines()
        if code is None:
            lines.append(f"no new case for {SILENT_S:.0f} s: it hangs")
        return Outcome(seed - first, spent_s, seed, "\n".join(lines[-SHOWN_LINES:]) + f"\nended with {code}")


def report(target: str, outcome: Outcome) -> int:
    """Say how it went; 1 after a finding."""
    print(f"{target}: {outcome.cases} cases in {outcome.spent_s:.0f} s, ", end="")
    if outcome.failed is None:
        print("no finding", flush=True)
        return 0
    print(f"then a finding at seed {outcome.failed}\n{outcome.output}")
    print(f"once more: make fuzz TARGET={target} SEED={outcome.failed}", flush=True)
    return 1


def _watch(worker: subprocess.Popen[bytes], status: Path) -> int | None:
    """The exit status; None when it made no new case for too long."""
    seed, since = -1, time.monotonic()
    while worker.poll() is None:
        time.sleep(POLL_S)
        now = _seed(status, -1)
        if now != seed:
            seed, since = now, time.monotonic()
        elif time.monotonic() - since > SILENT_S:
            return None
    return worker.returncode


def _seed(status: Path, otherwise: int) -> int:
    text = status.read_bytes() if status.exists() else b""
    return int(text) if text.strip() else otherwise


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description="Fuzz the compiled form under AddressSanitizer.")
    parser.add_argument("--minutes", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--target", choices=TARGETS, help="this one only")
    parser.add_argument("--first", type=int, help="the first seed of each target; by the clock if not given")
    parser.add_argument("--cases", type=int, default=MOST_SEEDS, help="of each target, at most")
    parser.add_argument("--seed", type=int, help="one case again; needs --target")
    options = parser.parse_args()
    if options.seed is not None and options.target is None:
        parser.error("--seed is a case of one target: name it by --target")
    return options


if __name__ == "__main__":
    sys.exit(main())
