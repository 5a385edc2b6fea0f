"""What has been read so far: the files with sizes and offsets, and the Parquet parts that count.

One JSON file beside the tables, replaced as a whole when a run is done: a run that was interrupted leaves parts that no
manifest names, and those are removed by the next. Which ranges are to be read is plan.py's.

Of a fleet it is large, and most of it is what became of the ranges: that is kept as JSON here, too, and made values of
Python a range at a time, by who goes over it. All of it as values takes four times the memory.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from pyrepl.errors import ConfigError
from pyrepl.metrics.copies import Copy
from pyrepl.metrics.ranges import Told
from pyrepl.metrics.tables import EVENTS, FILES, ROLLUPS, SAMPLES, UNPARSED
from pyrepl.temporary import SHARED, replacing

NAME: Final = "manifest.json"
VERSION: Final = 4
MERGE_BYTES: Final = 1 << 20
"""A range below this is read again, as one with what came behind it: else a month of batches were a million parts."""
_COUNTS: Final = ("lines", "events", "ignored", "unparsed", "unknown", "json_lines")
_PART_TABLES: Final = (EVENTS.name, SAMPLES.name, UNPARSED.name, *ROLLUPS)


class Kept(NamedTuple):
    """What became of a range of a file: ranges.Told by its fields, as a JSON object. Where it begins and how much was
    read, bytes, is wanted often."""

    start: int
    read: int
    text: str


Row: TypeAlias = dict[str, Any]
"""The same as values: a field's name -> what it holds."""


def kept(told: Row) -> Kept:
    """For the manifest. Raises KeyError."""
    return Kept(told["start"], told["read"], json.dumps(told))


@dataclass(slots=True)
class Entry:
    """One log file, known by how it begins, whatever its name is now.

    `offset` is the cut up to which it was read for good (of a packed one: in what it unpacks to). `tail` came from a
    last line without an end, behind `offset`: it is given up when the file has grown. `head` is the hash of its first
    `head_bytes`, `end` that of the last bytes before `size` (plan.py); empty of a packed one.
    """

    file_id: str
    path: str
    node: str
    head_bytes: int
    head: str
    size: int = 0
    end: str = ""
    offset: int = 0
    packed: bool = False
    told: list[Kept] = field(default_factory=list)
    tail: Kept | None = None
    error: str = ""

    def all_told(self) -> Iterator[Row]:
        """What became of its ranges, the unfinished last line at the end."""
        for one in (*self.told, self.tail):
            if one is not None:
                yield json.loads(one.text)

    def last_told(self, below: int) -> int | None:
        """Where the last range before `offset` begins, if it is shorter than `below` bytes."""
        for one in self.told:
            if one.start + one.read == self.offset and 0 < one.read < below:
                return one.start
        return None


_OF_TOLD: Final = tuple(one.name for one in fields(Told))
_OF_ENTRY: Final = tuple(one.name for one in fields(Entry))
_ABOUT: Final = _OF_ENTRY[: _OF_ENTRY.index("told")]
_TOLD: Final = frozenset(_OF_TOLD)
_ENTRY: Final = frozenset(_OF_ENTRY)


@dataclass(slots=True)
class Manifest:
    """All files met, by their ids; by their paths those that could not be read, and those that are copies of others."""

    entries: dict[str, Entry] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    copies: dict[str, Copy] = field(default_factory=dict)

    def parts(self, table: str) -> list[str]:
        """The parts of a table that count, in order."""
        begin = f"{table}/"
        return sorted({
            part for entry in self.entries.values() for told in entry.all_told() for part in told["parts"]
            if part.startswith(begin)
        })  # fmt: skip

    def doubtful(self) -> frozenset[tuple[str, str]]:
        """Tables, each with a run of which a numbered line can be in it twice: all but those whose ranges rise and lie
        apart."""
        spans: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        found: set[tuple[str, str]] = set()
        for entry in self.entries.values():
            for told in entry.all_told():
                for table, run, low, high, rising in told["seqs"]:
                    spans[table, run].append((low, high))
                    if not rising:
                        found.add((table, run))
        for of, own in spans.items():
            if any(before[1] >= behind[0] for before, behind in pairwise(sorted(own))):
                found.add(of)
        return frozenset(found)

    def take(self, told: Told, *, tail: bool) -> None:
        """A range was read. It takes the place of a shorter one that began there; one of nothing leaves no trace."""
        entry = self.entries[told.file_id]
        new = kept({name: getattr(told, name) for name in _OF_TOLD})
        if tail:
            entry.tail = new
        elif told.read:
            same = [one for one in entry.told if one.start == told.start]
            if all(one.read <= told.read for one in same):
                entry.told = [*(one for one in entry.told if one not in same), new]
            entry.offset = max(entry.offset, told.start + told.read)
        entry.error = told.error

    @property
    def is_whole(self) -> bool:
        """Could all files be read to their ends?"""
        return not self.refused and not any(entry.error for entry in self.entries.values())

    def file_rows(self) -> list[Row]:
        """The table FILES."""
        rows = [_row(entry) for entry in self.entries.values()]
        empty = dict.fromkeys(FILES.names) | dict.fromkeys(("bytes", *_COUNTS[:-1]), 0)
        rows += [empty | {"file": path, "form": "unreadable", "error": why} for path, why in self.refused.items()]
        rows += [empty | {"file": path, "form": "copy", "copy_of": copy["of"]} for path, copy in self.copies.items()]
        return sorted(rows, key=lambda row: str(row["file"]))


