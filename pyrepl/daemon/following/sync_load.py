"""How a replica loads its master's snapshot: by way of a file, straight from the socket, or beside the old data.

One class per value of `repl-diskless-load`; all take the same calls. A fault is told to `failed` once, with the word
that INFO and the log show (rdb_version, corrupt, memory, disk), and the load leaves no half state but what its
`old_data` says.
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
    """In a word, for the event log."""

    @property
    def is_waiting(self) -> bool:
        """Is it better to feed nothing now, as room for what comes is being made?"""

    def feed(self, data: bytes) -> float:
        """Take the next bytes; seconds to wait before the following ones (key-load-delay, or room is being made)."""

    def end(self) -> None:
        """The last byte has come. `done` or `failed` is called, at once or later."""

    def abandon(self) -> None:
        """The link broke: throw away what is half done. Neither callback follows."""


Done = Callable[[Loader], None]
Failed = Callable[[str, str], None]
"""(word, sentence)."""


Emptying = Callable[[], None]
"""Called before the old data goes."""


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
    """The load that `repl-diskless-load` asks for now; `replid` names the stream of the snapshot.

    Raises OSError when the file for it cannot be made.
    """
    how = node.settings.repl_diskless_load
    size = total_bytes or 0
    if how == "swapdb":
        # Stale data is an older state of the same data only under the same name (Redis 7.0, `async_loading`).
        serves = replid == node.replication.history.replid
        return BesideLoad(node, files, log, size, done, failed, serves=serves)
    if how == "on-empty-db" and not node.keyspace.key_count:
        return DirectLoad(node, files, log, size, done, failed, emptying)
    return FileLoad(node, files, log, done, failed, emptying)


def why_not_loaded(error: BaseException) -> str:
    """The word for a failed load."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, OSError):
        return "disk"
    return "rdb_version" if "version" in str(error) else "corrupt"


@final
class FileLoad:
    """To a file first, which then becomes dump.rdb; the old data stays until the file is whole."""

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
        try:
            self._file.close()
            synced = asyncio.get_running_loop().run_in_executor(None, _sync, self._temporary)
            # Nobody asks how it went once the load has failed.
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
        """Only now that it proved good does the file take dump.rdb's place; or none, by rdb-del-sync-files."""
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
    """Bring a file to the disk; in a thread, since it takes as long as the disk is slow."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class SocketLoad(ABC):
    """What the two ways have in common that load while the bytes come. `_is_over` after the last callback."""

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
        """Leave no half of it."""


@final
class DirectLoad(SocketLoad):
    """From the socket into the emptied databases; clients get -LOADING meanwhile."""

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
        """It is there already."""

    def _throw_away(self) -> None:
        self._keyspace.clear()


@final
class BesideLoad(SocketLoad):
    """Beside the old data, which stays until the new data is complete and is then replaced at once.

    The old data is served meanwhile if it is an older state of what comes (`serves`); otherwise clients get -LOADING.
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
        # The collector would walk over the new tables again and again as they grow (see `housekeeper`).
        gc.freeze()
        log(events.SyncLoading())
        super().__init__(files, self._fresh, total_bytes, done, failed, asynchronous=serves)

    def _take_in(self) -> None:
        self._log(events.SwappingDatabases())
        for old, new in zip(self._old.databases, self._fresh.databases, strict=True):
            old.take_over(new)

    def _throw_away(self) -> None:
        """The fresh databases go with this object."""
