"""How a replica loads its master's snapshot: by way of a file, straight from the socket, or beside the old data.

There is one class for each way of `repl-diskless-load`, and all take the same calls. `choose` picks the class;
`master_link` feeds it the bytes of the snapshot. A load ends with one call: `done`, or `failed` with the word that INFO
and the log show (rdb_version, corrupt, memory, disk). After a failure no part of the snapshot is left in the node;
`old_data` says from which moment on the old data is gone.
"""

from __future__ import annotations

import asyncio
import gc
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Protocol, final

from pyrepl.daemon.disk.files import Files
from pyrepl.daemon.log_sink import Log
from pyrepl.errors import CorruptData
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.loader import Loader
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.rdb.cursor import UNLIMITED
from pyrepl.replication.link import OldData
from pyrepl.temporary import create
from pyrepl.units import ReplId


class SyncLoad(Protocol):
    """The load of one snapshot that comes over a link."""

    old_data: ClassVar[OldData]
    how: ClassVar[str]
    """The word for this way of loading in the event log."""

    @property
    def is_waiting(self) -> bool:
        """Should the caller wait before it feeds more, while memory for large tables is being made ready?"""

    def feed(self, data: bytes) -> float:
        """Take the next bytes. Returns the seconds to wait before the following ones: for key-load-delay, or while
        memory for large tables is being made ready."""

    def end(self) -> None:
        """The last byte has come. `done` or `failed` is called, at once or in a later turn of the loop."""

    def abandon(self) -> None:
        """The link broke: throw away the part that was loaded. Neither `done` nor `failed` is called."""


Done = Callable[[Loader], None]
"""Called with the loader that has loaded the snapshot."""
Failed = Callable[[str, str], None]
"""Called with (the word for why, a sentence about it)."""


Emptying = Callable[[], None]
"""Called just before the old data is deleted."""


def choose(
    node: Node,
    files: Files,
    log: Log,
    replid: ReplId,
    total_bytes: int | None,
    done: Done,
    failed: Failed,
    emptying: Emptying,
) -> SyncLoad:
    """The load that `repl-diskless-load` asks for now. `replid` names the stream that the snapshot belongs to;
    `total_bytes` is None where the master does not say it.

    Raises OSError when the file for the snapshot cannot be made.
    """
    how = node.settings.repl_diskless_load
    size = total_bytes or 0
    if how == "swapdb":
        # Only under the same name is our old data an older state of what comes, so that clients may still read it
        # (Redis 7.0, `async_loading`).
        serves = replid == node.replication.history.replid
        return BesideLoad(node, files, log, size, done, failed, serves=serves)
    if how == "on-empty-db" and not node.keyspace.key_count:
        return DirectLoad(node, files, log, size, done, failed, emptying)
    return FileLoad(node, files, log, done, failed, emptying)


