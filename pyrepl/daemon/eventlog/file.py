"""The event log's file: whole lines are appended; at a size limit the file is renamed and a new one begun, and old
files are deleted. `writer` uses it in its thread.

A full file gets the time (UTC) into its name and is never written again, so that readers know by the names which files
they have read: events.jsonl becomes events.20261121T105624.123456Z.jsonl.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.disk.files import append_whole

_STAMP: Final = "%Y%m%dT%H%M%S.%fZ"
_STAMPED: Final = r"\.\d{8}T\d{6}\.\d{6}Z"


@final
class EventFile:
    """One file and its full predecessors. To be used by one thread at a time.

    Invariant: the file consists of `size` bytes of whole lines; the part of a line that a failed write left is cut off.
    """

    def __init__(self, path: Path, max_bytes: int, keep: int, now_us: Callable[[], int]) -> None:
        """`max_bytes` is the size limit, 0 for none. `keep` full files stay, 0 for all. `now_us()` returns Unix time in
        microseconds. Raises OSError when the file cannot be opened."""
        self._path = path
        self._now_us = now_us
        self.max_bytes = max_bytes
        self.keep = keep
        self.size = 0
        self._fd = -1
        self._open()

    def append(self, line: bytes) -> None:
        """Append one or more whole lines. Raises OSError, and then nothing of `line` is in the file."""
        if self.max_bytes and self.size and self.size + len(line) > self.max_bytes:
            self._rotate()
        append_whole(self._fd, line, self.size)
        self.size += len(line)

    def reopen_if_moved(self) -> None:
        """If the file was renamed or removed (logrotate), go on in a new file of the old name. Raises OSError."""
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._fd), os.stat(self._path)):
                return
        self._open()

    def close(self) -> None:
        os.close(self._fd)
        self._fd = -1

    def _open(self) -> None:
        fresh = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = fresh
        self.size = os.fstat(fresh).st_size
        if self.size and os.pread(fresh, 1, self.size - 1) != b"\n":
            # A former process was killed in the middle of a line: end that line.
            self.size += os.write(fresh, b"\n")

    def _rotate(self) -> None:
        """Rename the full file and begin a new one. If the file cannot be renamed, it is written on: to lose no lines
        is more important than the limit."""
        with suppress(OSError):
            os.rename(self._path, self._full_name())
            self._open()
            self._delete_old()

    def _full_name(self) -> Path:
        at_us = self._now_us()
        while True:
            at = datetime.fromtimestamp(at_us // 1_000_000, UTC).replace(microsecond=at_us % 1_000_000)
            name = self._path.with_name(f"{self._path.stem}.{at.strftime(_STAMP)}{self._path.suffix}")
            if not name.exists():
                return name
            at_us += 1

    def _delete_old(self) -> None:
        if not self.keep:
            return
        pattern = re.compile(re.escape(self._path.stem) + _STAMPED + re.escape(self._path.suffix))
        full = sorted(path for path in self._path.parent.iterdir() if pattern.fullmatch(path.name))
        for path in full[: -self.keep]:
            path.unlink(missing_ok=True)
