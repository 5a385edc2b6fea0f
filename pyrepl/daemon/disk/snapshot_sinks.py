"""Where a snapshot's bytes go: a file, or the descriptors that lead to replicas. Used by the child, and by SAVE in the
node itself.

Such a descriptor is non-blocking, and what is written to it reaches one replica as it is: the socket of a plain wire,
which the parent does not touch meanwhile. The writing end of a pipe does as well, which the parent empties into a wire:
the way for a wire whose keys the child must not use (TLS).
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Protocol, final

from pyrepl.daemon.disk.shared_seconds import SharedSeconds
from pyrepl.daemon.wires.descriptor_io import send_from
from pyrepl.replication.transfer import encode_mark_header
from pyrepl.temporary import open_new

_POLL_MS: Final = 1000
TIMED_OUT: Final = "timeout"
"""Why a descriptor is dropped that takes nothing."""


class Sink(Protocol):
    """Takes blocks in order; `finish` makes what was written valid, and nothing is valid without it."""

    def write(self, block: bytes) -> None: ...

    def finish(self) -> None: ...


class NobodyWaits(Exception):
    """Every replica that this snapshot was for is gone."""


@final
class FileSink:
    """A file that appears under its name only when complete: a temporary one beside it, fsynced, then renamed."""

    def __init__(self, path: Path, sync: bool = True) -> None:
        """Raises OSError when the temporary file cannot be made."""
        # As text: what a child does with it as a Path makes 100 KB of memory its own.
        self._path = os.fspath(path)
        self._folder = os.path.dirname(self._path) or "."
        self._sync = sync
        self._temporary = os.path.join(self._folder, f"temp-{os.getpid()}.rdb")
        self._fd = open_new(self._temporary)

    def write(self, block: bytes) -> None:
        view = memoryview(block)
        while view:
            view = view[os.write(self._fd, view) :]

    def finish(self) -> None:
        if self._sync:
            os.fsync(self._fd)
        os.close(self._fd)
        os.rename(self._temporary, self._path)
        if self._sync:
            _sync_directory(self._folder)

    def abandon(self) -> None:
        """Leave no trace; the file of that name, if there was one, stays as it was."""
        with suppress(OSError):
            os.close(self._fd)
        with suppress(FileNotFoundError):
            os.unlink(self._temporary)


class _Waiting(NamedTuple):
    """What a descriptor has not taken yet of the piece that is being written."""

    piece: bytes
    start: int


@final
class ReplicasSink:
    """The descriptors of some replicas, all fed the same bytes between `$EOF:<mark>` and the mark; each has a head of
    its own.

    One that fails, or takes no byte for `timeout`, is dropped and told to `on_lost(fd, why)`; the others go on.
    The slowest sets the pace, as in Redis: nothing is buffered here. The parent may change `timeout` meanwhile.
    """

    def __init__(
        self,
        heads: dict[int, bytes],
        mark: bytes,
        timeout: SharedSeconds,
        on_lost: Callable[[int, str], None],
        now: Callable[[], float],
    ) -> None:
        self._fds: list[int] = list(heads)
        self._mark: Final = mark
        self._timeout = timeout
        self._on_lost = on_lost
        self._now = now
        begin = encode_mark_header(mark)
        self._write_each({fd: _Waiting(head + begin, 0) for fd, head in heads.items()})

    def write(self, block: bytes) -> None:
        """Raises NobodyWaits once no descriptor is left."""
        whole = _Waiting(block, 0)
        self._write_each(dict.fromkeys(self._fds, whole))

    def finish(self) -> None:
        self.write(self._mark)

    def _write_each(self, waiting: dict[int, _Waiting]) -> None:
        for fd in list(waiting):
            self._push(fd, waiting)
        if waiting:
            self._push_all(waiting)
        if not self._fds:
            raise NobodyWaits

    def _push_all(self, waiting: dict[int, _Waiting]) -> None:
        poll = select.poll()
        for fd in waiting:
            poll.register(fd, select.POLLOUT)
        moved_at = dict.fromkeys(waiting, self._now())
        while waiting:
            for fd, _ in poll.poll(_POLL_MS):
                if self._push(fd, waiting):
                    moved_at[fd] = self._now()
                if fd not in waiting:
                    poll.unregister(fd)
            for fd in [fd for fd in waiting if self._now() - moved_at[fd] > self._timeout.seconds]:
                poll.unregister(fd)
                self._drop(fd, waiting, TIMED_OUT)

    def _push(self, fd: int, waiting: dict[int, _Waiting]) -> bool:
        """Write what the descriptor takes now; True if it took anything."""
        piece, start = waiting[fd]
        try:
            size = send_from(fd, piece, start)
        except OSError as error:
            self._drop(fd, waiting, error.strerror or "write failed")
            return False
        start += size
        if start == len(piece):
            del waiting[fd]
        else:
            waiting[fd] = _Waiting(piece, start)
        return size > 0

    def _drop(self, fd: int, waiting: dict[int, _Waiting], why: str) -> None:
        waiting.pop(fd, None)
        self._fds = [other for other in self._fds if other != fd]
        self._on_lost(fd, why)


@final
class PacedSink:
    """Another sink, given no more than so many bytes per second since the first one."""

    def __init__(
        self, sink: Sink, max_bytes_per_s: int, now: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self._sink = sink
        self._max_bytes_per_s = max_bytes_per_s
        self._now = now
        self._sleep = sleep
        self._started_at = now()
        self._bytes = 0

    def write(self, block: bytes) -> None:
        """In pieces of a tenth of a second, so that the pace is even."""
        piece_bytes = max(1, self._max_bytes_per_s // 10)
        for start in range(0, len(block), piece_bytes):
            piece = block[start : start + piece_bytes]
            self._sink.write(piece)
            self._bytes += len(piece)
            early_s = self._bytes / self._max_bytes_per_s - (self._now() - self._started_at)
            if early_s > 0:
                self._sleep(early_s)

    def finish(self) -> None:
        self._sink.finish()


def _sync_directory(path: str) -> None:
    """Make a rename durable; some file systems refuse to sync a directory, which is no fault of ours."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
