"""What a run worked out about nodes that belong together, kept for the next: answers, and what it can go on from.

    answers   Parquet, a file for each table and share of the nodes, answers/TABLE/KEY.parquet. The key names all that
              they are made of (key()): the parts and what they hold, as the manifest names them, and the version that
              made them. Nothing new was read: nothing is worked out again.
    a base    the merged rollups of these nodes' parts (base.py). Something new was read: only that is merged.
    told      what these nodes' text logs tell, and where their stories stand (telling.py). Something new was read: only
              that is told.

The last two bear the version that made them in their names. The file of DONE is written last: where it is, the other
answers are. What is damaged, or not there, costs the time to work it out. Answers to a question with bounds, which is
hardly asked twice, stand in a folder of their own until the next one is asked.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pyrepl import VERSION
from pyrepl.metrics.base import Base, Frames
from pyrepl.metrics.parts import Sources
from pyrepl.metrics.places import BOUNDED, DONE, FOLDER, SHAPE, of_answer
from pyrepl.metrics.story import Stand
from pyrepl.metrics.telling import Place, Telling
from pyrepl.temporary import SHARED, replacing

_BASES: Final = "bases"
_TOLD: Final = "told"
_MADE_OF: Final = "made_of"
_MARKS: Final = "marks"


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


def is_kept(folder: Path, named: str, tables: Iterable[str] = ()) -> bool:
    """Are there answers of that name in the folder, with these tables, none of whose files is cut short?"""
    try:
        for name in (DONE, *tables):
            pq.read_metadata(of_answer(folder, named, name))
    except (OSError, pa.ArrowInvalid):
        return False
    return True


def keep_answer(folder: Path, named: str, found: Mapping[str, pl.DataFrame]) -> None:
    """For who asked, and for the next run. Raises OSError."""
    for name, rows in sorted(found.items(), key=lambda item: item[0] == DONE):
        path = of_answer(folder, named, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, SHARED) as file:
            rows.write_parquet(file, compression="zstd", compression_level=1)


def base_kept(tables: Path, wanted: Sources) -> Base | None:
    """What a run before merged of these nodes' parts, whichever they were."""
    found = _unpacked(_of_base(tables, wanted), _MADE_OF)
    if found is None:
        return None
    made_of, frames = found
    return Base(frozenset((name, path, node) for name, path, node in made_of), frames)


def keep_base(tables: Path, wanted: Sources, base: Base) -> None:
    """For the next run. Raises OSError."""
    _pack(_of_base(tables, wanted), _MADE_OF, sorted(base.made_of), base.tables)


def telling_kept(tables: Path, wanted: Sources) -> Telling | None:
    """What a run before told of these nodes' text logs."""
    found = _unpacked(_of_telling(tables, wanted), _TOLD)
    if found is None:
        return None
    told, frames = found
    places = {
        node: Place(frozenset(made_of), tuple(left_out), Stand(*stand))
        for node, made_of, left_out, stand in told["places"]
    }
    return Telling(places, frames, tuple(told[_MARKS]))


def keep_telling(tables: Path, wanted: Sources, telling: Telling) -> None:
    """For the next run. Raises OSError."""
    places = [[node, sorted(one.made_of), one.left_out, one.stand] for node, one in telling.places.items()]
    _pack(_of_telling(tables, wanted), _TOLD, {"places": places, _MARKS: telling.marks}, telling.tables)


def _unpacked(path: Path, about: str) -> tuple[Any, Frames] | None:
    """What _pack() wrote; None where it is not there or not whole."""
    try:
        with zipfile.ZipFile(path) as file:
            found = {name: file.read(name) for name in file.namelist()}
        told = json.loads(found.pop(about))
        return told, {name: pl.read_ipc(BytesIO(data)) for name, data in found.items()}
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, pl.exceptions.PolarsError):
        return None


def _pack(path: Path, about: str, told: Any, tables: Frames) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, SHARED) as made, zipfile.ZipFile(made, "w") as file:
        file.writestr(about, json.dumps(told), zipfile.ZIP_DEFLATED, 1)
        for name, rows in tables.items():
            buffer = BytesIO()
            rows.write_ipc(buffer, compression="lz4")
            file.writestr(name, buffer.getvalue())


def _of_base(tables: Path, wanted: Sources) -> Path:
    return tables / FOLDER / _BASES / f"{_hash(wanted.groups)}.zip"


def _of_telling(tables: Path, wanted: Sources) -> Path:
    return tables / FOLDER / _TOLD / f"{_hash(wanted.groups)}.zip"


def sweep(tables: Path, wanted: Iterable[Sources], answered: Iterable[str]) -> int:
    """Remove what belongs to questions that are asked no more, but these and their answers; the number of files. What
    has no bounds is asked again, whatever is asked meanwhile."""
    every = list(wanted)
    names = {f"{named}.parquet" for named in answered} | {_of_base(tables, one).name for one in every}
    lasting = all(one.bounds == (None, None) for one in every)
    there = [path for name in ([FOLDER, BOUNDED] if lasting else [BOUNDED]) for path in (tables / name).rglob("*")]
    gone = [path for path in there if path.is_file() and path.name not in names]
    for path in gone:
        path.unlink(missing_ok=True)
    return len(gone)
