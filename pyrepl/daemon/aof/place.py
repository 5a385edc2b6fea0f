"""Keeps the place of the append-only file on disk while the file is written, and finds it again at the next start.

A place is a small file beside an incr. It says which byte of the incr is which cut of which stream (aof/place.py has
the reasons, and why it is exact). `tail` writes it once when an incr begins, and again when the name of our stream
changes (a promotion, a restart, a new id from our master): up to the change both names mean the same bytes, so only
the name in the place is new.

The new name must be on disk before the first byte that belongs to the new name alone, or a crash in between would leave
that byte under the old name. It is not written before somebody else may know the new name either: replicas that were
away know only the old one, and could not be continued after a restart.
"""

from __future__ import annotations

from pathlib import Path
from typing import final

from pyrepl.aof.manifest import Entry, Manifest
from pyrepl.aof.own_block import Aside
from pyrepl.aof.place import Place
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.frozen import Frozen
from pyrepl.replication.stream_place import StreamPlace
from pyrepl.units import Offset, ReplId


@final
class AofPlace:
    """The place of one incr. Invariant: `place` says of every byte behind it what the place on disk says."""

    def __init__(self, files: AofFiles, incr: Entry, place: Place) -> None:
        """`place`, or one that it follows from, is on disk already."""
        self._files = files
        self._incr = incr
        self.place = place

    @classmethod
    def note(cls, files: AofFiles, incr: Entry, place: Place) -> AofPlace:
        """Write the place of a new incr to the disk. Raises OSError."""
        files.write_place(incr.seq, place)
        return cls(files, incr, place)

    def follow(self, replid: ReplId) -> None:
        """Our stream is called `replid` from now on; no effect if it is already. Raises OSError, and then the old name
        stays on disk."""
        if replid != self.place.replid:
            place = Place(replid, self.place.offset, self.place.file, self.place.at)
            self._files.write_place(self._incr.seq, place)
            self.place = place


@final
class FoundPlace(Frozen):
    """What a start found out: the last incr was loaded up to byte `end`, which is the cut `cut` of the stream
    `place.replid`. `aside` is what is no part of the stream; none of it is behind `place`."""

    place: Place
    end: int
    cut: int
    aside: Aside

    def fields(self, db: int) -> dict[bytes, bytes]:
        """The same place in the form of a snapshot's aux fields; `db` is the database that the stream has selected."""
        return dict(StreamPlace(ReplId(self.place.replid), Offset(self.cut), db).fields())

    def tail(self, path: Path, most_bytes: int) -> bytes:
        """The last bytes of the stream up to `cut`, `most_bytes` at most, as the file at `path` holds them. Raises
        OSError."""
        start = max(self.aside.known_from, self.end - most_bytes)
        for begin, end in self.aside.spans:
            start = end if begin < start < end else start
        with path.open("rb") as file:
            file.seek(start)
            return self.aside.without(file.read(self.end - start), start)


def noted_place(files: AofFiles, manifest: Manifest) -> Place | None:
    """The place that is noted for the manifest's last incr. None if there is none that can be trusted, which is so
    after another program has written to these files."""
    incr = manifest.incrs[-1] if manifest.incrs else None
    if incr is None or files.names.place(incr.seq) not in {entry.name for entry in manifest.history}:
        return None
    return files.read_place(incr)


def find_place(place: Place, end: int, aside: Aside) -> FoundPlace | None:
    """The place at byte `end` of an incr for which `place` is noted, and which has `aside` behind that place. None left
    of it."""
    if aside.spans:
        last = aside.spans[-1][1]
        place = Place(place.replid, place.offset + last - place.at - aside.size, place.file, last)
    cut = place.cut_at(end)
    return None if cut is None else FoundPlace(place, end, cut, aside)
