"""Reads logs in processes of this machine. They begin at once, while Spark needs seconds to start.

There is a process for each processor; each reads one range of a file after the other (reader.py), so that a slow one
does not hold up the others. When there is little to read, this process reads it itself. On a cluster Spark's tasks read
(pyrepl.metrics.ingest.by_tasks).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Final, final

from pyrepl.analysis.failures import MAKE_ROOM, ReadError
from pyrepl.metrics.part import Split, Told, WriteError, read_split

HERE_BYTES: Final = 64 << 20
"""Up to so many bytes this process reads alone: it has read them before other processes would have begun."""
_PACKED: Final = 10
"""How many times larger the content of a .gz file is taken to be than the file."""


def processes(master: str) -> int:
    """How many processors `master` names, a local one: `local`, `local[N]`, `local[*]`."""
    named = re.match(r"local\[(\d+)", master)
    if named is not None:
        return max(1, int(named[1]))
    if master == "local":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@final
class Readers:
    """Reads ranges of logs in up to `count` processes, which start when there is something to read.

    `tell` is called with (bytes read, bytes in all) after each range. When the `with` ends, processes that still read
    are killed.
    """

    def __init__(self, count: int, tell: Callable[[int, int], None] = lambda done, total: None) -> None:
        self._count = count
        self._tell = tell
        self._running: set[subprocess.Popen[str]] = set()
        self._is_over = False

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_over = True
        for process in list(self._running):
            process.kill()

    def __call__(self, splits: Sequence[Split], tables: Path, zone: str) -> list[Told]:
        """Read all ranges into `tables`; what became of each, in no order. `zone` is that of text logs. Raises
        ReadError."""
        total = sum(map(size_of, splits))
        if total <= HERE_BYTES:
            return [self._read_here(split, tables, zone) for split in splits]
        work = _Work(sorted(splits, key=size_of, reverse=True), total, self._tell)
        count = min(self._count, len(splits))
        with ThreadPoolExecutor(count, "metrics-reader") as pool:
            for one in [pool.submit(self._feed, work, tables, zone) for _ in range(count)]:
                one.result()
        return work.told

    def _read_here(self, split: Split, tables: Path, zone: str) -> Told:
        try:
            return read_split(split, str(tables), zone)
        except WriteError as error:
            raise _cannot_write(str(error)) from None

    def _feed(self, work: _Work, tables: Path, zone: str) -> None:
        """Hand one process a range after the other until there are none."""
        with self._started(tables, zone) as process:
            self._running.add(process)
            try:
                while not self._is_over and (split := work.next()) is not None:
                    work.done(split, _read(process, split))
            except BaseException:
                work.give_up()
                process.kill()
                with contextlib.suppress(OSError):
                    # What it was not handed any more cannot be handed to it now.
                    assert process.stdin is not None
                    process.stdin.close()
                raise
            finally:
                self._running.discard(process)

    def _started(self, tables: Path, zone: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pyrepl.analysis.reader", str(tables), zone]
        # One process is one processor's: threads of its own would be in the others' way.
        environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


@final
class _Work:
    """The ranges that no process has taken yet, and what became of the others."""

    def __init__(self, splits: Sequence[Split], total: int, tell: Callable[[int, int], None]) -> None:
        self._waiting: SimpleQueue[Split] = SimpleQueue()
        for split in splits:
            self._waiting.put(split)
        self._total = total
        self._tell = tell
        self._done = 0
        self.told: list[Told] = []

    def next(self) -> Split | None:
        """Another range, or None if there is none left."""
        try:
            return self._waiting.get_nowait()
        except Empty:
            return None

    def done(self, split: Split, told: Told) -> None:
        """A range was read."""
        self.told.append(told)
        self._done += size_of(split)
        self._tell(self._done, self._total)

    def give_up(self) -> None:
        """Nobody is to begin with another one."""
        while self.next() is not None:
            pass


def size_of(split: Split) -> int:
    """How many bytes of log a range holds; a guess for a packed file, 0 for one that cannot be seen."""
    if split.end >= 0:
        return split.end - split.start
    try:
        return os.stat(split.path).st_size * _PACKED
    except OSError:
        return 0


def _read(process: subprocess.Popen[str], split: Split) -> Told:
    assert process.stdin is not None and process.stdout is not None
    answer = ""
    try:
        process.stdin.write(json.dumps(split) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    except BrokenPipeError:
        pass
    if not answer.endswith("\n"):
        raise ReadError(_why_gone(process.wait(), split))
    found = json.loads(answer)
    if "cannot_write" in found:
        raise _cannot_write(found["cannot_write"])
    return Told(**found)


def _cannot_write(why: str) -> ReadError:
    return ReadError(f"cannot write {why}: {MAKE_ROOM}")


def _why_gone(status: int, split: Split) -> str:
    how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    reason = ", perhaps for want of memory: see the kernel's log" if status == -signal.SIGKILL else ""
    return f"the process that read {split.path} has ended ({how}{reason}). What was read before is kept; run it again"
