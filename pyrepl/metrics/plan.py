"""Which files there are, which of them are new or have grown, and which ranges of them are to be read.

A file is known by the hash of its first bytes, so that a rotated or compressed one is not read again under another
name. One that was written anew behind these bytes is told by the last ones that were there, and read anew; what was
read of it before counts no more. Reading the ranges is part.py's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final, final

from pyrepl.errors import ConfigError
from pyrepl.metrics.copies import HEAD_BYTES, copies
from pyrepl.metrics.given import place, why_absent
from pyrepl.metrics.manifest import Entry, Manifest
from pyrepl.metrics.packed import begins_as, digest, is_packed, opened
from pyrepl.metrics.ranges import Split

SPLIT_BYTES: Final = 64 << 20
_SNIFFED: Final = 4096
_END_BYTES: Final = 512
"""So many bytes before its end tell whether a file still holds what was read of it."""
_STRANGE: Final = bytes(set(range(32)) - {9, 10, 13, 27})
"""Bytes that are no text: control characters, but for those of lines and of colours."""
_BACK: Final = 64 << 10
_NO_LOGS: Final = frozenset(
    {".rdb", ".aof", ".conf", ".md", ".parquet", ".pid", ".manifest", ".crc", ".html", ".py", ".prom"}
)
_MARK: Final = "tables/manifest.json"
"""A folder that has it is one of --out, be it among the logs."""
_OURS: Final = (
    "tables", "results", "versions", "delta", "fetched", "checkpoint",
    "metrics.json", "metrics.openmetrics", "follow.json",
)  # fmt: skip
"""What such a folder has that might be taken for logs by its name."""
_ROTATION: Final = re.compile(
    r"(\.(gz|bz2|zst|\d{1,4}|log|txt|json|jsonl|ndjson|old|bak)|[-.]\d{8}([T-]?\d{4,6}(\.\d+)?Z?)?)$"
)


def find(paths: Iterable[str | Path], out: Path | None = None, *, absent_ok: bool = False) -> dict[Path, Path]:
    """Every log file of what is given (given.py), folders searched recursively -> the folder from which its node is
    named (node_of).

    Hidden files are passed over in folders, and what is no log by its name, what a run has written to its folder of
    --out, and everything under `out`. Raises ConfigError for what is not there, unless `absent_ok`.
    """
    found: dict[Path, Path] = {}
    given = {str(path): place(path) for path in paths}
    root = _common([one.root for one in given.values()])
    for log, there in given.items():
        if not there.paths and not absent_ok:
            raise ConfigError(f"{log}: {why_absent(log)}")
        for path in there.paths:
            found |= {one: root for one in _files(path, out) if one not in found}
    return found


def _files(path: Path, out: Path | None) -> Iterator[Path]:
    """The file itself, or what may be a log in a folder."""
    if not path.is_dir():
        yield path
        return
    every = sorted(path.rglob("*"))
    ours = {one.parent.parent / name for one in every if one.match(_MARK) for name in _OURS}
    if out is not None:
        ours.add(out.absolute())
    for one in every:
        if may_be_log(one, path) and one.is_file() and ours.isdisjoint((one, *one.parents)):
            yield one


def _common(folders: list[Path]) -> Path:
    """The deepest folder that holds them all."""
    root = folders[0] if folders else Path()
    while not all(folder.is_relative_to(root) for folder in folders):
        root = root.parent
    return root


def may_be_log(path: Path, root: Path) -> bool:
    """By its name, and those of the folders below `root` in which it is."""
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return not hidden and path.suffix not in _NO_LOGS


def node_of(path: Path, root: Path) -> str:
    """The node whose text log this is: its path from `root` on, without what rotation adds."""
    name = path.relative_to(root).as_posix()
    while True:
        shorter = _ROTATION.sub("", name)
        if shorter in ("", name) or shorter.endswith("/"):
            return name
        name = shorter


@final
class _Heads:
    """The entries of a manifest by how their files begin, so that of ten thousand files each is found at once."""

    def __init__(self, manifest: Manifest) -> None:
        self._by_size: dict[int, dict[str, list[Entry]]] = {}
        for entry in manifest.entries.values():
            self.add(entry)

    def add(self, entry: Entry) -> None:
        self._by_size.setdefault(entry.head_bytes, {}).setdefault(entry.head, []).append(entry)

    def drop(self, entry: Entry) -> None:
        """Before its head changes."""
        self._by_size[entry.head_bytes][entry.head].remove(entry)

    def same(self, head: bytes) -> list[Entry]:
        """Those whose files begin as this does, with those first of which most is known."""
        sizes = sorted(self._by_size, reverse=True)
        return [entry for size in sizes for entry in self._by_size[size].get(digest(head[:size]), [])]


def plan(manifest: Manifest, found: dict[Path, Path], merge_bytes: int = 0) -> tuple[list[Split], list[Split]]:
    """Ranges to read, and unfinished last lines. Takes new files into the manifest, and notes the unreadable ones.

    The last range of a file that has grown is planned again if it is below `merge_bytes`.
    """
    manifest.refused = {}
    _take_out_copies(manifest, found)
    heads = _Heads(manifest)
    ranges: list[Split] = []
    tails: list[Split] = []
    for path, root in found.items():
        if str(path) in manifest.copies:
            continue
        try:
            entry = _entry(manifest, heads, path, root)
            if entry is not None:
                _plan_file(entry, ranges, tails, merge_bytes)
        except OSError as error:
            manifest.refused[str(path)] = f"cannot be read: {error.strerror or error}"
    return ranges, tails


def _take_out_copies(manifest: Manifest, found: Iterable[Path]) -> None:
    """What is a copy of another file counts no more. The entry of one that was outgrown is the other's (_known)."""
    manifest.copies = copies(found, manifest.copies)
    paths = {entry.path for entry in manifest.entries.values()}
    for file_id, entry in list(manifest.entries.items()):
        copy = manifest.copies.get(entry.path)
        if copy is not None and copy["of"] in paths:
            del manifest.entries[file_id]


