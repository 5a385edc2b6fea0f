"""The folder of what an analysis keeps for every later one of this user; nothing in it is missed when it goes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """`pyrepl` below XDG_CACHE_HOME, else ~/.cache; None where there is no home. It may have to be made."""
    base = environment.get("XDG_CACHE_HOME") or (environment.get("HOME", "") and f"{environment['HOME']}/.cache")
    path = Path(base, "pyrepl") if base else None
    return path if path is not None and path.is_absolute() else None
