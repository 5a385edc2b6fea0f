"""The files of the house, for the tests of its rules."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TEXT_SUFFIXES: Final = frozenset({"", ".py", ".js", ".md", ".toml", ".cfg", ".conf", ".txt", ".yml"})


MADE: Final = frozenset({".venv", ".peers", ".hypothesis", "__pycache__", "build", "out"})
"""Folders that appear where the tests run."""


def tracked() -> list[Path]:
    """Every file that git tracks or would add; in an export, which has no git, all that it holds."""
    if not (ROOT / ".git").exists():
        return sorted(path for path in _exported() if path.is_file())
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def _exported() -> Iterator[Path]:
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [name for name in subfolders if name not in MADE and not name.endswith(("_cache", ".egg-info"))]
        yield from (Path(folder, name) for name in names)


def texts() -> list[Path]:
    """Those that people read and write."""
    return [path for path in tracked() if path.suffix in TEXT_SUFFIXES]


def python(*folders: str) -> list[Path]:
    """Those in Python, below these folders."""
    return [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders]


def shown(path: Path) -> str:
    """A file as it is named in a message."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
