"""Which log files hold no more than others do: copies, whole or of the begin, packed or not, and links.

A backup beside the log, or a file that was fetched twice, would count every sync twice, as of two nodes. Files that
begin alike are compared to their end, once: what was found is remembered as long as neither is shorter, nor the copy
longer, than it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypedDict

from pyrepl.metrics.packed import Content, Damaged, opened

HEAD_BYTES: Final = 512
"""So many bytes tell one log from another: times and process ids differ from the first line on."""
_CHUNK: Final = 1 << 20


class Copy(TypedDict):
    """What a file is a copy of, and the size on disk of both when they were compared, bytes."""

    of: str
    bytes: int
    of_bytes: int


def copies(found: Iterable[Path], known: Mapping[str, Copy]) -> dict[str, Copy]:
    """Path -> what it is a copy of; of files that are alike the one with the shortest path is none.

    `known` is what this gave before. A file that cannot be read is no copy: who reads it says why.
    """
    alike: dict[bytes, list[Path]] = defaultdict(list)
    for path in found:
        head = _head(path)
        if head:
            alike[head].append(path)
    made: dict[str, Copy] = {}
    for paths in alike.values():
        if len(paths) > 1:
            made |= _among(sorted(paths, key=lambda path: (len(str(path)), str(path))), known)
    return made


def _head(path: Path) -> bytes:
    try:
        with opened(path) as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def _among(paths: list[Path], known: Mapping[str, Copy]) -> dict[str, Copy]:
    """Of files that begin alike."""
    there = {str(path) for path in paths}
    of = {
        path: Path(old["of"])
        for path in paths
        if (old := known.get(str(path))) is not None and old["of"] in there and _holds(path, old)
    }
    kept: list[Path] = []
    for path in paths:
        if path not in of:
            _place(path, kept, of)
    return {str(path): _copy(path, _last(path, of)) for path in of}


def _holds(path: Path, old: Copy) -> bool:
    """Is what was found of it still so? A log only grows."""
    return path.stat().st_size == old["bytes"] and Path(old["of"]).stat().st_size >= old["of_bytes"]


def _place(path: Path, kept: list[Path], of: dict[Path, Path]) -> None:
    """Among those that are no copies, or as the copy of one, or as what one is a copy of."""
    for place, other in enumerate(kept):
        shorter = _shorter(path, other)
        if shorter == path:
            of[path] = other
            return
        if shorter == other:
            of[other], kept[place] = path, path
            return
    kept.append(path)


def _last(path: Path, of: Mapping[Path, Path]) -> Path:
    """The one that is no copy. What is known and what was found now never lead in a circle: lengths rise."""
    seen = {path}
    while (path := of.get(path, path)) not in seen:
        seen.add(path)
    return path


def _copy(path: Path, original: Path) -> Copy:
    return {"of": str(original), "bytes": path.stat().st_size, "of_bytes": original.stat().st_size}


def _shorter(one: Path, other: Path) -> Path | None:
    """The one whose bytes the other begins with, the first when they are equal; None when neither does."""
    try:
        if one.samefile(other):
            return one
        with opened(one) as left, opened(other) as right:
            return _prefix(one, left, other, right)
    except OSError:
        return None


def _some(file: Content) -> bytes:
    """The next bytes. A packed file that is damaged, or still being written, ends where it cannot be read on."""
    try:
        return file.read(_CHUNK)
    except Damaged:
        return b""


def _prefix(one: Path, left: Content, other: Path, right: Content) -> Path | None:
    while True:
        mine, theirs = _some(left), _some(right)
        if mine != theirs:
            if theirs.startswith(mine):
                return one
            return other if mine.startswith(theirs) else None
        if not mine:
            return one
