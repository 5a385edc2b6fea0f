"""The tail of the append-only file: the last incr, to which the stream is written, and its way to the disk.

The tail reads the backlog as a replica does, with a cursor, and puts between the stream's bytes what clients wrote to a
writable replica (node/own_writes.py) and, with aof-timestamp-enabled, the time. `keeper` opens and closes the tail, and
decides when a new incr begins. Signals call `plan` when the stream has grown, and `flush` before replies and stream
bytes go out. Source of the times and of what happens when the disk fails: Redis 7.0 aof.c.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, final

from pyrepl.aof.manifest import Entry, FileType
from pyrepl.aof.own_block import own_block, timestamp
from pyrepl.aof.place import Place
from pyrepl.commands.engine.gates import MISCONF_AOF
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.daemon.aof.place import AofPlace, FoundPlace
from pyrepl.daemon.aof.writer import AofWriter
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.signals import Signals
from pyrepl.node.latency_monitor import AOF_FSYNC_ALWAYS, AOF_WRITE, LatencyMonitor
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.replication.backlog import Cursor
from pyrepl.units import Offset, ReplId

_CHUNK_BYTES: Final = 1 << 20
_FSYNC_EVERY_S: Final = 1.0
_POSTPONE_S: Final = 2.0
"""How long a write waits while an fsync runs: until the fsync ends, the write could block the loop (Redis 2.4)."""
MOST_BEHIND_BYTES: Final = 64 << 20
"""How many bytes of the stream may be missing in the file while the disk refuses writes."""


@final
class AofTail:
    """The incr being written.

    Invariants: `_writer` and `cursor` are set together, and then `incr` is the file that is written; `cursor.at` is the
    cut behind the last byte written. `_is_whole`: the file ends with a whole unit.
    """

    def __init__(
        self,
        node: Node,
        clients: Clients,
        saver: Saver,
        signals: Signals,
        faults: Faults,
        clock: Clock,
        log: Log,
        fell_behind: Callable[[str], None],
    ) -> None:
        """`fell_behind` is called with the disk's error once MOST_BEHIND_BYTES of the stream wait for a disk that
        refuses writes."""
        self._node = node
        self._clients = clients
        self._saver = saver
        self._signals = signals
        self._faults = faults
        self._clock = clock
        self._log = log
        self._fell_behind = fell_behind
        self._state = node.persistence.aof
        self._backlog = node.replication.backlog
        self._history = node.replication.history
        self.files = AofFiles.of(node.settings)
        """The folder, and the manifest as it is on disk."""
        self.incr: Entry | None = None
        self.cursor: Cursor | None = None
        self._writer: AofWriter | None = None
        self._place: AofPlace | None = None
        self._own = node.persistence.aof.own_writes
        self._is_whole = True
        self._stamped_s = 0
        """The last time that was written into the file, in Unix seconds."""
        self._other_bytes = 0
        """The size of all files that the manifest names, without the incr being written."""
        self._planned = False
        self._unsynced = False
        self._synced_at = 0.0
        """When the last fsync on a thread began (monotonic seconds)."""
        self._postponed_at: float | None = None
        """Since when writes wait for the fsync that runs."""

    @property
    def is_on(self) -> bool:
        """Do the files on disk follow the data? Not while a first base for the incr is still being written."""
        return self.cursor is not None and self.incr in self.files.manifest.incrs

    @property
    def missing_bytes(self) -> int:
        """How many bytes are not in the file yet; 0 while no file is written."""
        return 0 if self.cursor is None else self._backlog.end - self.cursor.at + self._own.waiting_bytes

    # ------------------------------------------------------------------ opening and closing

    def open_last(self, base: Entry | None, found: FoundPlace | None) -> None:
        """Go on in the last incr of the manifest, or in a new one if the manifest has no incr. Raises OSError.

        `base` is what the manifest names as its base from now on. `found` is the place at which the files that were
        loaded end, None if it is not known.
        """
        is_new = not self.files.manifest.incrs
        incr = Entry(self.files.names.incr(1), 1, FileType.INCR) if is_new else self.files.manifest.incrs[-1]
        writer = self._writer = AofWriter(self.files.path(incr.name), is_new=is_new)
        self.incr = incr
        if not self._takes_up(incr, found):
            select = b"" if writer.size else self._node.replication.select_next_db
            # The SELECT that we append is no part of the stream, so the stream's cut stands behind it.
            at = writer.size + len(select)
            stands = Place(self._history.replid, self._backlog.end, incr.name, at)
            self._place = AofPlace.note(self.files, incr, stands)
            writer.append(select)
        self.files.persist(base, (*self.files.manifest.incrs[:-1], incr))
        self._begin()
        self._state.synced_cut = self._backlog.end

    def _takes_up(self, incr: Entry, found: FoundPlace | None) -> bool:
        """Does our stream go on where the file ends? Then the place in the file stays as it is, and an empty backlog is
        filled with the stream's last bytes from the file, so that replicas can be continued after a restart."""
        if found is None or found.cut != self._backlog.end or not self._history.knows(ReplId(found.place.replid)):
            return False
        if self._backlog.start == self._backlog.end:
            self._backlog.refill(found.tail(self.files.path(incr.name), self._backlog.capacity))
        self._place = AofPlace(self.files, incr, found.place)
        return True

    def open_fresh(self) -> None:
        """Write to a new incr from this cut of the stream on. Raises OSError, and then nothing has changed.

        If the files on disk follow the data, the manifest names the new incr at once, as its last: base and incrs are
        then whole even if the rewrite fails.
        """
        was_on = self.is_on
        seq = max(self.files.manifest.next_incr_seq, (self.incr.seq + 1) if self.incr is not None else 1)
        incr = Entry(self.files.names.incr(seq), seq, FileType.INCR)
        writer = AofWriter(self.files.path(incr.name), is_new=True)
        try:
            writer.append(self._node.replication.select_next_db)
            stands = Place(self._history.replid, self._backlog.end, incr.name, writer.size)
            place = AofPlace.note(self.files, incr, stands)
            if was_on:
                assert self._writer is not None
                self._writer.sync()
                self.files.persist(self.files.manifest.base, (*self.files.manifest.incrs, incr))
        except OSError:
            writer.close()
            self.files.remove({incr.name, self.files.names.place(seq)})
            raise
        if self._writer is not None:
            self._writer.close()
        self._writer, self.incr, self._place = writer, incr, place
        if self.cursor is None:
            self._begin()

    def _begin(self) -> None:
        """The file is written from this cut of the stream on."""
        self.cursor = self._backlog.attach(Offset(self._backlog.end))
        self._is_whole = True
        self._stamped_s = 0
        self._state.follow(True)

    def let_go(self) -> None:
        """Stop following the stream, and close the file."""
        writer, self._writer = self._writer, None
        cursor, self.cursor = self.cursor, None
        if cursor is not None:
            self._backlog.detach(cursor)
            self._state.follow(False)
        self.incr = self._place = None
        if writer is not None:
            try:
                writer.close()
            except OSError as error:
                self._log(events.AofWriteFailed(error.strerror or str(error)))
        self._state.write_error = ""

    def measure(self, *, as_base: bool) -> None:
        """Note how large the files are. With `as_base`, automatic rewrites count the growth from this size on."""
        state = self._state
        state.current_bytes = sum(self.files.size(entry.name) for entry in self.files.manifest.loaded)
        self._other_bytes = state.current_bytes - (self._writer.size if self._writer is not None else 0)
        if as_base:
            state.base_bytes = state.current_bytes

    # ------------------------------------------------------------------ writing

    def plan(self) -> None:
        """The stream may have grown: plan one `flush` in the next turn of the loop, however often this is called."""
        if self.cursor is not None and not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_soon(self._flush_planned)

    def _flush_planned(self) -> None:
        self._planned = False
        self.flush()

    def flush(self, *, at_once: bool = False) -> None:
        """Write the new bytes of the stream; with appendfsync always they are on disk when this returns.

        With appendfsync everysec a running fsync makes a write wait for up to two seconds, unless `at_once`. When the
        disk fails, clients whose replies are not out yet and depend on these bytes get an error (`Clients.take_back`).
        """
        cursor, writer = self.cursor, self._writer
        if cursor is None or writer is None:
            return
        if not self.missing_bytes and not self._is_name_told():
            return
        try:
            assert self._place is not None
            self._place.follow(self._history.replid)
            if not at_once and self._must_postpone(writer):
                return
            with self._timed(AOF_WRITE):
                self._stamp(writer)
                while self._own.blocks:
                    block = self._own.blocks[0]
                    self._write_stream(writer, cursor, block.cut)
                    writer.append(own_block(block.commands()))
                    self._own.take(block)
                    self._unsynced = True
                self._write_stream(writer, cursor, self._backlog.end)
            if self._node.settings.appendfsync == "always":
                with self._timed(AOF_FSYNC_ALWAYS):
                    writer.sync()
                self._note_synced(cursor.at, writer.size)
        except OSError as error:
            self._failed(error.strerror or str(error))
            self._clients.take_back(cursor.at, MISCONF_AOF + self._state.write_error)
            return
        self._state.current_bytes = self._other_bytes + writer.size
        self.recovered()

    def _write_stream(self, writer: AofWriter, cursor: Cursor, end: int) -> None:
        """Write the stream up to the cut `end`, where a unit ends. Raises OSError."""
        while cursor.at < end:
            data = b"".join(self._backlog.read(cursor.at, min(_CHUNK_BYTES, end - cursor.at)))
            writer.append(data)
            cursor.advance(len(data))
            self._unsynced = True
            self._is_whole = cursor.at == end

    def _stamp(self, writer: AofWriter) -> None:
        """With aof-timestamp-enabled, write what time it is before what is written next: each second once, and never
        inside a unit that the disk has refused the rest of. Raises OSError."""
        if not self._node.settings.aof_timestamp_enabled or not self.missing_bytes or not self._is_whole:
            return
        now_s = self._clock.unix_ms() // 1000
        if now_s != self._stamped_s:
            writer.append(timestamp(now_s))
            self._stamped_s = now_s

    def _timed(self, event: str) -> AbstractContextManager[None]:
        """Tells the latency monitor how long what runs inside took, while the monitor is on."""
        monitor = self._node.latency_monitor
        return _timing(monitor, event, self._clock) if monitor.is_on else nullcontext()

    def _must_postpone(self, writer: AofWriter) -> bool:
        """Does an fsync run that the write has to wait for? After _POSTPONE_S the write goes on all the same."""
        if not writer.is_syncing or self._node.settings.appendfsync != "everysec":
            self._postponed_at = None
            return False
        now = self._clock.now()
        if self._postponed_at is None:
            self._postponed_at = now
        if now - self._postponed_at < _POSTPONE_S:
            return True
        self._postponed_at = None
        self._state.delayed_fsyncs += 1
        return False

    def _is_name_told(self) -> bool:
        """Has our stream a new name that replicas may know already, and that is not in the place on disk yet?"""
        replication = self._node.replication
        named = self._place is None or self._place.place.replid == self._history.replid
        return not named and bool(replication.roster.sessions)

    def sync_if_due(self) -> None:
        """Begin an fsync on a thread if one is due: each second when something was written, unless appendfsync is no or
        no-appendfsync-on-rewrite forbids it while a child runs."""
        writer, cursor = self._writer, self.cursor
        settings = self._node.settings
        if writer is None or cursor is None or not self._unsynced or writer.is_syncing:
            return
        if settings.appendfsync == "no" or (settings.no_appendfsync_on_rewrite and self._saver.is_busy):
            return
        now = self._clock.now()
        if now - self._synced_at < _FSYNC_EVERY_S:
            return
        self._synced_at = now
        self._unsynced = False
        cut, size = cursor.at, writer.size
        self._state.is_syncing = True

        def done(error: str) -> None:
            self._state.is_syncing = False
            if error:
                self._unsynced = True
                self._failed(error)
            elif self._writer is writer:
                self._note_synced(cut, size)
                self.flush()
                self._signals.fsynced.tell()

        writer.sync_aside(done)

    def _note_synced(self, cut: int, size: int) -> None:
        """The file is on disk up to `cut`, its first `size` bytes. This counts as durable only if the manifest names
        the file: before its base is whole, a start after a crash would not load it."""
        if self.is_on:
            self._state.synced_cut = max(cut, self._state.synced_cut)
        if self._writer is not None and self._writer.size == size:
            self._unsynced = False

    def _failed(self, error: str) -> None:
        """The disk has refused a write or an fsync. With appendfsync always the node ends, as Redis does."""
        if self._node.settings.appendfsync == "always":
            self._log(events.AofFatal(error))
            self._faults.die()
        if not self._state.write_error:
            self._log(events.AofWriteFailed(error))
        self._state.write_error = error
        if self.missing_bytes > MOST_BEHIND_BYTES:
            self._fell_behind(error)

    def sync_soon(self) -> None:
        """Let the next fsync come though nothing was written: the manifest names the file now, so that the fsync
        acknowledges more."""
        self._unsynced = self.cursor is not None

    def recovered(self) -> None:
        """The disk takes writes: end the state of a write error, if there was one."""
        if self._state.write_error:
            self._state.write_error = ""
            self._log(events.AofWriteRecovered())


@contextmanager
def _timing(monitor: LatencyMonitor, event: str, clock: Clock) -> Iterator[None]:
    """Tells the monitor of an event that lasts from the begin of the `with` to its end."""
    started_at = clock.now()
    yield
    monitor.note(event, clock.now() - started_at, clock.unix_ms())
