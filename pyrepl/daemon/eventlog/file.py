"""The event log's file: whole lines are added, at its size limit it makes room for a new one, old ones are deleted.

A full file is renamed to one with the time in its name (UTC) and never written again, so that readers can tell by the
name what they have read: events.jsonl becomes events.20261121T105624.123456Z.jsonl.
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
    """Used by one thread at a time.

    Invariant: `size` bytes of the file are whole lines; what a failed write left is taken back.
    """

    def __init__(self, path: Path, max_bytes: int, keep: int, now_us: Callable[[], int]) -> None:
        """`max_bytes` 0: one file for ever; `keep` full ones stay, 0: all; `now_us()` is Unix time in microseconds.
        Raises OSError when the file cannot be opened."""
        self._path = path
        self._now_us = now_us
        self.max_bytes = max_bytes
        self.keep = keep
        self.size = 0
        self._fd = -1
        self._open()

    def append(self, line: bytes) -> None:
        """Add one line or several. Raises OSError; nothing of it is in the file then."""
        if self.max_bytes and self.size and self.size + len(line) > self.max_bytes:
            self._rotate()
        append_whole(self._fd, line, self.size)
        self.size += len(line)

    def reopen_if_moved(self) -> None:
        """Somebody renamed or removed the file (logrotate): go on in a new one. Raises OSError if that cannot be."""
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
            # A run before this one was killed in the middle of a line.
            self.size += os.write(fresh, b"\n")

    def _rotate(self) -> None:
        """Begin a new file. One that cannot be renamed is written on: what is told counts more than the limit."""
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
