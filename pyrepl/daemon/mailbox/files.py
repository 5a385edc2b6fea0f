"""Calls to the file system, as the Maildir store makes them: one door, so that a test may stand in for the disk.

Paths are bytes, since names in a Maildir are. No call follows a link at the end of a path: mail folders are written by
others too. Everything raises OSError.
"""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

from pyrepl.temporary import PRIVATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_READ_BYTES: Final = 256 * 1024 * 1024
"""Of a list or a folder's file; a larger one is not read."""
MOST_SYNCS: Final = 16
"""Files that are synced at the same time."""


class Stat(NamedTuple):
    """What is told of a path; a new inode at one path is another file."""

    size: int
    inode: int
    mtime_ns: int
    is_folder: bool
    owner: int


class Files(Protocol):
    """The calls. What they change lasts only after `sync` of the file, and of the folder for its names."""

    def stat(self, path: bytes) -> Stat | None:
        """None if there is nothing."""

    def names(self, folder: bytes) -> list[bytes]:
        """All names in it, in any order."""

    def read(self, path: bytes, start: int = 0) -> bytes:
        """From byte `start` on."""

    def read_part(self, path: bytes, start: int, most: int) -> bytes:
        """At most `most` bytes from byte `start` on."""

    def write_new(self, path: bytes, data: bytes) -> None:
        """A new file, whole or none; FileExistsError if something is there."""

    def append(self, path: bytes, data: bytes) -> None:
        """In one write; what a full disk took of less than all is taken back."""

    def link(self, path: bytes, new: bytes) -> None: ...

    def rename(self, path: bytes, new: bytes) -> None:
        """A file there is replaced."""

    def unlink(self, path: bytes) -> None: ...

    def make_folder(self, path: bytes) -> None: ...

    def remove_folder(self, path: bytes) -> None:
        """An empty one."""

    def set_mtime(self, path: bytes, at_s: int) -> None:
        """Unix seconds."""

    def sync(self, path: bytes) -> None:
        """What a file holds, or which names a folder has, is on disk when this returns."""

    def sync_all(self, paths: Sequence[bytes]) -> None:
        """As `sync` of each, in any order."""


@final
class DiskFiles:
    """The calls to the system. May be used by several threads."""

    def __init__(self) -> None:
        self._syncing: Final = ThreadPoolExecutor(MOST_SYNCS, thread_name_prefix="mailbox-sync")

    def stat(self, path: bytes) -> Stat | None:
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return None
        return Stat(found.st_size, found.st_ino, found.st_mtime_ns, stat.S_ISDIR(found.st_mode), found.st_uid)

    def names(self, folder: bytes) -> list[bytes]:
        return os.listdir(folder)

    def read(self, path: bytes, start: int = 0) -> bytes:
        with _opened(path, os.O_RDONLY) as fd:
            left = os.fstat(fd).st_size - start
            if left > MOST_READ_BYTES:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
            pieces: list[bytes] = []
            while piece := os.pread(fd, max(left, 1), start):
                pieces.append(piece)
                start += len(piece)
                left -= len(piece)
                if left <= 0:
                    break
        return b"".join(pieces)

    def read_part(self, path: bytes, start: int, most: int) -> bytes:
        with _opened(path, os.O_RDONLY) as fd:
            return os.pread(fd, most, start)

    def write_new(self, path: bytes, data: bytes) -> None:
        with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as fd:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view) :]
            except OSError:
                # Half a file that a full disk left would be taken for a whole one, and nobody else knows of it.
                with suppress(OSError):
                    os.unlink(path)
                raise

    def append(self, path: bytes, data: bytes) -> None:
        with _opened(path, os.O_WRONLY | os.O_APPEND) as fd:
            size = os.fstat(fd).st_size
            try:
                if os.write(fd, data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            except OSError:
                # Others would go on behind half a line. Whoever appends is alone with the file.
                with suppress(OSError):
                    os.ftruncate(fd, size)
                raise

    def link(self, path: bytes, new: bytes) -> None:
        os.link(path, new, follow_symlinks=False)

    def rename(self, path: bytes, new: bytes) -> None:
        os.rename(path, new)

    def unlink(self, path: bytes) -> None:
        os.unlink(path)

    def make_folder(self, path: bytes) -> None:
        os.mkdir(path, 0o700)

    def remove_folder(self, path: bytes) -> None:
        os.rmdir(path)

    def set_mtime(self, path: bytes, at_s: int) -> None:
        os.utime(path, (at_s, at_s), follow_symlinks=False)

    def sync(self, path: bytes) -> None:
        with _opened(path, os.O_RDONLY) as fd:
            os.fsync(fd)

    def sync_all(self, paths: Sequence[bytes]) -> None:
        """At the same time, so that the file system's journal takes many of them in one go: one after the other, each
        waits for a round of its own."""
        if len(paths) > 1:
            for _ in self._syncing.map(self.sync, paths):
                pass
        else:
            for path in paths:
                self.sync(path)


@contextmanager
def _opened(path: bytes, flags: int) -> Iterator[int]:
    # Nobody waits for the other end of a pipe that lies among the mail.
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, PRIVATE)
    try:
        yield fd
    finally:
        os.close(fd)


def replace(files: Files, path: bytes, data: bytes, temporary: bytes) -> None:
    """Give a file new content, whole or not at all: written beside it, on disk, renamed over. What a dead writer left
    at `temporary` is removed."""
    with suppress(FileNotFoundError):
        files.unlink(temporary)
    files.write_new(temporary, data)
    install(files, path, temporary)


def install(files: Files, path: bytes, temporary: bytes) -> None:
    """Put a file that is written in the place of another; on disk when this returns.

    The new file is from a later second than the one before: Dovecot reads its lists anew when their seconds differ.
    """
    before, made = files.stat(path), files.stat(temporary)
    if before is not None and made is not None and _second(made) <= _second(before):
        files.set_mtime(temporary, _second(before) + 1)
    files.sync(temporary)
    files.rename(temporary, path)
    files.sync(folder_of(path))


def exchange(files: Files, path: bytes, source: bytes, temporary: bytes) -> None:
    """Let the name `path` mean the file `source`, of the same disk, from one moment to the next; `source` keeps its own
    name. On disk when the folder of `path` is synced. What a dead writer left at `temporary` is removed."""
    with suppress(FileNotFoundError):
        files.unlink(temporary)
    files.link(source, temporary)
    files.rename(temporary, path)
    # Two names of one file stay both.
    with suppress(FileNotFoundError):
        files.unlink(temporary)


def _second(found: Stat) -> int:
    return found.mtime_ns // 1_000_000_000


def folder_of(path: bytes) -> bytes:
    """The folder that a path lies in."""
    return path.rpartition(b"/")[0]


def remove_tree(files: Files, path: bytes) -> None:
    """A folder and all that it holds; nothing is followed out of it."""
    found = files.stat(path)
    if found is None:
        return
    if not found.is_folder:
        files.unlink(path)
        return
    for name in files.names(path):
        remove_tree(files, path + b"/" + name)
    files.remove_folder(path)
