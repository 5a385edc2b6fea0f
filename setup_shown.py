"""Runs a build and shows how far it is: `python setup_shown.py LOG COMMAND...` (the Makefile does).

All that the command prints goes to LOG. On a terminal one line tells what is being done and for how long; in a log of
CI there is a line when something else is being done, one every five seconds while it goes on, and one every half a
minute while nothing seems to. What setup.py has to say (`pyrepl: ...`) is shown at the end, of a failure the end of the
log; the exit status is the command's.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from typing import Final, TextIO

STEP: Final = re.compile(r"^ *pyrepl builds: (.*)$")
"""What setup.py prints before each step."""
PHASES: Final = {
    "Installing build dependencies": "getting the compilers of Python (mypyc, Cython)",
    "Getting requirements to build": "preparing",
    "Building editable for": "preparing",
    "Installing collected packages": "installing",
}
"""pip's lines, and what they mean."""
SAID: Final = re.compile(r"^ *(pyrepl: .*)$")
OFTEN_S: Final = 5.0
"""How long a log says nothing of steps of one kind, such as the next module that is compiled."""
QUIET_S: Final = 30.0
"""How long it says nothing while one step lasts."""
SHOWN_AT_FAILURE: Final = 30


class Shown:
    """The line that tells what is being done."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = out.isatty()
        self._began = time.monotonic()
        self._step = ""
        self._told_at = 0.0
        self._lock = threading.Lock()

    def step(self, text: str) -> None:
        """Something else is being done from now on."""
        with self._lock:
            if text == self._step:
                return
            other = text.split()[0] != self._step.partition(" ")[0]
            self._step = text
            now = time.monotonic()
            if self._live or other or now - self._told_at >= OFTEN_S:
                self._tell(now)

    def tick(self) -> None:
        """Time passes."""
        with self._lock:
            now = time.monotonic()
            if self._step and (self._live or now - self._told_at >= QUIET_S):
                self._tell(now)

    def end(self) -> None:
        """Leave the terminal's line empty."""
        with self._lock:
            if self._live:
                self._out.write("\r\x1b[K")
                self._out.flush()

    def _tell(self, now: float) -> None:
        seconds = int(now - self._began)
        line = f"{seconds // 60}:{seconds % 60:02} {self._step}"
        self._told_at = now
        self._out.write(f"\r{line[:78]}\x1b[K" if self._live else f"{line}\n")
        self._out.flush()


def step_of(line: str) -> str:
    """What a line of the build's output says is being done; nothing for most lines."""
    found = STEP.match(line)
    if found:
        return found[1]
    return next((meaning for words, meaning in PHASES.items() if line.lstrip().startswith(words)), "")


def run(log: str, command: list[str], out: TextIO) -> int:
    """The whole story; the command's exit status."""
    shown = Shown(out)
    over = threading.Event()

    def tick() -> None:
        while not over.wait(1):
            shown.tick()

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    lines: list[str] = []
    with open(log, "w") as kept:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        assert process.stdout is not None
        for line in process.stdout:
            kept.write(line)
            lines.append(line.rstrip("\n"))
            step = step_of(line)
            if step:
                shown.step(step)
        status = process.wait()
    over.set()
    ticking.join()
    shown.end()
    said = [found[1] for found in map(SAID.match, lines) if found]
    for line in lines[-SHOWN_AT_FAILURE:] if status else dict.fromkeys(said):
        out.write(f"{line}\n")
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:], sys.stdout))
