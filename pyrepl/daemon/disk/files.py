"""Loads snapshot files: dump.rdb at the start and for DEBUG RELOAD, a master's snapshot as the last step of a
disk-based sync. `saver` writes them.

The loads of `sync_load` that read from a socket use the same steps (`begin_loading`, `feed`, `end_loading`). After each
slice the loop serves clients: they get -LOADING, or the old data where it may still be read.
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from pyrepl.config.settings import Settings
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.memory import arenas
from pyrepl.daemon.memory.rooms import Rooms
from pyrepl.errors import ConfigError, CorruptData
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.idmp import limits_of_new
from pyrepl.keyspace.loader import Loader
from pyrepl.node.node import Node
from pyrepl.node.persistence import Loading
from pyrepl.observability import events
from pyrepl.rdb.reader import RdbLimits

MAX_SLICE_BYTES: Final = 256 * 1024
"""Bytes loaded at once: they take about 5 ms, in which no client is served."""
_ROOM_DELAY_S: Final = 0.003


_LEFTOVER: Final = re.compile(r"temp-(?:\d+\.)?(\d+)\.rdb")


def remove_leftovers(folder: Path, name: re.Pattern[str] = _LEFTOVER) -> None:
    """Unlink half-written files of processes that do not run any more. The first group of `name` is the process id in a
    file's name; by default `name` means snapshots.

    To be called before this process writes such files: in a container our own process id is often that of the process
    before us, so files with our own id are unlinked too.
    """
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        match = name.fullmatch(path.name)
        if match is not None and not _is_running(int(match[1])):
            with suppress(OSError):
                path.unlink()


def append_whole(fd: int, data: bytes, size: int) -> None:
    """Write all of `data` at the end of a file of `size` bytes, opened with O_APPEND. Raises OSError, and then the file
    is cut back to `size`, unless the disk refuses even that."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, size)
        raise


