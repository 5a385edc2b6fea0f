"""A bounded queue of lines for the event log's file, and the thread that writes them.

`EventLog` calls `put`, which never waits for the disk. When the disk fails or is full, the thread tries again each
second. Lines for which the queue has no room meanwhile are refused, and the EventLog counts them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, final

from pyrepl.daemon.eventlog.file import EventFile

MAX_WAITING_BYTES: Final = 4 * 1024 * 1024
RETRY_S: Final = 1.0
_BATCH_LINES: Final = 256


@final
class EventWriter:
    """The thread and its queue. Invariant: `waiting_bytes` is the size of the lines in the queue."""

    def __init__(self, file: EventFile, on_error: Callable[[str], None], on_written: Callable[[int], None]) -> None:
        """Both callbacks are called in the thread. `on_error` gets the reason when writing begins to fail, and an empty
        text when it works again. `on_written` gets the number of lines written."""
        self._file = file
        self._on_error = on_error
        self._on_written = on_written
        self._lines: deque[bytes] = deque()
        self.waiting_bytes = 0
        self._changed = threading.Condition()
        self._closing = False
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="event-log", daemon=True)
        self._thread.start()

    @property
    def file_bytes(self) -> int:
        return self._file.size

    def put(self, line: bytes) -> bool:
        """Put a line into the queue. False when the queue has no room for it, MAX_WAITING_BYTES."""
        with self._changed:
            if self.waiting_bytes + len(line) > MAX_WAITING_BYTES:
                return False
            self._lines.append(line)
            self.waiting_bytes += len(line)
            self._changed.notify()
        return True

    def limit(self, max_bytes: int, keep: int) -> None:
        """Set new limits for the file (`EventFile`), in force from the next line on."""
        self._file.max_bytes, self._file.keep = max_bytes, keep

    def close(self, patience_s: float) -> int:
        """Write the lines that wait, for `patience_s` at most. Returns how many lines are lost."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(patience_s)
        return len(self._lines)

    # ------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._lines and not self._closing:
                    self._changed.wait()
                batch = [self._lines[index] for index in range(min(len(self._lines), _BATCH_LINES))]
            written = self._write(batch)
            with self._changed:
                for _ in range(written):
                    self.waiting_bytes -= len(self._lines.popleft())
                if self._closing and (written < len(batch) or not self._lines):
                    break
                if written < len(batch):
                    self._changed.wait_for(lambda: self._closing, RETRY_S)
        self._file.close()

    def _write(self, batch: list[bytes]) -> int:
        """Write a batch. Returns how many of its lines are in the file now."""
        written = 0
        try:
            self._file.reopen_if_moved()
            for line in batch:
                self._file.append(line)
                written += 1
        except Exception as error:
            # Every exception, not only those of a disk: if the thread ended, the node would have no event log any more,
            # and nobody would know.
            self._tell((isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}")
        else:
            self._tell("")
        if written:
            self._on_written(written)
        return written

    def _tell(self, error: str) -> None:
        if self._failing != bool(error):
            self._failing = bool(error)
            self._on_error(error)
