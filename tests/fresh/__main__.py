"""`python -m tests.fresh [STEP...] [--suites bookworm trixie]`: each step on each suite, in a root of its own.

A step gets a clean clone of what is committed here, in /srv/pyrepl. Steps run one after another, and all of them, even
if one fails; then there is a line for each, and it ends with 1 if one failed. Roots are removed, output is kept in
build/fresh/SUITE-STEP.log. `all` are all steps that a suite can do: `test` and `mailboxes` need
Debian's servers, so they are not for Ubuntu.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from tests.fresh import mailboxes
from tests.fresh.root import BARE, copy, run
from tests.peers.debian import PeerMissing
from tests.peers.finder import ROOT
from tests.peers.roots import SUITES, base

FOLDER: Final = ROOT / "build" / "fresh"
_APT: Final = "apt-get -q update >/dev/null; apt-get -q install -y --no-install-recommends"
_VENV: Final = f"{_APT} python3-venv; python3 -m venv /srv/v; /srv/v/bin/pip install -q"
_COMPILER: Final = "gcc libc6-dev python3-dev"
_WHEEL: Final = f"{_VENV} wheel; /srv/v/bin/pip wheel -q --no-deps -w /srv/w .; ls /srv/w"
_INSTALLED: Final = "cd /srv; /srv/v/bin/pip install -q /srv/w/*.whl; /srv/v/bin/pyrepl --version"
STEPS: Final = {
    "demo": f"{_APT} python3 make; make demo",
    "test": f"{_APT} python3 make git; make test",
    "pure": f"{_WHEEL}; {_INSTALLED} | grep '(pure)'",
    "compiled": (
        f"{_APT} {_COMPILER}; {_WHEEL}; apt-get -q purge -y --auto-remove {_COMPILER} >/dev/null;"
        f" if command -v gcc; then exit 1; fi; {_INSTALLED} | grep '(compiled)'"
    ),
    "pipx": f"{_APT} pipx python3-venv; pipx install .; /srv/.local/bin/pyrepl --version",
    "uv": f"{_VENV} uv; /srv/v/bin/uv tool install --python /usr/bin/python3 .; /srv/.local/bin/pyrepl --version",
}
"""What each runs, in the clone. `pure` makes a wheel without a compiler, `compiled` one with a compiler; both are
installed where there is none. `test` installs a compiler by itself."""
MACHINES: Final = {"mailboxes": mailboxes.trouble}
"""Steps for which a root becomes machines, and what plays them."""
NAMES: Final = (*STEPS, *MACHINES)
ALL: Final = "all"
USUAL: Final = tuple(name for name in NAMES if name != "test")
FOR_DEBIAN: Final = {"test", *MACHINES}
"""Steps for Debian alone: tests take servers from there, and the page on mailboxes is for its Dovecots."""
DEBIAN: Final = ("bookworm", "trixie")


class Outcome(NamedTuple):
    """How a step ended: `trouble` is empty if it passed."""

    suite: str
    step: str
    seconds: float
    trouble: str

    def line(self) -> str:
        """For people."""
        return f"{self.suite:9} {self.step:9} {self.seconds:6.0f} s  {self.trouble or 'passed'}"


def tell(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


def planned(steps: Sequence[str], suites: Sequence[str]) -> list[tuple[str, str]]:
    """Suite and step of each run, in order."""
    wanted = NAMES if ALL in steps else steps or USUAL
    return [(suite, step) for suite in suites for step in wanted if step not in FOR_DEBIAN or suite in DEBIAN]


def tried(step: str, suite: str) -> Outcome:
    """Run it in a root of its own. Tells how long it took, and the end of its output if it failed."""
    root, log = FOLDER / f"{suite}-{step}", FOLDER / f"{suite}-{step}.log"
    log.unlink(missing_ok=True)
    tell(f"{suite}: {step} ...")
    began = time.monotonic()
    try:
        trouble = _trouble(step, suite, root, log)
    except (PeerMissing, subprocess.SubprocessError, OSError) as error:
        trouble = f"FAILED: {error}"
    finally:
        if root.exists():
            shutil.rmtree(root)
    outcome = Outcome(suite, step, time.monotonic() - began, trouble)
    tell(outcome.line())
    if trouble and log.exists():
        tell(f"{log}:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]))
    return outcome


def _trouble(step: str, suite: str, root: Path, log: Path) -> str:
    """What went wrong; empty if nothing did. Raises PeerMissing, SubprocessError, OSError."""
    copy(base(SUITES[suite], FOLDER, BARE), root)
    clone = ["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(root / "srv" / "pyrepl")]
    subprocess.run(clone, check=True)
    if step in MACHINES:
        return MACHINES[step](root, log)
    status = run(root, f"cd /srv/pyrepl; {STEPS[step]}", log)
    return f"FAILED ({status})" if status else ""


def summary(outcomes: Sequence[Outcome]) -> str:
    """A line for each, and one for all."""
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--tags"], capture_output=True, text=True)
    passed = sum(not outcome.trouble for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    last = f"make fresh of {commit.stdout.strip()}: {passed} of {len(outcomes)} passed in {seconds:.0f} s"
    return "\n".join([*(outcome.line() for outcome in outcomes), last])


def _end(number: int, frame: FrameType | None) -> None:
    """The step under way ends too, and its root is removed."""
    sys.exit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = f"of {', '.join(NAMES)}; {ALL}: all of these; default: all but test"
    parser.add_argument("steps", nargs="*", metavar="STEP", help=names)
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    options = parser.parse_args()
    unknown = set(options.steps) - {*NAMES, ALL}
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)} and {ALL}")
    signal.signal(signal.SIGTERM, _end)
    outcomes = [tried(step, suite) for suite, step in planned(options.steps, options.suites)]
    tell(summary(outcomes))
    return 1 if not outcomes or any(outcome.trouble for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
