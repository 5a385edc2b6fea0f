"""`python -m tests.fresh [STEP...] [--suites bookworm trixie]`: each step on each suite, in a root of its own.

A step gets a clean clone of what is committed here, in /srv/pyrepl. It ends with 1 if a step fails, and says where its
output is. `test` needs Debian's servers, so it is not for Ubuntu.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from typing import Final

from tests.fresh.root import BARE, copy, run
from tests.peers.debian import PeerMissing
from tests.peers.finder import ROOT
from tests.peers.roots import SUITES, base

FOLDER: Final = ROOT / "build" / "fresh"
_APT: Final = "apt-get -q update >/dev/null; apt-get -q install -y --no-install-recommends"
_VENV: Final = f"{_APT} python3-venv; python3 -m venv /srv/v; /srv/v/bin/pip install -q"
STEPS: Final = {
    "demo": f"{_APT} python3 make; make demo",
    "test": f"{_APT} python3 make git; make test",
    "pure": f"{_VENV} .; /srv/v/bin/pyrepl --version | grep '(pure)'",
    "compiled": f"{_APT} gcc libc6-dev python3-dev; {_VENV} .; /srv/v/bin/pyrepl --version | grep '(compiled)'",
    "pipx": f"{_APT} pipx python3-venv; pipx install .; /srv/.local/bin/pyrepl --version",
    "uv": f"{_VENV} uv; /srv/v/bin/uv tool install --python /usr/bin/python3 .; /srv/.local/bin/pyrepl --version",
}
"""What each runs, in the clone. No step but `compiled` has a compiler; `test` installs one by itself."""
USUAL: Final = tuple(name for name in STEPS if name != "test")


def tell(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


def passes(step: str, suite: str) -> bool:
    """Run it; was it good? Tells how long it took, and the end of its output if not."""
    root, log = FOLDER / f"{suite}-{step}", FOLDER / f"{suite}-{step}.log"
    log.unlink(missing_ok=True)
    copy(base(SUITES[suite], FOLDER, BARE), root)
    clone = ["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(root / "srv" / "pyrepl")]
    subprocess.run(clone, check=True)
    began = time.monotonic()
    tell(f"{suite}: {step} ...")
    status = run(root, f"cd /srv/pyrepl; {STEPS[step]}", log)
    tell(f"{suite}: {step} {'passed' if status == 0 else f'FAILED ({status})'} after {time.monotonic() - began:.0f} s")
    if status:
        tell(f"{log}:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]))
    shutil.rmtree(root)
    return status == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"of {', '.join(STEPS)}; default: all but test")
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    options = parser.parse_args()
    unknown = set(options.steps) - STEPS.keys()
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}; there are {', '.join(STEPS)}")
    try:
        passed = [passes(step, suite) for suite in options.suites for step in options.steps or USUAL]
    except PeerMissing as reason:
        tell(str(reason))
        return 1
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
