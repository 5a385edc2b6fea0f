"""The node's append-only file while it runs: what is written when, and how its files follow each other.

What is appended is the replication stream itself, read from the backlog like a replica reads it: so a place in the
file is a place in the stream (aof/place.py), and the pings of the stream stand in the file too, where they do nothing.

    off      appendonly no
    waiting  the data is not what the files say (a full resync, CONFIG SET appendonly yes): a rewrite makes a new base
             and incr, and only when both are whole the manifest names them; until then the old ones are the truth
    on       the last incr of the manifest gets every byte of the stream

Order on disk, so that a crash at any point loses nothing and leaves nothing for ever: the new incr and its place, then
the manifest that names them, with the old files as history, then those go, then the manifest forgets them. Source of
the states: Redis 7.0 aof.c.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from errno import EIO
from typing import Final, final

from pyrepl.aof.manifest import Entry, FileType, Manifest
from pyrepl.aof.place import Place
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.gates import MISCONF_AOF
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.daemon.aof.load import AofLoad
from pyrepl.daemon.aof.place import AofPlace, FoundPlace, find_place
from pyrepl.daemon.aof.rewrite import AofRewrite
from pyrepl.daemon.aof.writer import AofWriter
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.files import Files
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.disk.snapshot import Outcome
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.service import Service
from pyrepl.daemon.signals import Signals
from pyrepl.errors import ConfigError
from pyrepl.node.node import Node
from pyrepl.node.persistence import RETRY_S
from pyrepl.observability import events
from pyrepl.rdb.types.row import CannotHold
from pyrepl.replication.backlog import Cursor
from pyrepl.units import Offset, ReplId

_CHUNK_BYTES: Final = 1 << 20
_FSYNC_EVERY_S: Final = 1.0
_LOOK_EVERY_S: Final = 0.1
_POSTPONE_S: Final = 2.0
"""How long a write waits for an fsync that runs, as it would block the loop (Redis 2.4)."""
MOST_BEHIND_BYTES: Final = 64 << 20
"""What the files may lack of the stream while the disk refuses writes."""


@final
class AofKeeper(Service):
    """Invariants: `_writer` and `_cursor` are set together, and then `_incr` is the file written; `_cursor.at` is the
    cut behind the last byte written."""

    def __init__(
        self,
        node: Node,
        dispatcher: Dispatcher,
        clients: Clients,
        saver: Saver,
        loads: Files,
        signals: Signals,
        faults: Faults,
        clock: Clock,
        log: Log,
    ) -> None:
        """`loads` tells the node that it loads."""
        self._node = node
        self._dispatcher = dispatcher
        self._clients = clients
        self._saver = saver
        self._loads = loads
        self._signals = signals
        self._faults = faults
        self._clock = clock
        self._log = log
        self._state = node.persistence.aof
        self._backlog = node.replication.backlog
        self._history = node.replication.history
        self._role = node.replication.role
        self._rewrite = AofRewrite(saver, self._rewritten)
        self._files = AofFiles.of(self._node.settings)
        self._incr: Entry | None = None
        self._base: Entry | None = None
        """The base that the child writes."""
        self._writer: AofWriter | None = None
        self._cursor: Cursor | None = None
        self._place: AofPlace | None = None
        self._found: FoundPlace | None = None
        """Where the files that were loaded at the start end."""
        self._other_bytes = 0
        """Of the files that the manifest names, but the one being written."""
        self._started = False
        self._planned = False
        self._unsynced = False
        self._synced_at = 0.0
        self._postponed_at: float | None = None
        self._rewrite_at = 0.0
        self._is_over = False

    @property
    def is_on(self) -> bool:
        """The files on disk follow the data."""
        return self._cursor is not None and self._incr in self._files.manifest.incrs

    # ------------------------------------------------------------------ start

    async def load_at_start(self) -> dict[bytes, bytes] | None:
        """Load the node's append-only file; the place in a stream it holds, as a snapshot's fields say it. None if
        there is none, or appendonly is no. Raises ConfigError."""
        node = self._node
        if not node.settings.appendonly:
            return None
        self._files = AofFiles.of(self._node.settings)
        manifest = self._files.open_manifest()
        self._files.remove_leftovers(manifest or Manifest())
        if manifest is None or not manifest.loaded:
            return None
        self._files.manifest = manifest
        started_at = self._clock.now()
        total = sum(self._files.size(entry.name) for entry in manifest.loaded)
        loading = self._loads.begin_loading(total, asynchronous=False)
        load = self._new_load()
        try:
            for _ in load.steps(manifest):
                loading.loaded_bytes = load.loaded_bytes
                await asyncio.sleep(0)
        finally:
            self._loads.end_loading(None)
        node.persistence.dirty_at_last_save = node.keyspace.dirty
        self._log(events.AofLoaded(self._clock.now() - started_at))
        found = self._found = find_place(self._files, manifest, load.end)
        if found is None:
            return {}
        self._log(events.AofPlaceFound(found.place.replid, found.cut))
        return found.fields(load.db)

    def begin(self) -> None:
        """Keep the file from now on. Raises ConfigError."""
        self._started = True
        settings = self._node.settings
        self._state.enabled = settings.appendonly
        if not settings.appendonly or not self._role.has_stream:
            return
        self._role.keep_stream()
        try:
            base = self._files.manifest.base
            if not self._files.manifest.loaded:
                if self._loads.has_loaded_at_start:
                    self._log(events.AofFromSnapshot(str(self._saver.dump_path)))
                base = self._write_base_here()
            self._open_last(base)
        except (OSError, CannotHold) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(f"Can't open or create the append-only files in {self._files.folder}: {reason}") from None
        self._measure(as_base=True)

    def reload(self) -> None:
        """DEBUG LOADAOF; files from before `appendonly no` too. Raises ConfigError and OSError, and keeps the data."""
        self.flush()
        if not self._state.enabled:
            self._files = AofFiles.opened(self._node.settings)
        if not self._files.manifest.loaded or (self._state.enabled and not self.is_on):
            raise ConfigError(f"there is no complete append only file in {self._files.folder}")
        self._node.keyspace.clear()
        for _ in self._new_load().steps(self._files.manifest):
            pass
        self._node.persistence.dirty_at_last_save = self._node.keyspace.dirty

    # ------------------------------------------------------------------ writing

    def plan(self) -> None:
        """Something may have been added to the stream: see to it that it is written within this turn of the loop."""
        if self._cursor is not None and not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_soon(self._flush_planned)

    def flush(self, *, at_once: bool = False) -> None:
        """Write what the stream has; with appendfsync always it is on disk when this returns.

        `at_once`: also while an fsync is under way, as the file is about to be closed.
        """
        cursor, writer = self._cursor, self._writer
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
        self._recovered()

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S

    def tick(self, now: float) -> None:
        """Write, fsync and rewrite what is due."""
        if not self._started or self._is_over:
            return
        self.flush()
        cursor = self._cursor
        self._state.buffer_bytes = self._backlog.end - cursor.at if cursor is not None else 0
        self._sync_if_due()
        self._rewrite_if_due()
        self._signals.fsynced.tell()

    def _flush_planned(self) -> None:
        self._planned = False
        self.flush()

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

    def _sync_if_due(self) -> None:
        writer, cursor = self._writer, self._cursor
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
        if self._cursor is not None and self._cursor.at == cut:
            self._unsynced = False

    def _failed(self, error: str) -> None:
        if self._node.settings.appendfsync == "always":
            self._log(events.AofFatal(error))
            self._faults.die()
        if not self._state.write_error:
            self._log(events.AofWriteFailed(error))
        self._state.write_error = error
        self._node.review_guard()
        if self._cursor is not None and self._backlog.end - self._cursor.at > MOST_BEHIND_BYTES:
            self._fall_behind(error)

    def _fall_behind(self, error: str) -> None:
        """A replica's stream goes on while the disk takes nothing, and the backlog cannot keep it all: what is on disk
        stays as it is, and a rewrite follows when there is room. (Redis ends such a replica.)"""
        assert self._cursor is not None
        self._log(events.AofFellBehind(self._backlog.end - self._cursor.at))
        self._let_go()
        self._state.write_error = error
        self._rewrite_at = self._clock.now() + RETRY_S
        self._node.review_guard()

    def _recovered(self) -> None:
        if self._state.write_error:
            self._state.write_error = ""
            self._log(events.AofWriteRecovered())
            self._node.review_guard()

    # ------------------------------------------------------------------ changes of stream and settings

    def settings_changed(self, names: Collection[str]) -> None:
        if not self._started or self._node.settings.appendonly == self._state.enabled:
            return
        if not self._node.settings.appendonly:
            self.flush(at_once=True)
            self._state.enabled = False
            self._state.rewrite_scheduled = False
            self._let_go()
            self._signals.fsynced.tell()
            return
        self._files = AofFiles.opened(self._node.settings)
        self._state.enabled = True
        self._rewrite_at = 0.0
        self._rewrite_if_due()

    def stream_ends(self) -> None:
        """Our data and stream are about to be replaced: what is on disk stays as it is, until a rewrite."""
        if self._cursor is not None:
            self.flush(at_once=True)
            self._let_go()

    def stream_begins(self) -> None:
        """They were replaced: a new base is due."""
        self._state.synced_cut = 0
        self._rewrite_at = 0.0
        if self._started:
            self._rewrite_if_due()

    def stop(self) -> None:
        """The node ends: everything is on disk."""
        self._is_over = True
        self.flush(at_once=True)
        self._let_go()

    def _let_go(self) -> None:
        """Stop following the stream; a rewrite that runs comes to nothing."""
        self._rewrite.stop(reap=True)
        writer, self._writer = self._writer, None
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            self._backlog.detach(cursor)
        self._incr = self._place = None
        if writer is not None:
            try:
                writer.close()
            except OSError as error:
                self._log(events.AofWriteFailed(error.strerror or str(error)))
        self._state.write_error = ""
        self._node.review_guard()

    # ------------------------------------------------------------------ rewriting

    def begin_rewrite(self) -> None:
        """BGREWRITEAOF; no child runs (checked before). Raises OSError when it cannot begin."""
        self._state.rewrite_scheduled = False
        # The base is of this moment: what a running fsync or a full disk still kept back would come behind it, twice.
        self.flush(at_once=True)
        self._rewrite_at = self._clock.now() + RETRY_S
        if self._cursor is not None and self._cursor.at != self._backlog.end:
            self._state.last_rewrite_ok = False
            raise OSError(EIO, self._state.write_error or "the file lacks what was written last")
        if not self._state.enabled:
            self._files = AofFiles.opened(self._node.settings)
        preamble = self._uses_preamble
        seq = self._files.manifest.next_base_seq
        self._base = Entry(self._files.names.base(seq, preamble=preamble), seq, FileType.BASE)
        try:
            self._files.make_folder()
            if self._role.has_stream and self._state.enabled:
                self._role.keep_stream()
                self._open_fresh()
                self._measure(as_base=False)
            pid = self._rewrite.start(self._files.path(self._base.name), preamble=preamble)
        except OSError:
            self._state.last_rewrite_ok = False
            if not self.is_on:
                self._give_up_fresh()
            raise
        self._state.rewrite_started_at = self._clock.now()
        self._node.stats.total_forks += 1
        self._signals.other_child.tell(True)
        self._log(events.AofRewriteStarted(pid))

    def _open_fresh(self) -> None:
        """A new incr, from this cut on. If the files were in step, the manifest names it at once, as the last."""
        was_on = self.is_on
        seq = max(self._files.manifest.next_incr_seq, (self._incr.seq + 1) if self._incr is not None else 1)
        incr = Entry(self._files.names.incr(seq), seq, FileType.INCR)
        writer = AofWriter(self._files.path(incr.name), is_new=True)
        try:
            writer.append(self._node.replication.select_next_db)
            stands = Place(self._history.replid, self._backlog.end, incr.name, writer.size)
            place = AofPlace.note(self._files, incr, stands)
            if was_on:
                assert self._writer is not None
                self._writer.sync()
                self._files.persist(self._files.manifest.base, (*self._files.manifest.incrs, incr))
        except OSError:
            writer.close()
            self._files.remove({incr.name, self._files.names.place(seq)})
            raise
        if self._writer is not None:
            self._writer.close()
        self._writer, self._incr, self._place = writer, incr, place
        if self._cursor is None:
            self._cursor = self._backlog.attach(Offset(self._backlog.end))

    def _rewritten(self, outcome: Outcome) -> None:
        """The child has ended."""
        state = self._state
        base, self._base = self._base, None
        state.rewrite_started_at = None
        state.last_rewrite_s = int(outcome.seconds)
        state.last_cow_bytes = outcome.cow_bytes
        error = outcome.error
        if not error and base is not None:
            try:
                self._files.persist(base, (self._incr,) if self._incr is not None else ())
            except OSError as failure:
                error = failure.strerror or str(failure)
        self._signals.other_child.tell(False)
        if outcome.is_unwanted:
            # No failure, and nothing to wait for before the next one.
            self._forget_base(base)
            return
        state.last_rewrite_ok = not error
        if error:
            self._rewrite_failed(error, base)
            return
        # The base is on disk, and what it holds is acknowledged by the fsync that comes next.
        self._unsynced = self._cursor is not None
        state.rewrites += 1
        state.consecutive_failures = 0
        self._recovered()
        self._log(events.AofRewriteSucceeded())
        self._measure(as_base=True)

    def _rewrite_failed(self, error: str, base: Entry | None) -> None:
        state = self._state
        state.consecutive_failures += 1
        self._rewrite_at = self._clock.now() + state.retry_delay_s
        self._log(events.AofRewriteFailed(error))
        self._forget_base(base)

    def _forget_base(self, base: Entry | None) -> None:
        """The base that was being written comes to nothing."""
        if base is not None:
            self._files.remove({base.name} - {entry.name for entry in self._files.manifest.loaded})
        if not self.is_on:
            self._give_up_fresh()

    def _give_up_fresh(self) -> None:
        """The incr that no manifest names goes; the files of before stay what is loaded."""
        incr = self._incr
        if self._cursor is not None and self._rewrite.child is None:
            self._let_go()
        if incr is not None and incr not in self._files.manifest.incrs:
            self._files.remove({incr.name, self._files.names.place(incr.seq)})

    def _rewrite_if_due(self) -> None:
        state = self._state
        settings = self._node.settings
        if self._node.persistence.loading is not None or self._is_over:
            return
        if self._saver.is_busy:
            # It comes next, whatever the other child is for (Redis 7.0).
            state.rewrite_scheduled |= state.enabled and self._cursor is None and self._role.has_stream
            return
        wanted = state.rewrite_scheduled
        if state.enabled and self._clock.now() >= self._rewrite_at:
            if self._cursor is None:
                wanted = wanted or self._role.has_stream
            elif settings.auto_aof_rewrite_percentage and state.current_bytes > settings.auto_aof_rewrite_min_size:
                percent = state.current_bytes * 100 // max(1, state.base_bytes) - 100
                if percent >= settings.auto_aof_rewrite_percentage:
                    self._log(events.AofAutoRewrite(percent))
                    wanted = True
        if wanted:
            try:
                self.begin_rewrite()
            except OSError as error:
                self._rewrite_failed(error.strerror or str(error), None)

    # ------------------------------------------------------------------ files

    def _write_base_here(self) -> Entry:
        """The first base, before anybody is served: also the first write is durable then."""
        self._files.make_folder()
        preamble = self._uses_preamble
        base = Entry(self._files.names.base(1, preamble=preamble), 1, FileType.BASE)
        self._rewrite.write_here(self._files.path(base.name), preamble=preamble)
        return base

    @property
    def _uses_preamble(self) -> bool:
        """Functions, which we keep for others and cannot load as commands, need the snapshot."""
        return self._node.settings.aof_use_rdb_preamble or bool(self._node.functions)

    def _open_last(self, base: Entry | None) -> None:
        """Go on in the last incr of the manifest; in a new one if it has none."""
        is_new = not self._files.manifest.incrs
        incr = Entry(self._files.names.incr(1), 1, FileType.INCR) if is_new else self._files.manifest.incrs[-1]
        writer = self._writer = AofWriter(self._files.path(incr.name), is_new=is_new)
        self._incr = incr
        if not self._takes_up(incr):
            select = b"" if writer.size else self._node.replication.select_next_db
            # Before the SELECT, which is no part of the stream.
            at = writer.size + len(select)
            stands = Place(self._history.replid, self._backlog.end, incr.name, at)
            self._place = AofPlace.note(self._files, incr, stands)
            writer.append(select)
        self._files.persist(base, (*self._files.manifest.incrs[:-1], incr))
        self._cursor = self._backlog.attach(Offset(self._backlog.end))
        self._state.synced_cut = self._backlog.end

    def _takes_up(self, incr: Entry) -> bool:
        """Does our stream go on where the file ends? Then what the file has of it is our backlog."""
        found = self._found
        if found is None or found.cut != self._backlog.end or not self._history.knows(ReplId(found.place.replid)):
            return False
        if self._backlog.start == self._backlog.end:
            self._backlog.refill(found.tail(self._files.path(incr.name), self._backlog.capacity))
        self._place = AofPlace(self._files, incr, found.place)
        return True

    def _is_name_told(self) -> bool:
        """Has our stream a new name that others may know already, and the place does not?"""
        replication = self._node.replication
        named = self._place is None or self._place.place.replid == self._history.replid
        return not named and bool(replication.roster.sessions)

    def _measure(self, *, as_base: bool) -> None:
        state = self._state
        state.current_bytes = sum(self._files.size(entry.name) for entry in self._files.manifest.loaded)
        self._other_bytes = state.current_bytes - (self._writer.size if self._writer is not None else 0)
        if as_base:
            state.base_bytes = state.current_bytes

    def _new_load(self) -> AofLoad:
        return AofLoad(self._node, self._dispatcher, self._files, self._clock, self._log)
