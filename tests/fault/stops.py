"""A node that dies by SIGKILL at its N-th step on files, or stands still there by SIGSTOP: run as a program, this file
is `pyrepl` with that added.

Steps are what changes files in the node's folder: opening for writing, writing (one step before, and one with half of
the bytes written), fsync, rename, link, unlink, truncate, mkdir; of the node itself, its threads and its children
together. Death comes before the step, so that the step before it has happened: with N from 1 on every state of the
folder comes up. The code under test knows nothing of it: the functions of `os` and `io` are replaced before it is
imported.

What is to happen stands in a small file that the test and the node both map into memory (`Stop`). The steps are counted
by the lines of another one, all of one length, to which everybody appends: where a line came to stand is its number, so
that the node's threads and children need no lock to count together.
"""

from __future__ import annotations

import io
import mmap
import os
import runpy
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
_LAYOUT: Final = struct.Struct("=???I")
_LINE_BYTES: Final = 120
WRITES: Final = os.O_WRONLY | os.O_RDWR


class Stop:
    """When to die: shared by the test and all processes of the node."""

    def __init__(self, path: Path) -> None:
        """`path` need not exist."""
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(_LAYOUT.size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _LAYOUT.size)

    def arm(self, at: int, *, child_only: bool = False, freeze: bool = False) -> None:
        """Count from now on, and die at step `at` (from 1 on; 0: never). `child_only`: count the steps of the node's
        children alone, and kill the child alone. `freeze`: stand still instead. Once for each Stop, unless it freezes:
        then again, with the steps counted before."""
        self._map[0] = False
        _LAYOUT.pack_into(self._map, 0, False, child_only, freeze, at)
        self._map[0] = True

    @property
    def steps(self) -> int:
        """Counted so far."""
        return len(self.trace)

    @property
    def trace(self) -> list[str]:
        """What the steps were, in order; the last one did not happen if somebody died."""
        log = trace_path(self.path)
        return [line.rstrip() for line in log.read_text().splitlines()] if log.exists() else []

    def program(self) -> list[str]:
        """What to start instead of `pyrepl`."""
        return [sys.executable, str(Path(__file__).resolve()), str(self.path)]


def trace_path(stop: Path) -> Path:
    """The file of the steps that belongs to this Stop's."""
    return stop.with_suffix(".trace")


class _Steps:
    """The node's side: counts, and dies."""

    def __init__(self, path: Path) -> None:
        self._map = Stop(path)._map
        self._node = os.getpid()
        self._trace = trace_path(path)
        self._calls = os.open, os.write, os.close
        self.files: dict[int, str] = {}
        """Descriptors open for writing, and what they write."""

    def is_due(self, what: str) -> bool:
        """One more step; is it the last?"""
        armed, child_only, _, at = _LAYOUT.unpack_from(self._map)
        in_child = os.getpid() != self._node
        if not armed or (child_only and not in_child):
            return False
        return self._note(f"{'child' if in_child else 'node'}: {what}") == int(at)

    def _note(self, step: str) -> int:
        """Its number, from 1 on. The file is opened each time, as a child closes what it does not know."""
        open_, write, close = self._calls
        line = step.encode("utf-8", "replace")[: _LINE_BYTES - 1]
        fd = open_(self._trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        write(fd, line.ljust(_LINE_BYTES - 1) + b"\n")
        number = os.lseek(fd, 0, os.SEEK_CUR) // _LINE_BYTES
        close(fd)
        return number

    def die(self) -> None:
        """Or stand still: then it returns when the node goes on."""
        _, child_only, freeze, _ = _LAYOUT.unpack_from(self._map)
        if freeze:
            os.kill(self._node, signal.SIGSTOP)
            return
        if not child_only:
            os.kill(self._node, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def step(self, what: str) -> None:
        if self.is_due(what):
            self.die()

    def write(self, what: str, data: Any, write: Callable[[Any], int]) -> int:
        self.step(f"write {what}")
        if len(data) > 1 and self.is_due(f"write the second half of {what}"):
            half = write(memoryview(data)[: len(data) // 2])
            self.die()
            return half + write(memoryview(data)[half:])
        return write(data)


def _name(path: Any) -> str:
    return os.path.basename(os.fsdecode(path))


def install(steps: _Steps) -> None:
    """Put the steps in front of the functions that change files."""
    real_open, real_write, real_close, real_io_open = os.open, os.write, os.close, io.open

    class CountedFile(io.FileIO):
        """A file of `open(..., "wb")`: what Python's buffer hands on."""

        def write(self, data: Any, /) -> int:
            return steps.write(_name(self.name) if isinstance(self.name, str) else "a file", data, super().write)

    def counted_open(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if flags & WRITES:
            steps.step(f"open {_name(path)}")
        fd = real_open(path, flags, mode, **more)
        if flags & WRITES:
            steps.files[fd] = _name(path)
        return fd

    def counted_close(fd: int) -> None:
        steps.files.pop(fd, None)
        real_close(fd)

    def counted_write(fd: int, data: Any) -> int:
        if fd in steps.files:
            return steps.write(steps.files[fd], data, lambda part: real_write(fd, part))
        return real_write(fd, data)

    def counted_io_open(file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        if not set(mode) & set("wax+"):
            return real_io_open(file, mode, *args, **more)
        if isinstance(file, int):
            return io.BufferedWriter(CountedFile(file, mode))
        steps.step(f"open {_name(file)}")
        if mode in ("wb", "ab"):
            return io.BufferedWriter(CountedFile(os.fspath(file), mode))
        return real_io_open(file, mode, *args, **more)

    def of_descriptor(name: str) -> None:
        real = getattr(os, name)

        def counted(fd: int, *args: Any) -> Any:
            steps.step(f"{name} {steps.files.get(fd, 'a folder or file')}")
            return real(fd, *args)

        setattr(os, name, counted)

    def of_path(name: str) -> None:
        real = getattr(os, name)

        def counted(path: Any, *args: Any, **more: Any) -> Any:
            if name != "unlink" or os.path.lexists(path):
                rest = " ".join(_name(arg) for arg in args if isinstance(arg, str | os.PathLike))
                steps.step(f"{name} {_name(path)} {rest}".strip())
            return real(path, *args, **more)

        setattr(os, name, counted)

    for name in ("fsync", "fdatasync", "ftruncate"):
        of_descriptor(name)
    for name in ("rename", "replace", "link", "unlink", "truncate", "mkdir"):
        of_path(name)
    replacements = {"open": counted_open, "write": counted_write, "close": counted_close}
    for name, replacement in replacements.items():
        setattr(os, name, replacement)
    io.open = counted_io_open
    __builtins__.open = counted_io_open


def main() -> None:
    install(_Steps(Path(sys.argv.pop(1))))
    sys.path[0] = str(ROOT)
    runpy.run_module("pyrepl_cli.main", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
