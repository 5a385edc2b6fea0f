"""Reads what `pyrepl.host` judges: the kernel's settings, limits, clock, memory, disk, and what is installed here."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from pyrepl import kernels, layout
from pyrepl.config.settings import Settings
from pyrepl.daemon.descriptors import descriptors_for
from pyrepl.host.facts import Folder, Host, Wants

_SYSTEM: Final = Path("/")
_NAMESAKE: Final = "pyrepl"
"""The distribution of the other package; ours is pyrepl-server."""
_TIME_ERROR: Final = 5
"""What adjtimex(2) returns for a clock that nothing keeps in time."""
_TIMEX_BYTES: Final = 512
"""More than any kernel's struct timex; all zero, it asks and changes nothing."""


def look_at_host(root: Path = _SYSTEM) -> Host:
    """The machine as it is now. `root` is where /proc and /sys are looked for."""
    memory = _numbers(root / "proc/meminfo")
    swap, swap_free = memory.get("SwapTotal"), memory.get("SwapFree")
    return Host(
        overcommit=_number(root / "proc/sys/vm/overcommit_memory"),
        huge_pages=_chosen(root / "sys/kernel/mm/transparent_hugepage/enabled"),
        somaxconn=_number(root / "proc/sys/net/core/somaxconn"),
        open_files=_open_files(),
        is_clock_set=_is_clock_set(),
        clock_source=_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        memory_bytes=_memory_bytes(root, memory.get("MemTotal")),
        swap_bytes=swap,
        swap_used_bytes=None if swap is None or swap_free is None else swap - swap_free,
        namesake=_version_of(_NAMESAKE),
        is_compiled=kernels.form() == kernels.COMPILED,
        why_not_compilable=layout.why_not_compiled_for(layout.running()),
    )


def wants_of(settings: Settings, *, with_folder: bool) -> Wants:
    """What a node with these settings asks of the machine; the folder is looked at if `with_folder`."""
    descriptors = descriptors_for(settings)
    return Wants(
        descriptors.wanted,
        descriptors.liked,
        settings.tcp_backlog,
        settings.maxmemory,
        settings.huge_pages,
        look_at_folder(settings.dir, settings.dbfilename) if with_folder else None,
    )


def look_at_folder(path: str, snapshot: str) -> Folder:
    """The folder `path`, and the size of the file `snapshot` in it."""
    shown = os.path.abspath(path)
    if not os.path.isdir(path):
        return Folder(shown, "it is a file" if os.path.exists(path) else "there is no such folder")
    if not os.access(path, os.W_OK | os.X_OK):
        return Folder(shown, f"the user with the number {os.geteuid()} may make no files there")
    try:
        size_bytes = os.path.getsize(os.path.join(path, snapshot))
    except OSError:
        size_bytes = 0
    return Folder(shown, None, shutil.disk_usage(path).free, size_bytes)


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.isdigit() else None


def _chosen(path: Path) -> str | None:
    """Of several words the one in brackets: `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", _text(path) or "")
    return None if found is None else found[1]


def _numbers(path: Path) -> dict[str, int]:
    """/proc/meminfo's figures in bytes, by name."""
    lines = re.findall(r"^(\w+): +(\d+) kB$", _text(path) or "", re.MULTILINE)
    return {name: int(kb) * 1024 for name, kb in lines}


def _memory_bytes(root: Path, machine_bytes: int | None) -> int | None:
    """The machine's memory, or less if a container's limit is lower (cgroup version 2; "max" is none)."""
    limit_bytes = _number(root / "sys/fs/cgroup/memory.max")
    known = [value for value in (machine_bytes, limit_bytes) if value is not None]
    return min(known, default=None)


def _open_files() -> int | None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if hard == resource.RLIM_INFINITY else hard


def _is_clock_set() -> bool | None:
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    if adjtimex is None:
        return None
    state = adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    return None if state < 0 else bool(state != _TIME_ERROR)


def _version_of(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
