"""The place of the append-only file that is written: kept on disk beside it, and read back at the next start.

What a place means, and why it is exact, stands in aof/place.py. The pair of byte and cut is noted once, when the incr
begins; the name of the stream changes (a promotion, a restart, a new id from our master), and up to the fork both names
mean the same bytes, so the pair stays and the file is written anew under the new name. Order, for a crash between any
two steps: the name before the first byte that belongs to it alone. And not earlier than anybody was told of the new
name, as replicas that were away know only the old one.
"""

from __future__ import annotations

from pathlib import Path
from typing import final

from pyrepl.aof.manifest import Entry, Manifest
from pyrepl.aof.place import Place
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.frozen import Frozen
from pyrepl.replication.stream_place import StreamPlace
from pyrepl.units import Offset, ReplId


@final
class AofPlace:
    """Where one incr stands. Invariant: `place` is what is on disk."""

    def __init__(self, files: AofFiles, incr: Entry, place: Place) -> None:
        """`place` is on disk."""
        self._files = files
        self._incr = incr
        self.place = place

    @classmethod
    def note(cls, files: AofFiles, incr: Entry, place: Place) -> AofPlace:
        """Write it down. Raises OSError."""
        files.write_place(incr.seq, place)
        return cls(files, incr, place)

    def follow(self, replid: ReplId) -> None:
        """Our stream goes on as `replid`. Raises OSError; the old name stays on disk then."""
        if replid != self.place.replid:
            place = Place(replid, self.place.offset, self.place.file, self.place.at)
            self._files.write_place(self._incr.seq, place)
            self.place = place


@final
class FoundPlace(Frozen):
    """What a start found: the last incr was loaded up to byte `end`, the cut `cut` of the stream `place.replid`."""

    place: Place
    end: int
    cut: int

    def fields(self, db: int) -> dict[bytes, bytes]:
        """As the fields of a snapshot say it; `db` is the database that the stream has selected."""
        return dict(StreamPlace(ReplId(self.place.replid), Offset(self.cut), db).fields())

    def tail(self, path: Path, most_bytes: int) -> bytes:
        """The last bytes of the stream that the file `path` still has, up to `cut`. Raises OSError."""
        start = max(self.place.at, self.end - most_bytes)
        with path.open("rb") as file:
            file.seek(start)
            return file.read(self.end - start)


def find_place(files: AofFiles, manifest: Manifest, end: int) -> FoundPlace | None:
    """The place at byte `end` of the last incr, if it is known exactly: None if somebody else wrote to these files."""
    incr = manifest.incrs[-1] if manifest.incrs else None
    if incr is None or files.names.place(incr.seq) not in {entry.name for entry in manifest.history}:
        return None
    place = files.read_place(incr)
    cut = place.cut_at(end) if place is not None else None
    return FoundPlace(place, end, cut) if place is not None and cut is not None else None
