"""What a command costs: the processor time of all processes that it starts, also of those that outlive it, as Java may.

Whoever loses its parent is given to us (Linux: PR_SET_CHILD_SUBREAPER), so that none escapes. They are looked at while
they run: Spark's Python workers are waited for by nobody, and so the kernel adds their time to nobody's. What a process
does after the last look, some hundredths of a second, is not counted.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import psutil

_SET_CHILD_SUBREAPER: Final = 36
"""linux/prctl.h."""
_LOOK_S: Final = 0.05


class Spent(NamedTuple):
    """Seconds: until the command ended, and of processor until all that it started had ended."""

    wall_s: float
    processor_s: float


def spent(command: Sequence[str], environment: Mapping[str, str]) -> Spent:
    """Run it, with these variables besides ours. Nothing else may be a child of this process meanwhile.

    Raises RuntimeError with what it said, if it fails.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        process = psutil.Popen(command, env={**os.environ, **environment}, stdout=said, stderr=subprocess.STDOUT)
        seen: dict[int, float] = {}
        while process.poll() is None:
            _look(seen)
            time.sleep(_LOOK_S)
        wall_s = time.monotonic() - began
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {said.read().decode(errors='replace')}")
    while _has_children():
        _look(seen)
        time.sleep(_LOOK_S)
    return Spent(wall_s, sum(seen.values()))


def _look(seen: dict[int, float]) -> None:
    """Processor seconds by process id."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            used = process.cpu_times()
            seen[process.pid] = max(seen.get(process.pid, 0.0), used.user + used.system)


def _has_children() -> bool:
    with contextlib.suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                return True
    return False
