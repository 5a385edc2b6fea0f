"""DEBUG REPL-PAUSE's stops, in a process of its own that may be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

STORY = """
from pyrepl.commands.engine.effects import ReplPausePoint as Point
from pyrepl.daemon.feeding.repl_pauses import ReplPauses

pauses = ReplPauses(lambda event: print(event.TEXT, flush=True))
pauses.reached(Point.AFTER_FORK)
pauses.add(Point.AFTER_FORK)
pauses.reached(Point.BEFORE_RDB_CHANNEL)
print("stops at the first point alone", flush=True)
pauses.reached(Point.AFTER_FORK)
pauses.add(Point.BEFORE_RDB_CHANNEL)
print("stops at both points", flush=True)
pauses.reached(Point.AFTER_FORK)
pauses.reached(Point.BEFORE_RDB_CHANNEL)
pauses.add(Point.CLEAR)
for point in Point:
    pauses.reached(point)
print("stops nowhere", flush=True)
"""


def test_the_points_add_up_and_stay_until_clear() -> None:
    with subprocess.Popen([sys.executable, "-c", STORY], stdout=subprocess.PIPE, text=True) as process:
        stops = 0
        while os.WIFSTOPPED(status := os.waitpid(process.pid, os.WUNTRACED)[1]):
            assert os.WSTOPSIG(status) == signal.SIGSTOP
            stops += 1
            os.kill(process.pid, signal.SIGCONT)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0 and process.stdout is not None
        said = process.stdout.read().splitlines()
    stop = ["Process is about to stop.", "Process has been continued."]
    assert said == ["stops at the first point alone", *stop, "stops at both points", *stop, *stop, "stops nowhere"]
    assert stops == 3
