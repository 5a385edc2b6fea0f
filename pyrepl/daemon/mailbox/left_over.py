"""Processes that a daemon has left behind, which was killed: found by a file that each of them has open, and ended.

The kernel knows who has a file open, so no list has to be kept, and no process that has got the number of another is
met.

Not here: which file, and who calls them (doveadm_program.py).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

TERM_S: Final = 1.0
"""So long each of SIGTERM and SIGKILL is waited for."""
_LOOK_S: Final = 0.02
_PROCESSES: Final = Path("/proc")


def end_holders(path: Path, is_free: Callable[[], bool]) -> list[int]:
    """End the processes that have this file open, but this one, until it is free. The numbers of those that could not
    be ended; none also if they cannot be seen."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        for pid in list(holders(path)):
            _end(pid, path, how)
        until = time.monotonic() + TERM_S
        while not (found := is_free()) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        if found:
            return []
    return list(holders(path))


def holders(path: Path) -> Iterator[int]:
    """The processes that have this file open, but this one."""
    wanted = path.stat()
    for entry in _PROCESSES.iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid() and _has_open(int(entry.name), wanted):
            yield int(entry.name)


def _has_open(pid: int, wanted: os.stat_result) -> bool:
    """No, of a process of another user, which may not be looked at."""
    with suppress(OSError):
        for each in (_PROCESSES / str(pid) / "fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(each.stat(), wanted):
                    return True
    return False


def _end(pid: int, path: Path, how: signal.Signals) -> None:
    """If it is still the one that has the file open."""
    with suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            if _has_open(pid, path.stat()):
                signal.pidfd_send_signal(process, how)
        finally:
            os.close(process)