def sync_directory(folder: Path) -> None:
    """Make renames in `folder` durable. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _is_running(pid: int) -> bool:
    """Does another process with this id run? Not if it is a zombie: in a container often nobody reaps the children of a
    node that was killed."""
    if pid == os.getpid():
        return False
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True
    return stat.rpartition(b") ")[2][:1] not in (b"Z", b"X")


def snapshot_limits(settings: Settings, keyspace: Keyspace, input_bytes: int) -> RdbLimits:
    """The limits for a snapshot that is loaded into `keyspace`; `input_bytes` is its size, UNLIMITED if not known."""
    return RdbLimits(
        max_databases=len(keyspace.databases),
        input_bytes=input_bytes,
        relaxed=settings.rdb_version_check == "relaxed",
        verify_checksum=settings.rdbchecksum,
    )


@final
class Files:
    """Loads snapshot files into the node."""

    def __init__(self, node: Node, clock: Clock, log: Log) -> None:
        self._node = node
        self._clock = clock
        self._log = log
        self.has_loaded_at_start = False
        """Was the data that the node began with loaded from a snapshot file?"""

    def loader(self, keyspace: Keyspace, input_bytes: int, *, merge: bool = False, at_once: bool = False) -> Loader:
        """A loader for a snapshot of `input_bytes` (UNLIMITED if not known) that goes into `keyspace`. On a master it
        leaves out keys that have expired, on a replica it does not.

        `merge`: keys of the snapshot replace keys that are there. Unless the snapshot is loaded `at_once`, memory for
        large tables is made ready in another thread.
        """
        settings = self._node.settings
        drop_at_ms = self._clock.unix_ms() if self._node.drops_expired_on_load else None
        tracker = self._node.memory.tracker
        # Idle times count back from `now_ms`, which no batch of commands has set yet at the start.
        self._node.keyspace.now_ms = self._clock.unix_ms()
        rooms = None if at_once else Rooms()
        return Loader(
            snapshot_limits(settings, keyspace, input_bytes),
            keyspace,
            drop_expired_at_ms=drop_at_ms,
            merge=merge,
            tracker=tracker,
            rooms=rooms,
            idmp_limits=limits_of_new(settings),
        )

    def begin_loading(self, total_bytes: int, *, asynchronous: bool) -> Loading:
        """Mark the node as loading `total_bytes` (0 if not known). `asynchronous`: the old data may be read meanwhile,
        otherwise clients get -LOADING. `end_loading` must follow, unless the node ends."""
        loading = Loading(self._clock.now(), self._clock.unix_ms() // 1000, total_bytes, asynchronous=asynchronous)
        self._node.persistence.loading = loading
        arenas.take_ordinary_pages(True)
        return loading

    def end_loading(self, loader: Loader | None) -> None:
        """The load is over. `loader` is given if it has succeeded, None if not; INFO shows the loader's figures."""
        persistence = self._node.persistence
        persistence.loading = None
        arenas.take_ordinary_pages(False)
        if loader is not None:
            persistence.last_load_keys_loaded = loader.loaded_keys
            persistence.last_load_keys_expired = loader.expired_keys
            # Replicas that continue the stream get a DEL for these keys too (Redis 7.0, RDBFLAGS_FEED_REPL).
            self._node.keyspace.expired.extend(loader.expired)
            persistence.dirty_at_last_save = self._node.keyspace.dirty
            self._node.functions.take(loader.functions)
            self._log(events.SnapshotLoaded(loader.loaded_keys, loader.expired_keys))

    async def load_at_start(self, path: Path) -> Loader | None:
        """Load the snapshot file at `path`; None if there is none. Raises ConfigError when it cannot be loaded."""
        if not path.exists():
            return None
        started_at = self._clock.now()
        try:
            loader = await self.load(path, self._node.keyspace)
        except (OSError, CorruptData) as error:
            raise ConfigError(
                f"Fatal error loading the DB from {path.resolve()}: {error}. The file was left as it is: check "
                "it with redis-check-rdb, restore it from a backup, or move it away to start empty"
            ) from None
        self._log(events.LoadedFromDisk(self._clock.now() - started_at))
        self.has_loaded_at_start = True
        return loader

    async def load(self, path: Path, keyspace: Keyspace) -> Loader:
        """Load a snapshot file in slices. Raises OSError and CorruptData, and then the databases hold the keys that
        came before the fault."""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            loader = self.loader(keyspace, size)
            loading = self.begin_loading(size, asynchronous=False)
            try:
                while data := file.read(self._slice_bytes()):
                    self.feed(loader, loading, data)
                    await asyncio.sleep(self.load_delay_s(loader, loading))
                    while loader.is_making_room:
                        await asyncio.sleep(_ROOM_DELAY_S)
                loader.end()
            except BaseException:
                self.end_loading(None)
                raise
        self.end_loading(loader)
        return loader

    def feed(self, loader: Loader, loading: Loading, data: bytes) -> None:
        """Load one slice of a snapshot, and bring the figures of INFO and the warnings in the log up to date. Raises
        CorruptData."""
        loader.feed(data)
        loading.loaded_bytes = loader.loaded_bytes
        loading.expired_keys = loader.expired_keys
        for warning in loader.warnings:
            self._log(events.LoadWarning(warning))
        loader.warnings.clear()

    def load_delay_s(self, loader: Loader, loading: Loading) -> float:
        """The seconds to wait before the next slice; to be called once after each slice, whose keys it counts.

        The wait is key-load-delay for each key of the slice, which makes short loads long, for tests. While memory for
        millions of keys is made ready, a pause is added, so that few keys come before it is.
        """
        fresh = loader.loaded_keys - loading.loaded_keys
        loading.loaded_keys = loader.loaded_keys
        delay_s = fresh * max(0, self._node.settings.key_load_delay) / 1e6
        return delay_s + (_ROOM_DELAY_S if loader.is_making_room else 0.0)

    def reload(self, path: Path, *, flush: bool, merge: bool) -> None:
        """DEBUG RELOAD: load the file at once, into empty databases if `flush`. Raises OSError and CorruptData."""
        node = self._node
        if flush:
            node.keyspace.clear()
        with path.open("rb") as file:
            loader = self.loader(node.keyspace, os.fstat(file.fileno()).st_size, merge=merge, at_once=True)
            while data := file.read(MAX_SLICE_BYTES):
                loader.feed(data)
        loader.end()
        self.end_loading(loader)

    def _slice_bytes(self) -> int:
        return min(MAX_SLICE_BYTES, self._node.settings.loading_process_events_interval_bytes)
