"""Writes a new base of the append-only file, in a child process or here; `keeper` decides when.

The base is a snapshot file like dump.rdb, marked as the beginning of an append-only file; if aof-use-rdb-preamble is
no, it is a file of commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.disk.snapshot import Outcome, Snapshot, ToFile, save_to_file
from pyrepl.keyspace.as_commands import CommandsJob, Job

_MARK: Final = (b"aof-base", b"1")


@final
class AofRewrite:
    """The child that writes a base. Invariant: `child` is set exactly while a child process exists."""

    def __init__(self, saver: Saver, done: Callable[[Outcome], None]) -> None:
        self._saver = saver
        self._done = done
        self.child: Snapshot | None = None

    def start(self, path: Path, *, preamble: bool = True) -> int:
        """Fork a child that writes the base at `path`, and return its pid. `preamble`: write a snapshot, not commands.
        `done` is called when the child has ended. Raises OSError."""
        assert self.child is None
        child = Snapshot(lambda keys: None, self._ended, self._saver.niceness)
        child.start(self._job(preamble), ToFile(path))
        self.child = child
        return child.pid

    @property
    def fork_s(self) -> float:
        """How many seconds the fork of the child took that runs; 0 without one."""
        return self.child.fork_us / 1e6 if self.child is not None else 0.0

    def stop(self, *, reap: bool = False) -> None:
        """Kill the child, if there is one. `done` is called later; with `reap`, before this returns."""
        if self.child is None:
            return
        if reap:
            self.child.kill_and_reap()
        else:
            self.child.kill("it is not wanted any more")

    def write_here(self, path: Path, *, preamble: bool = True) -> None:
        """Write the base in this process. Raises OSError and CannotHold."""
        save_to_file(self._job(preamble), path, lambda keys: None)

    def _job(self, preamble: bool) -> Job:
        """The work of the child. The aux fields leave out our place in the stream, as Redis does: the place file has
        it."""
        job = self._saver.job()
        if not preamble:
            return CommandsJob(job.keyspace, job.key_save_delay_us, self._saver.idmp_limits, job.functions)
        kept = tuple(field for field in job.aux if not field[0].startswith(b"repl-") and field[0] != b"aof-base")
        return replace(job, aux=(*kept, _MARK))

    def _ended(self, outcome: Outcome) -> None:
        self.child = None
        self._done(outcome)
