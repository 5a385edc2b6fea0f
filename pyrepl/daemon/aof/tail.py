"""The end of the append-only file: the incr that the stream is written to, and how it gets to the disk.

The tail is a reader of the backlog, as a replica is; when its files follow each other is the keeper's. Source of the
times and of what happens when the disk fails: Redis 7.0 aof.c.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, final

from pyrepl.aof.manifest import Entry, FileType
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
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.replication.backlog import Cursor
from pyrepl.units import Offset, ReplId

_CHUNK_BYTES: Final = 1 << 20
_FSYNC_EVERY_S: Final = 1.0
_POSTPONE_S: Final = 2.0
"""How long a write waits for an fsync that runs, as it would block the loop (Redis 2.4)."""
MOST_BEHIND_BYTES: Final = 64 << 20
"""What the files may lack of the stream while the disk refuses writes."""


@final
class AofTail:
    """Invariants: `_writer` and `cursor` are set together, and then `incr` is the file written; `cursor.at` is the cut
    behind the last byte written."""

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
        """`fell_behind` is told the error of a disk that refuses writes once the backlog cannot keep what it lacks."""
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
        self._other_bytes = 0
        """Of the files that the manifest names, but the one being written."""
        self._planned = False
        self._unsynced = False
        self._synced_at = 0.0
        self._postponed_at: float | None = None

    @property
    def is_on(self) -> bool:
        """The files on disk follow the data."""
        return self.cursor is not None and self.incr in self.files.manifest.incrs

    # ------------------------------------------------------------------ opening and closing

    def open_last(self, base: Entry | None, found: FoundPlace | None) -> None:
        """Go on in the last incr of the manifest; in a new one if it has none. Raises OSError.

        `found` is where the files that were loaded end, None if they do not say it.
        """
        is_new = not self.files.manifest.incrs
        incr = Entry(self.files.names.incr(1), 1, FileType.INCR) if is_new else self.files.manifest.incrs[-1]
        writer = self._writer = AofWriter(self.files.path(incr.name), is_new=is_new)
        self.incr = incr
        if not self._takes_up(incr, found):
            select = b"" if writer.size else self._node.replication.select_next_db
            # Before the SELECT, which is no part of the stream.
            at = writer.size + len(select)
            stands = Place(self._history.replid, self._backlog.end, incr.name, at)
            self._place = AofPlace.note(self.files, incr, stands)
            writer.append(select)
        self.files.persist(base, (*self.files.manifest.incrs[:-1], incr))
        self.cursor = self._backlog.attach(Offset(self._backlog.end))
        self._state.synced_cut = self._backlog.end

    def _takes_up(self, incr: Entry, found: FoundPlace | None) -> bool:
        """Does our stream go on where the file ends? Then what the file has of it is our backlog."""
        if found is None or found.cut != self._backlog.end or not self._history.knows(ReplId(found.place.replid)):
            return False
        if self._backlog.start == self._backlog.end:
            self._backlog.refill(found.tail(self.files.path(incr.name), self._backlog.capacity))
        self._place = AofPlace(self.files, incr, found.place)
        return True

    def open_fresh(self) -> None:
        """A new incr, from this cut on. If the files were in step, the manifest names it at once, as the last.
        Raises OSError, and nothing has changed then."""
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
            self.cursor = self._backlog.attach(Offset(self._backlog.end))

    def let_go(self) -> None:
        """Stop following the stream."""
        writer, self._writer = self._writer, None
        cursor, self.cursor = self.cursor, None
        if cursor is not None:
            self._backlog.detach(cursor)
        self.incr = self._place = None
        if writer is not None:
            try:
                writer.close()
            except OSError as error:
                self._log(events.AofWriteFailed(error.strerror or str(error)))
        self._state.write_error = ""

    def measure(self, *, as_base: bool) -> None:
        """Note how large the files are; `as_base`: growth is counted from here."""
        state = self._state
        state.current_bytes = sum(self.files.size(entry.name) for entry in self.files.manifest.loaded)
        self._other_bytes = state.current_bytes - (self._writer.size if self._writer is not None else 0)
        if as_base:
            state.base_bytes = state.current_bytes

    # ------------------------------------------------------------------ writing

    def plan(self) -> None:
        """Something may have been added to the stream: see to it that it is written within this turn of the loop."""
        if self.cursor is not None and not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_soon(self._flush_planned)

    def _flush_planned(self) -> None:
        self._planned = False
        self.flush()

    def flush(self, *, at_once: bool = False) -> None:
        """Write what the stream has; with appendfsync always it is on disk when this returns.

        `at_once`: also while an fsync is under way, as the file is about to be closed.
        """
        cursor, writer = self.cursor, self._writer
        if cursor is None or writer is None:
            return
        if cursor.at == self._backlog.end and not self._is_name_told():
            return
        try:
            assert self._place is not None
            self._place.follow(self._history.replid)
            if not at_once and self._must_postpone(writer):
                return
            while cursor.at < self._backlog.end:
                data = b"".join(self._backlog.read(cursor.at, _CHUNK_BYTES))
                writer.append(data)
                cursor.advance(len(data))
                self._unsynced = True
            if self._node.settings.appendfsync == "always":
                writer.sync()
                self._note_synced(cursor.at)
        except OSError as error:
            self._failed(error.strerror or str(error))
            self._clients.take_back(cursor.at, MISCONF_AOF + self._state.write_error)
            return
        self._state.current_bytes = self._other_bytes + writer.size
        self.recovered()

    def _must_postpone(self, writer: AofWriter) -> bool:
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
        """Has our stream a new name that others may know already, and the place does not?"""
        replication = self._node.replication
        named = self._place is None or self._place.place.replid == self._history.replid
        return not named and bool(replication.roster.sessions)

    def sync_if_due(self) -> None:
        """Begin an fsync on a thread if one is due."""
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
        cut = cursor.at
        self._state.is_syncing = True

        def done(error: str) -> None:
            self._state.is_syncing = False
            if error:
                self._unsynced = True
                self._failed(error)
            elif self._writer is writer:
                self._note_synced(cut)
                self.flush()
                self._signals.fsynced.tell()

        writer.sync_aside(done)

    def _note_synced(self, cut: int) -> None:
        """What is written before its base is whole is not there after a crash."""
        if self.is_on:
            self._state.synced_cut = max(cut, self._state.synced_cut)
        if self.cursor is not None and self.cursor.at == cut:
            self._unsynced = False

    def _failed(self, error: str) -> None:
        if self._node.settings.appendfsync == "always":
            self._log(events.AofFatal(error))
            self._faults.die()
        if not self._state.write_error:
            self._log(events.AofWriteFailed(error))
        self._state.write_error = error
        if self.cursor is not None and self._backlog.end - self.cursor.at > MOST_BEHIND_BYTES:
            self._fell_behind(error)

    def sync_soon(self) -> None:
        """The next fsync is wanted though nothing was written: what it acknowledges has changed."""
        self._unsynced = self.cursor is not None

    def recovered(self) -> None:
        """The disk takes writes again, if it did not."""
        if self._state.write_error:
            self._state.write_error = ""
            self._log(events.AofWriteRecovered())
