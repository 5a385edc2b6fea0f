"""A disk in memory that loses power: the calls of `Files`, with what a real one may do between two fsyncs.

What is written is seen at once. On the disk is what was synced: the content of a file by a sync of the file, the names
of a folder by a sync of the folder, with all changes of names before them (file systems journal names in order). A
power cut keeps a prefix of the other changes of names, and of each file what was synced and a prefix of the rest.

It can be told to fail at the n-th call that changes something: the process dies there, or the disk is full.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pyrepl.daemon.mailbox.files import Stat

Change: TypeAlias = list[tuple[int, bytes, int | None]]
"""Names that change together: (folder, name, what it names now)."""
ROOT: Final = 1
OWNER: Final = 1000


class Died(BaseException):
    """The process ended at this call: nobody catches it."""


class ModelDisk:
    """One disk. Paths are absolute; `calls` counts those that change something, done or not."""

    def __init__(self) -> None:
        self.calls = 0
        self.before_call: Callable[[int, str, bytes], None] = lambda number, what, path: None
        self._folders: dict[int, dict[bytes, int]] = {ROOT: {}}
        self._on_disk: dict[int, dict[bytes, int]] = {ROOT: {}}
        self._data: dict[int, bytearray] = {}
        self._synced_bytes: dict[int, int] = {}
        self._mtime: dict[int, int] = {ROOT: 0}
        self._log: list[Change] = []
        self.foreign: set[bytes] = set()
        """Paths of what belongs to another one."""
        self._next = ROOT
        self._clock = 0

    # Calls of Files.

    def stat(self, path: bytes) -> Stat | None:
        try:
            inode = self._find(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        is_folder, owner = inode in self._folders, OWNER + (path in self.foreign)
        return Stat(0 if is_folder else len(self._data[inode]), inode, self._mtime[inode], is_folder, owner)

    def names(self, folder: bytes) -> list[bytes]:
        return sorted(self._folder(folder))

    def read(self, path: bytes, start: int = 0) -> bytes:
        return bytes(self._file(path)[start:])

    def read_part(self, path: bytes, start: int, most: int) -> bytes:
        return bytes(self._file(path)[start : start + most])

    def write_new(self, path: bytes, data: bytes) -> None:
        self._call("write_new", path)
        folder, name = self._place(path)
        if name in self._folders[folder]:
            raise _error(FileExistsError, path)
        inode = self._new_inode()
        self._data[inode], self._synced_bytes[inode] = bytearray(data), 0
        self._change([(folder, name, inode)])

    def append(self, path: bytes, data: bytes) -> None:
        inode = self._find(path)
        try:
            self._call("append", path)
        except OSError:
            # A full disk takes a part.
            self._data[inode] += data[: len(data) // 2]
            raise
        self._data[inode] += data
        self._touch(inode)

    def link(self, path: bytes, new: bytes) -> None:
        self._call("link", new)
        inode = self._find(path)
        folder, name = self._place(new)
        if name in self._folders[folder]:
            raise _error(FileExistsError, new)
        self._change([(folder, name, inode)])

    def rename(self, path: bytes, new: bytes) -> None:
        self._call("rename", new)
        inode = self._find(path)
        (folder, name), (to_folder, to_name) = self._place(path), self._place(new)
        there = self._folders[to_folder].get(to_name)
        if there is not None and self._folders.get(there):
            raise _error(OSError, new, errno.ENOTEMPTY)
        if new.startswith(path + b"/"):
            raise _error(OSError, new, errno.EINVAL)
        if (folder, name) != (to_folder, to_name) and there != inode:
            self._change([(folder, name, None), (to_folder, to_name, inode)])

    def unlink(self, path: bytes) -> None:
        self._call("unlink", path)
        if self._find(path) in self._folders:
            raise _error(IsADirectoryError, path)
        self._change([(*self._place(path), None)])

    def make_folder(self, path: bytes) -> None:
        self._call("make_folder", path)
        folder, name = self._place(path)
        if name in self._folders[folder]:
            raise _error(FileExistsError, path)
        inode = self._new_inode()
        self._folders[inode] = {}
        self._on_disk[inode] = {}
        self._change([(folder, name, inode)])

    def remove_folder(self, path: bytes) -> None:
        self._call("remove_folder", path)
        if self._folder(path):
            raise _error(OSError, path, errno.ENOTEMPTY)
        self._change([(*self._place(path), None)])

    def set_mtime(self, path: bytes, at_s: int) -> None:
        self._call("set_mtime", path)
        self._mtime[self._find(path)] = at_s * 1_000_000_000

    def sync(self, path: bytes) -> None:
        self._call("sync", path)
        inode = self._find(path)
        if inode not in self._folders:
            self._synced_bytes[inode] = len(self._data[inode])
            return
        touching = [at for at, change in enumerate(self._log) if any(folder == inode for folder, _, _ in change)]
        if touching:
            self._put_on_disk(touching[-1] + 1)

    def sync_all(self, paths: Sequence[bytes]) -> None:
        for path in paths:
            self.sync(path)

    # What tests do with it.

    def lose_power(self, chance: random.Random) -> None:
        """The machine is off, and on again."""
        self._put_on_disk(chance.randint(0, len(self._log)))
        self._log = []
        self._folders = {inode: dict(names) for inode, names in self._on_disk.items()}
        for inode, data in self._data.items():
            del data[chance.randint(self._synced_bytes[inode], len(data)) :]
            self._synced_bytes[inode] = len(data)

    def tree(self, path: bytes = b"/") -> dict[bytes, bytes]:
        """Every file below a folder, and its content."""
        found: dict[bytes, bytes] = {}
        for name in self.names(path):
            whole = path.rstrip(b"/") + b"/" + name
            if self._find(whole) in self._folders:
                found |= self.tree(whole)
            else:
                found[whole] = self.read(whole)
        return found

    def make_folders(self, path: bytes) -> None:
        """A folder and those above it, on disk."""
        at = b""
        for part in path.strip(b"/").split(b"/"):
            at += b"/" + part
            if self.stat(at) is None:
                self.make_folder(at)
        self._put_on_disk(len(self._log))

    def _call(self, what: str, path: bytes) -> None:
        self.calls += 1
        self.before_call(self.calls, what, path)

    def _put_on_disk(self, count: int) -> None:
        for change in self._log[:count]:
            _apply(self._on_disk, change)
        del self._log[:count]

    def _change(self, change: Change) -> None:
        self._log.append(change)
        _apply(self._folders, change)
        for folder, _, _ in change:
            self._touch(folder)

    def _touch(self, inode: int) -> None:
        self._clock += 1
        self._mtime[inode] = self._clock

    def _new_inode(self) -> int:
        self._next += 1
        self._touch(self._next)
        return self._next

    def _find(self, path: bytes) -> int:
        inode = ROOT
        for part in path.split(b"/"):
            if part:
                if inode not in self._folders:
                    raise _error(NotADirectoryError, path)
                if part not in self._folders[inode]:
                    raise _error(FileNotFoundError, path)
                inode = self._folders[inode][part]
        return inode

    def _folder(self, path: bytes) -> dict[bytes, int]:
        inode = self._find(path)
        if inode not in self._folders:
            raise _error(NotADirectoryError, path)
        return self._folders[inode]

    def _file(self, path: bytes) -> bytearray:
        inode = self._find(path)
        if inode in self._folders:
            raise _error(IsADirectoryError, path)
        return self._data[inode]

    def _place(self, path: bytes) -> tuple[int, bytes]:
        above, _, name = path.rpartition(b"/")
        folder = self._find(above)
        if folder not in self._folders:
            raise _error(NotADirectoryError, path)
        return folder, name


def _apply(folders: dict[int, dict[bytes, int]], change: Change) -> None:
    for folder, name, inode in change:
        if inode is None:
            folders[folder].pop(name, None)
        else:
            folders[folder][name] = inode


def _error(kind: type[OSError], path: bytes, number: int = 0) -> OSError:
    code = number or {
        FileExistsError: errno.EEXIST,
        FileNotFoundError: errno.ENOENT,
        NotADirectoryError: errno.ENOTDIR,
        IsADirectoryError: errno.EISDIR,
    }.get(kind, errno.EIO)
    return OSError(code, os.strerror(code), path)


def die_at(number: int) -> Callable[[int, str, bytes], None]:
    """For `before_call`: the process dies before it does this call."""

    def check(call: int, what: str, path: bytes) -> None:
        if call >= number:
            raise Died(f"call {call}: {what} {path!r}")

    return check


def full_from(number: int) -> Callable[[int, str, bytes], None]:
    """For `before_call`: from this call on, what needs room finds none."""

    def check(call: int, what: str, path: bytes) -> None:
        if call >= number and what in ("write_new", "append", "link", "make_folder"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    return check
