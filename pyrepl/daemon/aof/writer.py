"""One incr file that is being written: appends, and fsync in a thread. When either is due is `keeper`'s."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import final

from pyrepl.daemon.disk.files import append_whole
from pyrepl.temporary import open_new


@final
class AofWriter:
    """Invariant: `size` bytes of the file are whole appends; a failed one is taken back."""

    def __init__(self, path: Path, *, is_new: bool) -> None:
        """Raises OSError."""
        if is_new:
            self._fd = open_new(path, flags=os.O_APPEND)
        else:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.size = os.fstat(self._fd).st_size
        self._threads = ThreadPoolExecutor(1, "aof-fsync")
        self.is_syncing = False

    def append(self, data: bytes) -> None:
        """Raises OSError; nothing of `data` is in the file then."""
        append_whole(self._fd, data, self.size)
        self.size += len(data)

    def sync(self) -> None:
        """Raises OSError."""
        os.fdatasync(self._fd)

    def sync_aside(self, done: Callable[[str], None]) -> None:
        """fsync in a thread; `done` is called in the loop with the reason of a failure, else empty."""
        assert not self.is_syncing
        self.is_syncing = True
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, os.fdatasync, self._fd)

        def finished(result: asyncio.Future[None]) -> None:
            self.is_syncing = False
            error = None if result.cancelled() else result.exception()
            done("" if error is None else getattr(error, "strerror", None) or str(error))

        future.add_done_callback(finished)

    def close(self) -> None:
        """Everything that was appended is on disk then, unless the disk fails: that is raised."""
        self._threads.shutdown(wait=True)
        try:
            os.fdatasync(self._fd)
        finally:
            os.close(self._fd)