def why_not_loaded(error: BaseException) -> str:
    """The word for a load that failed with this error."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, OSError):
        return "disk"
    return "rdb_version" if "version" in str(error) else "corrupt"


@final
class FileLoad:
    """Writes the snapshot to a file first, and loads it when it is whole; until then the old data stays. The file then
    becomes dump.rdb."""

    old_data: ClassVar[OldData] = OldData.GOES_AT_LAST_BYTE
    how: ClassVar[str] = "file"

    def __init__(self, node: Node, files: Files, log: Log, done: Done, failed: Failed, emptying: Emptying) -> None:
        self._emptying = emptying
        self._node = node
        self._files = files
        self._log = log
        self._done = done
        self._failed = failed
        self._path = Path(node.settings.dbfilename).absolute()
        self._temporary = self._path.with_name(f"temp-{node.persistence.last_save_unix_s}.{os.getpid()}.rdb")
        self._file = create(self._temporary)
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    @property
    def is_waiting(self) -> bool:
        return False

    def feed(self, data: bytes) -> float:
        if not self._is_over:
            try:
                self._file.write(data)
            except OSError as error:
                self._fail(error)
        return 0.0

    def end(self) -> None:
        if not self._is_over:
            self._task = asyncio.get_running_loop().create_task(self._load())

    def abandon(self) -> None:
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
            self._node.keyspace.clear()
        self._remove()

    async def _load(self) -> None:
        """Load the whole file, while a thread brings it to the disk."""
        try:
            self._file.close()
            synced = asyncio.get_running_loop().run_in_executor(None, _sync, self._temporary)
            # If the load fails, nobody awaits `synced`; asyncio would then warn of an exception nobody looked at.
            synced.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._log(events.FlushingOldData())
            self._emptying()
            self._node.keyspace.clear()
            self._log(events.SyncLoading())
            loader = await self._files.load(self._temporary, self._node.keyspace)
            await synced
            self._keep_file()
        except (OSError, CorruptData, MemoryError) as error:
            self._node.keyspace.clear()
            self._fail(error)
            return
        self._is_over = True
        self._done(loader)

    def _keep_file(self) -> None:
        """The file could be loaded, so it may take the place of dump.rdb. With rdb-del-sync-files, on a node that saves
        nothing, it is deleted instead."""
        settings = self._node.settings
        if settings.rdb_del_sync_files and not settings.save:
            self._temporary.unlink()
        else:
            self._temporary.rename(self._path)

    def _fail(self, error: BaseException) -> None:
        self._is_over = True
        self._remove()
        self._failed(why_not_loaded(error), str(error))

    def _remove(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Bring a file to the disk. Runs in a thread, as a slow disk would stop the loop."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class SocketLoad(ABC):
    """What DirectLoad and BesideLoad share: both load while the bytes come. `_is_over` is set at the end, at a failure
    and by `abandon`; after that bytes are ignored."""

    old_data: ClassVar[OldData]
    how: ClassVar[str]

    def __init__(
        self,
        files: Files,
        into: Keyspace,
        total_bytes: int,
        done: Done,
        failed: Failed,
        *,
        asynchronous: bool,
    ) -> None:
        self._files = files
        self._done = done
        self._failed = failed
        self._loader = files.loader(into, total_bytes or UNLIMITED)
        self._loading = files.begin_loading(total_bytes, asynchronous=asynchronous)
        self._is_over = False

    @property
    def is_waiting(self) -> bool:
        return not self._is_over and self._loader.is_making_room

    def feed(self, data: bytes) -> float:
        if self._is_over:
            return 0.0
        try:
            self._files.feed(self._loader, self._loading, data)
        except (CorruptData, MemoryError) as error:
            self._fail(error)
        return self._files.load_delay_s(self._loader, self._loading)

    def end(self) -> None:
        if self._is_over:
            return
        try:
            self._loader.end()
        except CorruptData as error:
            self._fail(error)
            return
        self._is_over = True
        self._take_in()
        self._files.end_loading(self._loader)
        self._done(self._loader)

    def abandon(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._throw_away()
            self._files.end_loading(None)

    def _fail(self, error: BaseException) -> None:
        self.abandon()
        self._failed(why_not_loaded(error), str(error))

    @abstractmethod
    def _take_in(self) -> None:
        """The snapshot is whole: make it the node's data."""

    @abstractmethod
    def _throw_away(self) -> None:
        """Delete the part of the snapshot that was loaded."""


@final
class DirectLoad(SocketLoad):
    """Loads from the socket into the databases, which it empties first; clients get -LOADING meanwhile."""

    old_data: ClassVar[OldData] = OldData.GOES_AT_FIRST_BYTE
    how: ClassVar[str] = "direct"

    def __init__(
        self,
        node: Node,
        files: Files,
        log: Log,
        total_bytes: int,
        done: Done,
        failed: Failed,
        emptying: Emptying,
    ) -> None:
        self._keyspace = node.keyspace
        log(events.FlushingOldData())
        emptying()
        node.keyspace.clear()
        log(events.SyncLoading())
        super().__init__(files, node.keyspace, total_bytes, done, failed, asynchronous=False)

    def _take_in(self) -> None:
        """Nothing to do: the snapshot was loaded into the node's databases."""

    def _throw_away(self) -> None:
        self._keyspace.clear()


@final
class BesideLoad(SocketLoad):
    """Loads into fresh databases beside the old data; when they are complete, they replace the old data in one moment.

    With `serves` the old data is an older state of the master's data, and clients may read it meanwhile; without, they
    get -LOADING.
    """

    old_data: ClassVar[OldData] = OldData.STAYS_UNTIL_LOADED
    how: ClassVar[str] = "beside"

    def __init__(
        self,
        node: Node,
        files: Files,
        log: Log,
        total_bytes: int,
        done: Done,
        failed: Failed,
        *,
        serves: bool,
    ) -> None:
        self._log = log
        self._old = node.keyspace
        self._fresh = Keyspace(len(node.keyspace.databases))
        # Otherwise the garbage collector walks over the tables again and again as they grow (see `housekeeper`).
        gc.freeze()
        log(events.SyncLoading())
        super().__init__(files, self._fresh, total_bytes, done, failed, asynchronous=serves)

    def _take_in(self) -> None:
        self._log(events.SwappingDatabases())
        for old, new in zip(self._old.databases, self._fresh.databases, strict=True):
            old.take_over(new)
        self._old.flushed()

    def _throw_away(self) -> None:
        """Nothing to do: the fresh databases end with this object."""
