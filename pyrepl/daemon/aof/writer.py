"""One incr file that is open for writing: appends, and fsync in a thread. `tail` decides when."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import final

from pyrepl.daemon.disk.files import append_whole
from pyrepl.temporary import PRIVATE, open_new


@final
class AofWriter:
    """One open file. Invariant: the file consists of `size` bytes of whole appends; an append that fails is undone."""

    def __init__(self, path: Path, *, is_new: bool) -> None:
        """Open the file for appending. `is_new`: make an empty file. Raises OSError."""
        if is_new:
            self._fd = open_new(path, flags=os.O_APPEND)
        else:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
        self.size = os.fstat(self._fd).st_size
        self._threads = ThreadPoolExecutor(1, "aof-fsync")
        self.is_syncing = False

    def append(self, data: bytes) -> None:
        """Append `data`. Raises OSError, and then nothing of `data` is in the file."""
        append_whole(self._fd, data, self.size)
        self.size += len(data)

    def sync(self) -> None:
        """Bring all that was appended to the disk; blocks meanwhile. Raises OSError."""
        os.fdatasync(self._fd)

    def sync_aside(self, done: Callable[[str], None]) -> None:
        """fsync in a thread; one at a time. `done` is called in the loop with the reason of a failure, or empty."""
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
        """Bring everything to the disk and close the file. Waits for an fsync that runs. Raises OSError, with the file
        closed."""
        self._threads.shutdown(wait=True)
        try:
            os.fdatasync(self._fd)
        finally:
            os.close(self._fd)
