"""New log lines into the canonical tables: what is new is planned here, read by whoever does, and then counted in.

    ingest(by_tasks(spark), ["logs/"], Path("out/tables"))

Spark's tasks read (reading.py). The tables answer all questions afterwards (jobs.py). A run that dies changes nothing:
the next one removes its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics import seen
from pyrepl.metrics.manifest import Manifest
from pyrepl.metrics.places import forget
from pyrepl.metrics.plan import find, plan
from pyrepl.metrics.ranges import UTC, Split, Told

Reading = Callable[[Sequence[Split], Path, str], Iterable[Told]]
"""Reads ranges into the folder of tables, text logs' times being of a zone: what became of each, by file and place."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a run of ingest did."""

    files: int
    lines: int
    bytes: int
    unparsed: int


@final
@dataclass(slots=True)
class News:
    """What there is to read in the files: ranges, and unfinished last lines. `files` is the state of these (seen.py).

    What was read before is `known`, by the digest `manifest`; it is loaded when it is asked for.
    """

    tables: Path
    files: str
    manifest: str
    ranges: Sequence[Split] = ()
    tails: Sequence[Split] = ()
    loaded: Manifest | None = None

    @property
    def splits(self) -> list[Split]:
        """All of them."""
        return [*self.ranges, *self.tails]

    @property
    def known(self) -> Manifest:
        """Raises as manifest.load() does."""
        if self.loaded is None:
            self.loaded = manifests.load(self.tables)
        return self.loaded


def ingest(
    reading: Reading,
    logs: Iterable[str | Path],
    tables: Path,
    zone: str = UTC,
    merge_bytes: int = 0,
) -> Read:
    """Let `reading` read what is new in `logs` (files and folders) into the folder `tables`.

    `zone` is that of text logs' times, as Europe/Berlin. A file's last range is read again with what came behind it as
    long as it is below `merge_bytes`, so that frequent runs leave few parts. Raises ConfigError for paths that are not
    there, and when `tables` holds what this version did not write. Files that cannot be read are told in the table
    FILES.
    """
    return take_in(reading, news(logs, tables, merge_bytes), tables, zone)


def news(logs: Iterable[str | Path], tables: Path, merge_bytes: int = 0) -> News:
    """What there is to read. Raises as ingest() does."""
    found = find(logs, tables)
    files = seen.state_of(found)
    if manifest := seen.unchanged(tables, files):
        return News(tables, files, manifest)
    known = manifests.load(tables)
    if not known.entries:
        forget(tables)
    ranges, tails = planned(known, found, tables, merge_bytes)
    return News(tables, files, "" if ranges or tails else manifests.digest(known), ranges, tails, known)


def planned(
    known: Manifest, found: dict[Path, Path], tables: Path, merge_bytes: int = 0
) -> tuple[list[Split], list[Split]]:
    """What is to be read of files as find() has them: ranges, and unfinished last lines. What a run that died has left
    is removed before."""
    manifests.sweep(tables, known)
    return plan(known, found, merge_bytes)


def take_in(reading: Reading, found: News, tables: Path, zone: str = UTC) -> Read:
    """Read it and count it in."""
    done = count_in(found.known, read(reading, found.splits, tables, zone), found.tails, tables)
    found.manifest = manifests.in_force(tables)
    note(found)
    return done


def note(found: News) -> None:
    """All of it has been read, and so nothing is new while the files stay as they are: the next run need not open
    them. Raises OSError."""
    if found.files and found.known.is_whole:
        seen.save(found.tables, found.manifest, found.files)


def count_in(known: Manifest, told: Iterable[Told], tails: Iterable[Split], tables: Path) -> Read:
    """What was read counts from now on."""
    unfinished = {(split.file_id, split.start) for split in tails}
    files: set[str] = set()
    lines = size = unparsed = 0
    for one in told:
        known.take(one, tail=(one.file_id, one.start) in unfinished)
        files.add(one.file_id)
        lines, size, unparsed = lines + one.lines, size + one.read, unparsed + one.unparsed
    manifests.save(tables, known)
    return Read(len(files), lines, size, unparsed)


def read(reading: Reading, splits: Sequence[Split], tables: Path, zone: str) -> Iterable[Told]:
    """What became of each range; nobody is asked to read nothing."""
    if not splits:
        return ()
    tables.mkdir(parents=True, exist_ok=True)
    return reading(splits, tables, zone)
