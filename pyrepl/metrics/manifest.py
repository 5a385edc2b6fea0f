"""What has been read so far: the files with sizes and offsets, and the Parquet parts that count.

One JSON file beside the tables, replaced as a whole when a run is done: a run that was interrupted leaves parts that no
manifest names, and those are removed by the next. Which ranges are to be read is plan.py's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

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
    told: list[dict[str, Any]] = field(default_factory=list)
    tail: dict[str, Any] | None = None
    error: str = ""

    def all_told(self) -> list[dict[str, Any]]:
        """What became of its ranges, the unfinished last line included."""
        return [*self.told, *([self.tail] if self.tail else [])]

    def last_told(self, below: int) -> int | None:
        """Where the last range before `offset` begins, if it is shorter than `below` bytes."""
        for one in self.told:
            if one["start"] + one["read"] == self.offset and 0 < one["read"] < below:
                return int(one["start"])
        return None


_OF_ENTRY: Final = tuple(one.name for one in fields(Entry))


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

    def doubtful(self, table: str) -> frozenset[str]:
        """Runs of which a numbered line can be in the table twice: all but those whose ranges rise and lie apart."""
        by_run: dict[str, list[tuple[int, int]]] = {}
        found: set[str] = set()
        for entry in self.entries.values():
            for told in entry.all_told():
                for name, run, low, high, rising in told["seqs"]:
                    if name == table:
                        by_run.setdefault(run, []).append((low, high))
                        if not rising:
                            found.add(run)
        for run, spans in by_run.items():
            if any(before[1] >= behind[0] for before, behind in pairwise(sorted(spans))):
                found.add(run)
        return frozenset(found)

    def take(self, told: Told, *, tail: bool) -> None:
        """A range was read. It takes the place of a shorter one that began there; one of nothing leaves no trace."""
        entry = self.entries[told.file_id]
        if tail:
            entry.tail = asdict(told)
        elif told.read:
            same = [one for one in entry.told if one["start"] == told.start]
            if all(one["read"] <= told.read for one in same):
                entry.told = [*(one for one in entry.told if one not in same), asdict(told)]
            entry.offset = max(entry.offset, told.start + told.read)
        entry.error = told.error

    @property
    def is_whole(self) -> bool:
        """Could all files be read to their ends?"""
        return not self.refused and not any(entry.error for entry in self.entries.values())

    def file_rows(self) -> list[dict[str, Any]]:
        """The table FILES."""
        rows = [_row(entry) for entry in self.entries.values()]
        empty = dict.fromkeys(FILES.names) | dict.fromkeys(("bytes", *_COUNTS[:-1]), 0)
        rows += [empty | {"file": path, "form": "unreadable", "error": why} for path, why in self.refused.items()]
        rows += [empty | {"file": path, "form": "copy", "copy_of": copy["of"]} for path, copy in self.copies.items()]
        return sorted(rows, key=lambda row: str(row["file"]))


def _row(entry: Entry) -> dict[str, Any]:
    told = entry.all_told()
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
        found = json.loads(path.read_text())
        if (version := found["version"]) != VERSION:
            raise ConfigError(
                f"{tables} was written by another version of pyrepl (schema {version}, and this one has {VERSION}): "
                "remove the folder, and all logs that are still there are read anew"
            )
        entries = {one["file_id"]: Entry(**one) for one in found["entries"]}
        return Manifest(entries, found["refused"], found["copies"])
    except FileNotFoundError:
        return Manifest()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} is not what this version wrote ({error!r}): remove the folder, and all logs are read anew"
        ) from None


def save(tables: Path, manifest: Manifest) -> None:
    """Replace it as a whole."""
    tables.mkdir(parents=True, exist_ok=True)
    with replacing(tables / NAME, SHARED) as file:
        file.write(as_text(manifest).encode())


def as_text(manifest: Manifest) -> str:
    """As it is saved; that of a manifest which was saved and loaded is the same."""
    # No asdict(), which copies all that is in them: of a fleet that is more than the rest of the driver.
    entries = [{name: getattr(entry, name) for name in _OF_ENTRY} for entry in manifest.entries.values()]
    told = {"version": VERSION, "entries": entries, "refused": manifest.refused, "copies": manifest.copies}
    return json.dumps(told)


def digest(manifest: Manifest) -> str:
    """By which one is known, in the folder or not."""
    return hashlib.sha256(as_text(manifest).encode()).hexdigest()


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
