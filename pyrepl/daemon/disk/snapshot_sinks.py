"""The sinks that take a snapshot's bytes: a file, or the descriptors that lead to replicas. `snapshot` uses them in the
child, and for SAVE in the node itself.

A descriptor that leads to a replica is non-blocking, and the bytes written to it reach the replica unchanged. It may be
the socket of a plain wire, which the parent does not touch meanwhile. It may also be the writing end of a pipe that the
parent empties into a wire: this is the way for a wire whose keys the child must not use (TLS).
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
"""The reason given for a descriptor that took no byte for too long."""


class Sink(Protocol):
    """Takes the blocks of a snapshot in order. Without `finish` the written bytes are no valid snapshot."""

    def write(self, block: bytes) -> None:
        """Take the next block; blocks until it is written. Raises OSError."""

    def finish(self) -> None:
        """All blocks were written: complete the snapshot."""


class NobodyWaits(Exception):
    """Every replica that this snapshot was for is gone."""


@final
class FileSink:
    """A file that appears under its name only when it is complete: the bytes go to a temporary file beside it, which is
    fsynced and then renamed. Every method raises OSError but `abandon`."""

    def __init__(self, path: Path, sync: bool = True) -> None:
        """Raises OSError when the temporary file cannot be made."""
        # As text: work on a Path would copy 100 KB of the memory that a child shares with its parent.
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
        """Remove the temporary file. A file that had the name before stays unchanged."""
        with suppress(OSError):
            os.close(self._fd)
        with suppress(FileNotFoundError):
            os.unlink(self._temporary)


class _Waiting(NamedTuple):
    """The part of a piece that a descriptor has not taken yet: `piece` from `start` on."""

    piece: bytes
    start: int


@final
class ReplicasSink:
    """The descriptors of several replicas: each gets a head of its own, then all get the same bytes between
    `$EOF:<mark>` and the mark.

    A descriptor that fails, or takes no byte for `timeout`, is dropped, and `on_lost(fd, why)` is called; the others go
    on. The slowest replica sets the pace, as in Redis, because nothing is buffered here. The parent may change
    `timeout` meanwhile.
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
        """Write a block to all descriptors. Raises NobodyWaits once none of them is left."""
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
        """Write what the descriptor takes now. Returns whether it took anything."""
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
    """Passes blocks on to another sink, not faster than `max_bytes_per_s`, counted from the beginning."""

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
        """Pass a block on in pieces that take a tenth of a second each, so that the pace is even."""
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