def _row(entry: Entry) -> Row:
    told = list(entry.all_told())
    sums = {name: sum(one[name] for one in told) for name in _COUNTS}
    in_json = sums.pop("json_lines")
    form = "empty" if not sums["lines"] else "json" if in_json == sums["lines"] else "mixed" if in_json else "text"
    read = sum(one["read"] for one in told)
    wrapper = ", ".join(sorted({name for one in told for name in one["wrappers"]})) or None
    rest = {"wrapper": wrapper, "copy_of": None, "error": entry.error or None}
    return {"file": entry.path, "form": form, "bytes": read, **sums, **rest}


def load(tables: Path) -> Manifest:
    """The manifest of a folder of tables; an empty one where there is none.

    Raises ConfigError when there is one that this version cannot read: better than to count everything twice.
    """
    path = tables / NAME
    try:
        with path.open(encoding="utf-8") as file:
            found = json.load(file, object_hook=from_json)
        if (version := found["version"]) != VERSION:
            raise ConfigError(
                f"{tables} was written by another version of pyrepl (schema {version}, and this one has {VERSION}): "
                "remove the folder, and all logs that are still there are read anew"
            )
        return Manifest({one.file_id: one for one in found["entries"]}, found["refused"], found["copies"])
    except FileNotFoundError:
        return Manifest()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} is not what this version wrote ({error!r}): remove the folder, and all logs are read anew"
        ) from None


def save(tables: Path, manifest: Manifest) -> None:
    """Replace it as a whole."""
    tables.mkdir(parents=True, exist_ok=True)
    with replacing(tables / NAME, SHARED) as file:
        for piece in _pieces(manifest):
            file.write(piece.encode())


def _pieces(manifest: Manifest) -> Iterator[str]:
    """The manifest as it is saved; one which was saved and loaded is saved the same."""
    yield f'{{"version": {VERSION}, "entries": '
    yield from as_json(manifest.entries.values())
    yield f', "refused": {json.dumps(manifest.refused)}, "copies": {json.dumps(manifest.copies)}}}'


def as_json(entries: Iterable[Entry]) -> Iterator[str]:
    """A list of entries as JSON, in pieces."""
    begin = "["
    for entry in entries:
        about = json.dumps({name: getattr(entry, name) for name in _ABOUT}).removesuffix("}")
        told, tail = ", ".join(one.text for one in entry.told), entry.tail.text if entry.tail else "null"
        yield f'{begin}{about}, "told": [{told}], "tail": {tail}, "error": {json.dumps(entry.error)}}}'
        begin = ", "
    yield "]" if begin == ", " else "[]"


def from_json(found: Row) -> Any:
    """For json.load() of what as_json() wrote: an entry, what became of a range, or something else, which stays as it
    is. Raises TypeError."""
    if found.keys() == _TOLD:
        return kept(found)
    return Entry(**found) if found.keys() == _ENTRY else found


def digest(manifest: Manifest) -> str:
    """By which one is known, in the folder or not."""
    found = hashlib.sha256()
    for piece in _pieces(manifest):
        found.update(piece.encode())
    return found.hexdigest()


def in_force(tables: Path) -> str:
    """The digest of the one in the folder; empty where there is none."""
    try:
        with (tables / NAME).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def sweep(tables: Path, manifest: Manifest) -> int:
    """Remove parts that no manifest names: those of interrupted runs, and given-up tails. Their number."""
    counted = {
        part for entry in manifest.entries.values() for told in entry.all_told()
        for part in (*told["parts"], *told["rollups"])
    }  # fmt: skip
    orphans = [path for path in _part_files(tables) if str(path.relative_to(tables)) not in counted]
    for path in orphans:
        path.unlink(missing_ok=True)
    return len(orphans)


def _part_files(tables: Path) -> Iterator[Path]:
    for table in _PART_TABLES:
        yield from (tables / table).rglob("*.parquet")
        yield from (tables / table).rglob(".*.tmp")
