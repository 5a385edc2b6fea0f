"""The text log: writes each event as one line, unbuffered, to standard output or to `logfile`.

`observability.log_form` makes the text of a line. A log that cannot be written must not end the node: lines that the
disk refuses are lost and counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.service import Service
from pyrepl.errors import ConfigError
from pyrepl.observability.event import Event, Level
from pyrepl.observability.log_form import LogForm, log_line

_LOOK_EVERY_S: Final = 1.0


@final
class Log(Service):
    """The text log. Call it with an event."""

    def __init__(self, clock: Clock, role: Callable[[], str]) -> None:
        """`role` returns M for a master and S for a replica: the mark in each line, as in Redis's log."""
        self._clock = clock
        self._role = role
        self._fd = 1
        self._path = ""
        self.level = Level.NOTICE
        self.how = LogForm()
        self.lost_lines = 0
        self.printer: Callable[[str], None] | None = None
        """Takes the lines instead of standard output while a progress bar is on the screen."""
        self.system: Callable[[Event], None] | None = None
        """Sends to syslog too, what goes into the log (`system_log`)."""

    def open(self, path: str, level: str) -> None:
        """Write to the file `path` from now on, or to standard output if it is empty. A symbolic link is followed, as
        Redis does: operators have logs elsewhere by it. Raises ConfigError when the file cannot be opened."""
        self.level = Level.named(level)
        fd = 1
        if path:
            try:
                path = os.path.abspath(path)
                fd = _open(path)
            except OSError as error:
                raise ConfigError(f"Can't open the log file {path}: {error.strerror}") from None
        if self._fd != 1:
            os.close(self._fd)
        self._fd, self._path = fd, path

    def __call__(self, event: Event) -> None:
        if self.level > event.LEVEL:
            return
        if self.system is not None:
            self.system(event)
        line = log_line(
            event,
            self.how,
            pid=os.getpid(),
            role=self._role(),
            at_ms=self._clock.unix_ms(),
            utc_offset_s=time.localtime().tm_gmtoff,
        )
        try:
            if self.printer is not None:
                self.printer(line)
            else:
                os.write(self._fd, line.encode("utf-8", "backslashreplace") + b"\n")
        except OSError:
            self.lost_lines += 1

    def tick(self, now: float) -> None:
        """If the log file was renamed or removed (logrotate), go on in a new file of the old name."""
        if not self._path:
            return
        with suppress(OSError):
            if not _is_at(self._fd, self._path):
                fresh = _open(self._path)
                os.close(self._fd)
                self._fd = fresh

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S


def _open(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _is_at(fd: int, path: str) -> bool:
    """Is the open file `fd` the file that has the name `path`?"""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
