"""Versions of a folder of files: each is written beside the others and never changed, and a link leads to the newest.

    DIR/versions/1795258584000000/syncs/day=2026-11-21/part-0f3a.parquet
    DIR/results -> versions/1795258584000000

Readers (DuckDB, Polars, Spark, pandas) list a folder first and open its files later by their names, some of them more
than once. A file that is replaced under its name therefore tears what they see, however it is replaced. Here a name
stands for one content for ever, and the link is replaced in one step. Who resolves it first sees one version, all of
its tables, for at least GRACE_US after the next has come, and mostly for LONGER_US.

Who goes through the link looks up each name anew, in the version of that moment. So what was listed is either the same
or gone, which is an error and never other rows; and a day that came while days were being listed is missed. No folder
can be better: a file that can still be opened is listed, too, and its rows would be there twice.
"""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER: Final = "versions"
GRACE_US: Final = 60_000_000
"""So long a version stays after another has taken its place, whatever it takes."""
LONGER_US: Final = 900_000_000
MOST: Final = 100
MOST_BYTES: Final = 256 << 20
"""So long it stays beyond that, as long as there are no more such versions, and they hold no more bytes than that
besides what the newest holds."""


def begin(link: Path) -> Path:
    """An empty folder for the next version of what `link` leads to; what an earlier one left unfinished is removed."""
    rough = link.parent / FOLDER / ".rough"
    shutil.rmtree(rough, ignore_errors=True)
    rough.mkdir(parents=True)
    return rough


def seal(path: Path, folder: Path | None = None) -> Path:
    """Give a file that was written the name of its content, in its folder or in another one: part-0.parquet becomes
    part-<16 hex digits>.parquet."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    folder = folder or path.parent
    folder.mkdir(exist_ok=True)
    return path.rename(folder / f"{path.stem.partition('-')[0]}-{digest}{path.suffix}")


def sign(version: Path, digest: str) -> None:
    """Write down what a version is made of, by a digest, before it is published. Raises OSError."""
    _signature(version, digest).touch()


def is_signed(version: Path, digest: str) -> bool:
    """Is it made of just that?"""
    return _signature(version, digest).exists()


def _signature(version: Path, digest: str) -> Path:
    """An empty file whose name says all: so no two versions share one that would be of one of them alone."""
    return version / f".made-of-{digest}"


def publish(rough: Path, link: Path, at_us: int) -> Path:
    """Make what `begin` gave the newest version, which came at `at_us` (Unix us); older ones go when their time is
    over. Raises OSError."""
    every = numbers(rough.parent)
    number = max([at_us, *(one + 1 for one in every)])
    if every:
        _share(rough, rough.parent / str(every[-1]))
    made = rough.rename(rough.parent / str(number))
    _lead(link, made)
    for old in _over(rough.parent, [*every, number]):
        shutil.rmtree(rough.parent / str(old))
    return made


def _over(folder: Path, every: list[int]) -> list[int]:
    """Those of the versions, the oldest first, whose time is over."""
    now, size = every[-1], 0
    held = _sizes(folder / str(now))
    for place in range(len(every) - 2, -1, -1):
        own = _sizes(folder / str(every[place]))
        size += sum(own[inode] for inode in own.keys() - held.keys())
        held |= own
        age_us = now - every[place + 1]
        if age_us >= GRACE_US and (age_us >= LONGER_US or len(every) - 1 - place > MOST or size > MOST_BYTES):
            return every[: place + 1]
    return []


def _sizes(version: Path) -> dict[int, int]:
    """Bytes of each file by its inode: versions share files."""
    return {path.stat().st_ino: path.stat().st_size for path in version.rglob("*") if path.is_file()}


def numbers(folder: Path) -> list[int]:
    """The versions there are, the oldest first."""
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


def _share(new: Path, old: Path) -> None:
    """Files of one name have one content, so the disk need not hold them twice."""
    for path in [path for path in new.rglob("*") if path.is_file()]:
        same = old / path.relative_to(new)
        if same.exists():
            rough = path.with_name(f".{path.name}")
            # Not every file system has hard links.
            with suppress(OSError):
                rough.hardlink_to(same)
                rough.replace(path)


def _lead(link: Path, version: Path) -> None:
    rough = link.with_name(f".{link.name}.tmp")
    rough.unlink(missing_ok=True)
    rough.symlink_to(version.relative_to(link.parent))
    if link.is_dir() and not link.is_symlink():
        # As versions of pyrepl before this one had it.
        shutil.rmtree(link)
    rough.replace(link)
