"""Java's classes as Spark needs them, kept ready in a file: to load and check them anew is half of Spark's start.

Java writes the file as it ends, after the first run (some seconds in the background, about 180 MB), and checks by
itself whether it fits its version and Spark's files; one that does not is passed over. Its head is written last, so a
file that begins with zeros is not finished.

    no file         Java writes one as it ends
    unfinished      Java does without; when that lasts, its writer has died, and it is written anew
    finished        Java reads it
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyrepl.analysis.cache import cache_folder

GIVEN_UP_S: Final = 600
"""Nobody writes for so long."""
LOADED: Final = 4
"""Raised when a run makes Java load other classes than before: the file is then made anew."""
_QUIET: Final = "-XX:+IgnoreUnrecognizedVMOptions -Xshare:auto -Xlog:disable"
"""What Java has to say of the file would go to standard output."""


def java_options(java: str, environment: Mapping[str, str], now_s: float | None = None) -> str:
    """Options that make the program `java` use the file, or write it; empty where neither can be.

    The file is below XDG_CACHE_HOME, else ~/.cache, and goes when Java or Spark has another version.
    """
    path = _place(java, environment)
    if path is None:
        return ""
    if _is_finished(path):
        return f"{_QUIET} -XX:SharedArchiveFile={path}"
    if _is_being_written(path, time.time() if now_s is None else now_s):
        return ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in set(path.parent.glob("spark-*.jsa")) - {path}:
            old.unlink()
    except OSError:
        return ""
    return f"{_QUIET} -XX:ArchiveClassesAtExit={path}"


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
