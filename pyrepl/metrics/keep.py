"""What a run worked out about nodes that belong together, kept for the next: answers, and what it can go on from.

    answers   known by all that they are made of (key()): the parts and what they hold, as the manifest names them, and
              the version that made them. Nothing new was read: nothing is worked out again.
    a base    the merged rollups of these nodes' parts (base.py). Something new was read: only that is merged.

What is damaged, or not there, costs the time to work it out. Nothing is kept of questions with bounds, which are hardly
asked twice.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import polars as pl

from pyrepl import VERSION
from pyrepl.metrics.base import Base
from pyrepl.metrics.packing import Frames, Packed, packed, unpacked
from pyrepl.metrics.parts import Sources
from pyrepl.temporary import SHARED, create

FOLDER: Final = "answers"
SHAPE: Final = 3
"""Raised when the same parts are answered for in another way."""
_MADE_OF: Final = "made_of"


def key(wanted: Sources) -> str:
    """A name for what answers these sources."""
    return _hash(*((field.name, getattr(wanted, field.name)) for field in fields(wanted)))


def _hash(*told: Any) -> str:
    return hashlib.sha256(json.dumps([VERSION, SHAPE, *told], sort_keys=True, default=_plain).encode()).hexdigest()[:32]


def _plain(value: Any) -> Any:
    """What JSON has no word for: sets, and records."""
    if isinstance(value, frozenset):
        return sorted(value)
    return [getattr(value, field.name) for field in fields(value)]


def answer_kept(tables: Path, wanted: Sources) -> Frames | None:
    """The answer of a run before."""
    found = _read(_of_answer(tables, wanted))
    return None if found is None else _frames(found)


def keep_answer(tables: Path, wanted: Sources, found: Frames) -> None:
    """For the next run."""
    _write(_of_answer(tables, wanted), packed(found))


def base_kept(tables: Path, wanted: Sources) -> Base | None:
    """What a run before merged of these nodes' parts, whichever they were."""
    found = _read(_of_base(tables, wanted))
    if found is None or _MADE_OF not in found:
        return None
    made_of = frozenset((name, path, frozenset(nodes)) for name, path, nodes in json.loads(found.pop(_MADE_OF)))
    frames = _frames(found)
    return None if frames is None else Base(made_of, frames)


def keep_base(tables: Path, wanted: Sources, base: Base) -> None:
    """For the next run."""
    made_of = json.dumps(sorted([name, path, sorted(nodes)] for name, path, nodes in base.made_of))
    _write(_of_base(tables, wanted), {**packed(base.tables), _MADE_OF: made_of.encode()})


def forget(tables: Path) -> None:
    """All of it: the parts that come now may have the names of others that were there before."""
    shutil.rmtree(tables / FOLDER, ignore_errors=True)


def _frames(found: Packed) -> Frames | None:
    try:
        return unpacked(found)
    except (pl.exceptions.PolarsError, OSError):
        return None


def _of_answer(tables: Path, wanted: Sources) -> Path:
    return tables / FOLDER / f"{key(wanted)}.zip"


def _of_base(tables: Path, wanted: Sources) -> Path:
    return tables / FOLDER / f"{_hash(wanted.nodes)}.base.zip"


def _read(path: Path) -> Packed | None:
    try:
        with zipfile.ZipFile(path) as file:
            return {name: file.read(name) for name in file.namelist()}
    except (OSError, zipfile.BadZipFile):
        return None


def _write(path: Path, found: Packed) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rough = path.with_suffix(".tmp")
    with create(rough, SHARED) as made, zipfile.ZipFile(made, "w") as file:
        for name, data in found.items():
            file.writestr(name, data)
    rough.replace(path)


def sweep(tables: Path, wanted: Iterable[Sources]) -> int:
    """Remove what belongs to questions that are asked no more; the number of files."""
    names = {path.name for one in wanted for path in (_of_answer(tables, one), _of_base(tables, one))}
    gone = [path for path in (tables / FOLDER).glob("*") if path.name not in names]
    for path in gone:
        path.unlink(missing_ok=True)
    return len(gone)
