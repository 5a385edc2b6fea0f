"""Loads an append-only file into the node: the base, a snapshot or commands, then the commands of the incrs.

`keeper` runs `steps`; between two slices the loop serves clients (with -LOADING). Commands are executed in units: a
command, or a transaction from MULTI to EXEC.

Redis's rules (7.0, `loadSingleAppendOnlyFile`): only the last file may end in the middle of a unit, and the rest is cut
off if aof-load-truncated is yes. Anything else that cannot be read ends the start, and the file stays as it was. A key
that expires during the load stays: a DEL in the file deletes it, or the expiry of the running node.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, Final, final

from pyrepl.acl.identity import OURS
from pyrepl.aof.manifest import Manifest
from pyrepl.aof.own_block import Aside
from pyrepl.aof.place import Place
from pyrepl.aof.reader import UnitReader
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.files import snapshot_limits
from pyrepl.daemon.log_sink import Log
from pyrepl.errors import CommandError, ConfigError, CorruptData
from pyrepl.keyspace.database import Expiry
from pyrepl.keyspace.idmp import limits_of_new
from pyrepl.keyspace.loader import Loader
from pyrepl.node.client import Client
from pyrepl.node.conditions import Condition
from pyrepl.node.node import Node
from pyrepl.observability import events

SLICE_BYTES: Final = 128 * 1024
_MAGICS: Final = (b"REDIS", b"VALKE")


@final
class AofLoad:
    """One load. Afterwards `db` is the index of the database that the last file has selected at its end, and `end` is
    the byte of the last file behind its last whole unit. `loaded_bytes` grows while the files are read."""

    def __init__(self, node: Node, dispatcher: Dispatcher, files: AofFiles, clock: Clock, log: Log) -> None:
        self._node = node
        self._dispatcher = dispatcher
        self._files = files
        self._clock = clock
        self._log = log
        self.db = 0
        self.end = 0
        self.aside = Aside()
        """What of the last file is no part of the stream."""
        self.loaded_bytes = 0

    def steps(self, manifest: Manifest, place: Place | None = None) -> Iterator[None]:
        """Load all files of the manifest in order; yields after each slice of 128 KB. Raises ConfigError, whose text
        ends with what the operator can do. `place` is the one noted for the last file."""
        self.aside = Aside(0 if place is None else place.at)
        for entry in manifest.loaded:
            path = self._files.path(entry.name)
            try:
                with path.open("rb") as file:
                    yield from self._file(file, path, entry is manifest.loaded[-1])
            except OSError as error:
                raise ConfigError(
                    f"Fatal error: can't open the append log file {path} for reading: {error.strerror}. Restore the "
                    f"file, or move the folder {self._files.folder} away to start without it"
                ) from None
            except CorruptData as error:
                raise ConfigError(
                    f"Bad file format reading the append only file {path}: {error}. The file was left as it is: make "
                    "a backup of your AOF file, then use redis-check-aof --fix <the manifest>"
                ) from None

    def _file(self, file: BinaryIO, path: Path, is_last: bool) -> Iterator[None]:
        client = Client(0, "", "", self._clock.now(), OURS)
        client.become_master_link()
        call = self._dispatcher.call_for(client)
        data = file.read(SLICE_BYTES)
        aside = self.aside if is_last else Aside()
        reader = UnitReader(0, aside)
        if data.startswith(_MAGICS):
            start, data = yield from self._preamble(file, data)
            reader = UnitReader(start, aside)
        while data:
            self._apply(call, reader, data, path)
            self.loaded_bytes += len(data)
            yield
            data = file.read(SLICE_BYTES)
        self.db, self.end = client.db_index, reader.end
        if reader.end < reader.read:
            self._cut(path, reader, is_last)

    def _preamble(self, file: BinaryIO, data: bytes) -> Generator[None, None, tuple[int, bytes]]:
        """Load the snapshot that a base begins with. Returns (the byte of the file behind the snapshot, the bytes that
        were read beyond it)."""
        settings = self._node.settings
        keyspace = self._node.keyspace
        size = os.fstat(file.fileno()).st_size
        keyspace.now_ms = self._clock.unix_ms()
        loader = Loader(
            snapshot_limits(settings, keyspace, size),
            keyspace,
            tracker=self._node.memory.tracker,
            idmp_limits=limits_of_new(settings),
        )
        while data and not loader.finished:
            loader.feed(data)
            self.loaded_bytes += len(data)
            yield
            if not loader.finished:
                data = file.read(SLICE_BYTES)
        loader.end()
        self._node.functions.take(loader.functions)
        return loader.loaded_bytes, loader.unused()

    def _failed(self, argv: list[bytes], error: CommandError, path: Path, end: int) -> None:
        """A command of the file was answered with an error. Raises CorruptData if the load cannot go on; a known
        command that fails is only logged, unless propagation-error-behavior is panic."""
        name = argv[0][:128].decode("utf-8", "replace")
        why = self._dispatcher.table.why_not_in_stream(argv)
        if why == "unknown_command":
            raise CorruptData(f"Unknown command '{name}' reading the append only file", end)
        if why:
            raise CorruptData(f"the command '{name}', which is never written to an append only file", end)
        self._node.stats.unexpected_error_replies += 1
        self._log(events.AofCommandFailed(name, str(error), str(path), end))
        if self._node.settings.propagation_error_behavior == "panic":
            raise CorruptData(f"the command '{name}' fails: {error} (propagation-error-behavior is panic)", end)

    def _apply(self, call: Call, reader: UnitReader, data: bytes, path: Path) -> None:
        node = self._node
        keyspace = node.keyspace
        commands = reader.feed(data)
        keyspace.now_ms = call.now_ms = self._clock.unix_ms()
        # Whether a key has expired was decided when the file was written.
        before, keyspace.expiry = keyspace.expiry, Expiry.IGNORE
        node.conditions.note(Condition.REPLAYING, True)
        try:
            index, error = self._dispatcher.apply(call, commands, 0)
            while error is not None:
                if not isinstance(error, CommandError):
                    raise error
                self._failed(commands[index], error, path, reader.end)
                index, error = self._dispatcher.apply(call, commands, index + 1)
        finally:
            keyspace.expiry = before
            node.conditions.note(Condition.REPLAYING, False)

    def _cut(self, path: Path, reader: UnitReader, is_last: bool) -> None:
        """The file ends in the middle of a unit: cut the unit off, or raise ConfigError."""
        lost = reader.read - reader.end
        if not is_last or not self._node.settings.aof_load_truncated:
            raise ConfigError(
                f"Unexpected end of file reading the append only file {path}: the last whole command ends at byte "
                f"{reader.end}, and {lost} bytes follow. Make a backup of your AOF file, then use redis-check-aof --fix"
                " <the manifest>, or set aof-load-truncated yes (which cuts only the last file)"
            )
        os.truncate(path, reader.end)
        self._log(events.AofTruncated(str(path), reader.end, lost))