def _entry(manifest: Manifest, heads: _Heads, path: Path, root: Path) -> Entry | None:
    """What is known of a file, by how it begins; None when it is no log."""
    with opened(path) as file:
        head = file.read(_SNIFFED)
    if _is_binary(head):
        manifest.refused[str(path)] = "binary, no log: not read"
        return None
    known = _known(manifest, heads.same(head), path)
    if known is None:
        known = _new(manifest, head, path, root)
        heads.add(known)
    elif known.head_bytes < HEAD_BYTES:
        heads.drop(known)
        known.head_bytes = min(len(head), HEAD_BYTES)
        known.head = digest(head[: known.head_bytes])
        heads.add(known)
    known.path, known.packed = str(path), is_packed(path)
    return known


def _known(manifest: Manifest, same: list[Entry], path: Path) -> Entry | None:
    """The entry of this file: under its own name, or under one that another file has now, or none. `same` are those
    that begin alike."""
    for entry in same:
        if entry.path == str(path):
            return entry
    for entry in same:
        if entry.head_bytes and (entry.path in manifest.copies or not _still_there(entry)):
            return entry
    return None


def _still_there(entry: Entry) -> bool:
    """Does the path of an entry still lead to what it was made of?"""
    try:
        return begins_as(Path(entry.path), entry.head_bytes, entry.head)
    except OSError:
        return False


def _new(manifest: Manifest, head: bytes, path: Path, root: Path) -> Entry:
    begin = head[:HEAD_BYTES]
    file_id = digest(begin or str(path).encode())
    while file_id in manifest.entries:
        file_id = digest(file_id.encode() + str(path).encode())
    entry = Entry(file_id, str(path), node_of(path, root), len(begin), digest(begin))
    manifest.entries[file_id] = entry
    return entry


def _is_binary(head: bytes) -> bool:
    """More than a tenth of it is no text."""
    return (len(head) - len(head.translate(None, _STRANGE))) * 10 > len(head)


def _plan_file(entry: Entry, ranges: list[Split], tails: list[Split], merge_bytes: int) -> None:
    path = Path(entry.path)
    size = path.stat().st_size
    with path.open("rb") as file:
        if _was_written_anew(entry, file, size):
            entry.told, entry.offset, entry.error = [], 0, ""
        elif size == entry.size and not entry.error:
            return
        entry.size, entry.end = size, "" if entry.packed else _end(file, size)
    if entry.packed:
        entry.tail = None
        ranges.append(_split(entry, entry.offset, -1))
        return
    if size < entry.offset:
        raise OSError(f"shorter than what was read of it before ({size} < {entry.offset} bytes)")
    with path.open("rb") as file:
        cuts = list(_cuts(file, entry.offset, size))
        if len(cuts) > 1 and (last := entry.last_told(merge_bytes)) is not None:
            cuts[0] = last
    for start, end in pairwise(cuts):
        ranges.append(_split(entry, start, end))
    entry.tail = None
    if cuts[-1] < size:
        tails.append(_split(entry, cuts[-1], size))


def _was_written_anew(entry: Entry, file: BinaryIO, size: int) -> bool:
    """Does a file that is not shorter hold something else where it ended before? Of what is packed nobody knows: the
    same lines are packed in other bytes by another program."""
    return bool(entry.end) and not entry.packed and size >= entry.size and _end(file, entry.size) != entry.end


def _end(file: BinaryIO, size: int) -> str:
    """The digest of the last of the first `size` bytes."""
    file.seek(max(0, size - _END_BYTES))
    return digest(file.read(min(size, _END_BYTES)))


def _split(entry: Entry, start: int, end: int) -> Split:
    return Split(entry.path, entry.file_id, start, end, entry.node, entry.packed, entry.head_bytes, entry.head)


def _cuts(file: BinaryIO, start: int, size: int) -> Iterator[int]:
    """Where ranges begin and end, all behind line ends: about SPLIT_BYTES apart, the last behind the last line end."""
    last = _last_line_end(file, start, size)
    yield start
    before = start
    for wanted in range(start + SPLIT_BYTES, last, SPLIT_BYTES):
        cut = _last_line_end(file, before, wanted)
        if cut > before:
            yield cut
            before = cut
    if last > before:
        yield last


def _last_line_end(file: BinaryIO, start: int, end: int) -> int:
    """Behind the last line end in [start, end); `start` when there is none."""
    at = end
    while at > start:
        begin = max(start, at - _BACK)
        file.seek(begin)
        found = file.read(at - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        at = begin
    return start
