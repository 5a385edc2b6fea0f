"""A bound on the processor for some processes and all that they start: a control group of the kernel's.

    with quota("worker-0", 0.25) as group:
        subprocess.Popen(within(group, ["sleep", "1"]))

Root alone may make one. Both versions of control groups are known, as the machine has them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/sys/fs/cgroup")
_OWN: Final = _ROOT / "cpu"
"""Of version 1: the controller's own tree."""
_PERIOD_US: Final = 100_000
_WEIGHT: Final = 8
"""Times that of another process: on a machine that others use too, the bound is to be what counts."""
_WAIT_S: Final = 30
_JOIN: Final = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


@contextlib.contextmanager
def quota(name: str, cores: float) -> Iterator[Path]:
    """A group whose processes together have at most so many cores; it goes with the block, behind its processes.
    Raises OSError."""
    told = f"{round(cores * _PERIOD_US)}"
    if (_ROOT / "cgroup.controllers").exists():
        (_ROOT / "cgroup.subtree_control").write_text("+cpu")
        group = _ROOT / f"pyrepl-{name}"
        settings = {"cpu.max": f"{told} {_PERIOD_US}", "cpu.weight": f"{100 * _WEIGHT}"}
    else:
        group = _OWN / f"pyrepl-{name}"
        settings = {"cpu.cfs_period_us": f"{_PERIOD_US}", "cpu.cfs_quota_us": told, "cpu.shares": f"{1024 * _WEIGHT}"}
    group.mkdir()
    try:
        for file, value in settings.items():
            (group / file).write_text(value)
        yield group
    finally:
        _remove(group)


def within(group: Path, command: Sequence[str]) -> list[str]:
    """The command that runs `command` in the group from its first moment on."""
    return ["/bin/sh", "-c", _JOIN, str(group), *command]


def _remove(group: Path) -> None:
    """Once its processes have ended. Raises OSError when they do not."""
    over = time.monotonic() + _WAIT_S
    while (group / "cgroup.procs").read_text() and time.monotonic() < over:
        time.sleep(0.1)
    group.rmdir()
