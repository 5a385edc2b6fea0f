"""Writes a stream into the files of a folder (`pyrepl tail --to DIR`). Each row is in exactly one file, even when the
process is killed at any moment.

A file is written under a hidden name, flushed to the disk, and renamed; the new name says which tokens it holds
(names.py). At a start, files that were not renamed are dropped, and the node is asked for what follows the last token.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self, final

from pyrepl.capture.formats import Format, open_format
from pyrepl.capture.matching import Matching
from pyrepl.capture.names import (
    FolderError,
    finished,
    finished_name,
    is_part,
    lock_name,
    part_name,
    place_of,
    token_name,
)
from pyrepl.capture.records import Record, columns_of, record_of
from pyrepl.changes.batches import Batch
from pyrepl.changes.client import Subscription
from pyrepl.changes.place import Place
from pyrepl.changes.token_file import TokenFile, fsync_folder
from pyrepl.temporary import create, open_kept


class Rolling(NamedTuple):
    """When a file is finished and the next begins, whichever comes first."""

    size_bytes: int
    after_s: float


@final
class Folder:
    """The captured files of one stream. Locked while open; one process writes at a time.

    Invariant: `end` is the token that the next file begins behind; None until it is known.
    """

    def __init__(self, path: Path, stream: str, suffix: str) -> None:
        """Make the folder if need be, lock it, drop what was not finished. Raises OSError, FolderError, ValueError."""
        path.mkdir(parents=True, exist_ok=True)
        self.path: Final = path
        self.stream: Final = stream
        self.suffix: Final = suffix
        self._lock: Final = _locked(path / lock_name(stream))
        try:
            self._tokens: Final = TokenFile(path / token_name(stream))
            names = os.listdir(path)
            for name in names:
                if is_part(name, stream):
                    (path / name).unlink()
            spans = finished(names, stream)
            saved = self._tokens.load()
            self.place = place_of(spans, None if saved is None else Place.parse(saved))
            self.end = spans[-1].last if spans else self.place.token if self.place is not None else None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Unlock the folder, so that others may write there."""
        os.close(self._lock)

    def part(self) -> Path:
        """The hidden path that the next file is written to."""
        assert self.end is not None
        return self.path / part_name(self.stream, self.end, self.suffix)

    def begin(self, place: Place) -> None:
        """Note where the rows of a new folder begin; a folder that has files keeps its place. Raises OSError."""
        if self.place is None and not place.is_now:
            self.moved(place)

    def finish(self, part: Path, end: Place) -> Path:
        """Rename a file that is whole and on the disk: from now on it counts. Returns its new path. Raises OSError."""
        assert self.end is not None and end.token is not None
        name = self.path / finished_name(self.stream, self.end, end, self.suffix)
        part.rename(name)
        fsync_folder(self.path)
        self.end = end.token
        self.place = end
        return name

    def moved(self, place: Place) -> None:
        """Note that no rows are to be written up to this place. Raises OSError."""
        assert place.token is not None
        self._tokens.save(str(place))
        self.place = place
        if self.end is None:
            self.end = place.token


@final
class Capture:
    """Writes the batches of a subscription into the files of a folder.

    Invariants: `_file` and `_format` are set together, while rows wait to be finished; `_place` is behind all of them.
    """

    def __init__(self, folder: Folder, rolling: Rolling, matching: Matching) -> None:
        self._folder: Final = folder
        self._rolling: Final = rolling
        self._matching: Final = matching
        self._columns: Final = columns_of(folder.stream)
        self._file: BinaryIO | None = None
        self._format: Format | None = None
        self._place = folder.place
        self._due_at = 0.0
        self.rows = 0
        self.files = 0

    async def run(self, changes: Subscription) -> None:
        """Write until cancelled, or until the subscription or the disk raises an error. Rows taken are finished
        then."""
        try:
            while True:
                try:
                    async with asyncio.timeout(self._wait_s()):
                        batch = await changes.next_batch()
                except TimeoutError:
                    self.finish()
                else:
                    self.take(batch)
        finally:
            self.finish()

    def take(self, batch: Batch) -> None:
        """Write those rows of a token that match. Raises OSError."""
        rows = [row for row in batch.each() if self._matching.takes(row)]
        if rows:
            self._open(batch.token)
            self._write([record_of(row, self._columns) for row in rows], batch.size_bytes)
        elif self._place is None:
            self._folder.moved(Place(batch.token, batch.history))
        if self._due_at == 0.0:
            self._due_at = time.monotonic() + self._rolling.after_s
        self._place = Place(batch.token, batch.history)
        is_large = self._format is not None and self._format.size_bytes() >= self._rolling.size_bytes
        if is_large or time.monotonic() >= self._due_at:
            self.finish()

    def finish(self) -> None:
        """Finish the file that is being written, so that its rows survive us. After an OSError nothing more may be
        taken."""
        self._due_at = 0.0
        if self._file is None or self._format is None:
            if self._place is not None and self._place != self._folder.place:
                self._folder.moved(self._place)
            return
        file, self._file = self._file, None
        form, self._format = self._format, None
        with file:
            form.finish()
            os.fsync(file.fileno())
        assert self._place is not None
        self._folder.finish(self._folder.part(), self._place)
        self.files += 1

    def _write(self, records: list[Record], size_bytes: int) -> None:
        assert self._file is not None and self._format is not None
        try:
            self._format.write(records, size_bytes)
        except BaseException:
            # Half of a token may be in it: it must never be finished.
            self._file.close()
            self._file = self._format = None
            self._place = self._folder.place
            raise
        self.rows += len(records)

    def _open(self, token: int) -> None:
        if self._file is None:
            if self._folder.end is None:
                # No position came before the first row: no token to come back to yet, only a name for the file.
                self._folder.end = token - 1
            self._file = create(self._folder.part())
            self._format = open_format(self._folder.suffix, self._columns, self._file)

    def _wait_s(self) -> float | None:
        return None if self._due_at == 0.0 else max(0.0, self._due_at - time.monotonic())


def _locked(path: Path) -> int:
    """A descriptor that holds the lock until it is closed. Raises OSError, FolderError."""
    descriptor = open_kept(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise FolderError(f"{path.parent}: another process captures this stream there already") from None
    return descriptor
