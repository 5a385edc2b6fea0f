"""Answers about nodes that belong together, kept for the next run: those that nothing new was read of are not worked
out again.

An answer is known by all that it is made of (key()): the parts and what they hold, as the manifest names them, and the
version that made it. A file that is damaged, or not there, costs the time to answer. Only questions without bounds are
kept, as the others are hardly asked twice.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from pyrepl import VERSION
from pyrepl.metrics.parts import Sources

FOLDER: Final = "answers"
SHAPE: Final = 1
"""Raised when the same parts are answered for in another way."""

Packed = dict[str, bytes]


def key(wanted: Sources) -> str:
    """A name for what answers these sources."""
    told = [VERSION, SHAPE, *((field.name, getattr(wanted, field.name)) for field in fields(wanted))]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=_plain).encode()).hexdigest()[:32]


def _plain(value: Any) -> Any:
    """What JSON has no word for: sets, and records."""
    if isinstance(value, frozenset):
        return sorted(value)
    return [getattr(value, field.name) for field in fields(value)]


def kept(tables: Path, wanted: Sources, answer: Callable[[], Packed]) -> Packed:
    """The answer of a run before, or else that of `answer`, which is kept."""
    if wanted.bounds != (None, None):
        return answer()
    path = _path(tables, key(wanted))
    found = _read(path)
    if found is None:
        found = answer()
        _write(path, found)
    return found


def _path(tables: Path, name: str) -> Path:
    return tables / FOLDER / f"{name}.zip"


def _read(path: Path) -> Packed | None:
    try:
        with zipfile.ZipFile(path) as file:
            return {name: file.read(name) for name in file.namelist()}
    except (OSError, zipfile.BadZipFile):
        return None


def _write(path: Path, found: Packed) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rough = path.with_suffix(".tmp")
    with zipfile.ZipFile(rough, "w") as file:
        for name, data in found.items():
            file.writestr(name, data)
    rough.replace(path)


def sweep(tables: Path, wanted: Iterable[Sources]) -> int:
    """Remove answers to what is asked no more; their number."""
    names = {_path(tables, key(one)).name for one in wanted}
    gone = [path for path in (tables / FOLDER).glob("*") if path.name not in names]
    for path in gone:
        path.unlink(missing_ok=True)
    return len(gone)
