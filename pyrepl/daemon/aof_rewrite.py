"""The child that writes a new base: a snapshot file like dump.rdb, marked as the beginning of an append-only file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.saver import Saver
from pyrepl.daemon.snapshot import Outcome, Snapshot, ToFile, save_to_file
from pyrepl.keyspace.snapshot import SnapshotJob

_MARK: Final = (b"aof-base", b"1")


@final
class AofRewrite:
    """Invariant: `child` is set exactly while a child process exists."""

    def __init__(self, saver: Saver, done: Callable[[Outcome], None]) -> None:
        self._saver = saver
        self._done = done
        self.child: Snapshot | None = None

    def start(self, path: Path) -> int:
        """Fork; the child's pid. Raises OSError."""
        assert self.child is None
        child = Snapshot(lambda keys: None, self._ended)
        child.start(self._job(), ToFile(path))
        self.child = child
        return child.pid

    def stop(self, *, reap: bool = False) -> None:
        """Kill the child; `done` follows, with `reap` before this returns."""
        if self.child is None:
            return
        if reap:
            self.child.kill_and_reap()
        else:
            self.child.kill("it is not wanted any more")

    def write_here(self, path: Path) -> None:
        """Write the base in this process. Raises OSError and CannotHold."""
        save_to_file(self._job(), path, lambda keys: None)

    def _job(self) -> SnapshotJob:
        """As Redis does, without our place in the stream: that is the place file's."""
        job = self._saver.job()
        kept = tuple(field for field in job.aux if not field[0].startswith(b"repl-") and field[0] != b"aof-base")
        return replace(job, aux=(*kept, _MARK))

    def _ended(self, outcome: Outcome) -> None:
        self.child = None
        self._done(outcome)
