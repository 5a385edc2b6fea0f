"""Java's classes as Spark needs them, kept ready in a file: to load and check them anew is half of Spark's start.

Java writes the file as it ends, after the first run (some seconds in the background, about 180 MB), and checks by
itself whether it fits its version and Spark's files; one that does not is passed over. Its head is written last, so a
file that begins with zeros is not finished.

    no file         Java writes one as it ends
    unfinished      Java does without; when that lasts, its writer has died, and it is written anew
    finished        Java reads it

Each installation (venv) has its own file, as has each Java: those are kept that were used last.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyrepl.analysis.cache import cache_folder

GIVEN_UP_S: Final = 600
"""Nobody writes for so long."""
MOST: Final = 4
"""So many files are kept, our own included. Inclusive."""
UNUSED_S: Final = 30 * 86_400
"""A file that nobody has used for longer is removed, as the version of Java or of Spark that it is for has gone."""
LOADED: Final = 4
"""Raised when a run makes Java load other classes than before: the file is then made anew."""
_QUIET: Final = "-XX:+IgnoreUnrecognizedVMOptions -Xshare:auto -Xlog:disable"
"""What Java has to say of the file would go to standard output."""


def java_options(java: str, environment: Mapping[str, str], now_s: float | None = None) -> str:
    """Options that make the program `java` use the file, or write it; empty where neither can be.

    The file is below XDG_CACHE_HOME, else ~/.cache. `now_s` is Unix time; None: now. Files beside it are removed beyond
    MOST, those first that were used least lately, and those that were not used for UNUSED_S.
    """
    path = _place(java, environment)
    if path is None:
        return ""
    now_s = time.time() if now_s is None else now_s
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    # A folder that another user has filled may be for reading alone.
    with contextlib.suppress(OSError):
        _sweep(path, now_s)
    if _is_finished(path):
        with contextlib.suppress(OSError):
            os.utime(path, (now_s, now_s))
        return f"{_QUIET} -XX:SharedArchiveFile={path}"
    return "" if _is_being_written(path, now_s) else f"{_QUIET} -XX:ArchiveClassesAtExit={path}"


def _sweep(own: Path, now_s: float) -> None:
    """Remove the other files that are too many or too old. Their time is that of their last use. Raises OSError."""
    others = {path: path.stat().st_mtime for path in own.parent.glob("spark-*.jsa") if path != own}
    for place, path in enumerate(sorted(others, key=lambda one: (-others[one], one))):
        if place >= MOST - 1 or now_s - others[path] > UNUSED_S:
            path.unlink(missing_ok=True)


def _place(java: str, environment: Mapping[str, str]) -> Path | None:
    """None where there is no home, or where the path would be taken for several options."""
    folder = cache_folder(environment)
    try:
        program = Path(java).resolve(strict=True)
        about = f"{program} {program.stat().st_mtime_ns} {importlib.metadata.version('pyspark')} {sys.prefix} {LOADED}"
    except (OSError, importlib.metadata.PackageNotFoundError):
        return None
    name = f"spark-{hashlib.sha256(about.encode()).hexdigest()[:16]}.jsa"
    path = folder and folder / name
    return path if path is not None and not set(str(path)) & set(" \t'\"\\") else None


def _is_finished(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return any(file.read(4))
    return False


def _is_being_written(path: Path, now_s: float) -> bool:
    with contextlib.suppress(OSError):
        return now_s - path.stat().st_mtime < GIVEN_UP_S
    return False
