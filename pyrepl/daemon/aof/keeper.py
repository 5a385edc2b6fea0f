"""Keeps the node's append-only file while the node runs: loads it at the start, and decides when new files begin.

The append-only file is a base (a snapshot) and the files behind it that the stream is appended to, called incrs. `tail`
writes the last incr; this module decides when a rewrite makes a new base and a new incr. What is appended is the
replication stream itself, read from the backlog as a replica reads it, and aside from it what clients wrote to a
writable replica. So a place in the file is a place in the stream (aof/place.py), and the pings of the stream stand in
the file too, where they do nothing. `beginning` calls
`load_at_start` and `begin`; App subscribes `stream_ends` and `stream_begins` to the signals. The states:

    off      appendonly no
    waiting  the data is not what the files say (a full resync, CONFIG SET appendonly yes): a rewrite makes a new base
             and incr, and only when both are whole the manifest names them; until then the old ones are the truth
    on       the last incr of the manifest gets every byte of the stream

The order of steps on disk lets a crash at any point lose nothing, and leave no file behind for ever: (1) the new incr
and its place are written, (2) the manifest names them, and the old files as history, (3) the old files are removed,
(4) the manifest forgets the old files. Source of the states: Redis 7.0 aof.c.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from errno import EIO
from typing import Final, final

from pyrepl.aof.manifest import Entry, FileType, Manifest
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.daemon.aof.load import AofLoad
from pyrepl.daemon.aof.place import FoundPlace, find_place, noted_place
from pyrepl.daemon.aof.rewrite import AofRewrite
from pyrepl.daemon.aof.tail import AofTail
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
from pyrepl.node.latency_monitor import FORK
from pyrepl.node.node import Node
from pyrepl.node.persistence import RETRY_S
from pyrepl.observability import events
from pyrepl.rdb.types.row import CannotHold
from pyrepl.replication.events import OtherChild

_LOOK_EVERY_S: Final = 0.1


@final
class AofKeeper(Service):
    """Decides when new files begin. Invariant: `_base` is set exactly while a child writes that base."""

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
        """`loads` marks the node as loading (-LOADING, INFO) while a file is read."""
        self._node = node
        self._dispatcher = dispatcher
        self._saver = saver
        self._loads = loads
        self._signals = signals
        self._clock = clock
        self._log = log
        self._state = node.persistence.aof
        self._backlog = node.replication.backlog
        self._role = node.replication.role
        self._rewrite = AofRewrite(saver, self._rewritten)
        self.tail = AofTail(node, clients, saver, signals, faults, clock, log, self._fall_behind)
        self._base: Entry | None = None
        """The base that a child is writing."""
        self._found: FoundPlace | None = None
        """The place in a stream at which the files that were loaded at the start end, None if not known."""
        self._started = False
        self._rewrite_at = 0.0
        """No rewrite begins by itself before this time (monotonic seconds)."""
        self._is_over = False

    # ------------------------------------------------------------------ start

    async def load_at_start(self) -> dict[bytes, bytes] | None:
        """Load the node's append-only file. None if there is no file, or appendonly is no.

        Returns the place in a stream at which the file ends, in the form of a snapshot's aux fields; {} if the place is
        not known. Raises ConfigError.
        """
        node = self._node
        if not node.settings.appendonly:
            return None
        self.tail.files = AofFiles.of(self._node.settings)
        manifest = self.tail.files.open_manifest()
        self.tail.files.remove_leftovers(manifest or Manifest())
        if manifest is None or not manifest.loaded:
            return None
        self.tail.files.manifest = manifest
        started_at = self._clock.now()
        total = sum(self.tail.files.size(entry.name) for entry in manifest.loaded)
        loading = self._loads.begin_loading(total, asynchronous=False)
        load = self._new_load()
        try:
            place = noted_place(self.tail.files, manifest)
            for _ in load.steps(manifest, place):
                loading.loaded_bytes = load.loaded_bytes
                await asyncio.sleep(0)
        finally:
            self._loads.end_loading(None)
        node.persistence.dirty_at_last_save = node.keyspace.dirty
        self._log(events.AofLoaded(self._clock.now() - started_at))
        found = self._found = find_place(place, load.end, load.aside) if place is not None else None
        if found is None:
            return {}
        self._log(events.AofPlaceFound(found.place.replid, found.cut))
        return found.fields(load.db)

    def begin(self) -> None:
        """Keep the file from now on; without one, write its first base here. To be called once, after the load, before
        clients are served. On a replica the file is begun by `stream_begins`. Raises ConfigError."""
        self._started = True
        settings = self._node.settings
        self._state.enabled = settings.appendonly
        if not settings.appendonly or not self._role.has_stream:
            return
        self._role.keep_stream()
        try:
            base = self.tail.files.manifest.base
            if not self.tail.files.manifest.loaded:
                if self._loads.has_loaded_at_start:
                    self._log(events.AofFromSnapshot(str(self._saver.dump_path)))
                base = self._write_base_here()
            self.tail.open_last(base, self._found)
        except (OSError, CannotHold) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                f"Can't open or create the append-only files in {self.tail.files.folder}: {reason}"
            ) from None
        self.tail.measure(as_base=True)

    def reload(self) -> None:
        """DEBUG LOADAOF: replace the data by what the files hold. With appendonly no, the files that are still on disk.

        Raises ConfigError and OSError. If there is no complete file, the data is kept; if a file cannot be read to its
        end, the node has the data that was loaded up to there.
        """
        self.tail.flush()
        if not self._state.enabled:
            self.tail.files = AofFiles.opened(self._node.settings)
        if not self.tail.files.manifest.loaded or (self._state.enabled and not self.tail.is_on):
            raise ConfigError(f"there is no complete append only file in {self.tail.files.folder}")
        self._node.keyspace.clear()
        for _ in self._new_load().steps(self.tail.files.manifest):
            pass
        self._node.persistence.dirty_at_last_save = self._node.keyspace.dirty

    # ------------------------------------------------------------------ in time

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S

    def tick(self, now: float) -> None:
        """Write the stream's new bytes, and begin the fsync and the rewrite that are due."""
        if not self._started or self._is_over:
            return
        self.tail.flush()
        self._state.buffer_bytes = self.tail.missing_bytes
        self.tail.sync_if_due()
        self._rewrite_if_due()
        self._signals.fsynced.tell()

    def _fall_behind(self, error: str) -> None:
        """Give up the present files: the disk refuses writes with `error`, and too much of the stream waits.

        A master refuses writes then, but a replica's stream goes on, and the backlog cannot keep all of it. The files
        stay as they are, and a rewrite is tried from time to time until the disk has room. (Redis ends such a replica.)
        """
        self._log(events.AofFellBehind(self.tail.missing_bytes))
        self._let_go()
        self._state.write_error = error
        self._rewrite_at = self._clock.now() + RETRY_S

    # ------------------------------------------------------------------ changes of stream and settings

    def settings_changed(self, names: Collection[str]) -> None:
        if not self._started or self._node.settings.appendonly == self._state.enabled:
            return
        if not self._node.settings.appendonly:
            self.tail.flush(at_once=True)
            self._state.enabled = False
            self._state.rewrite_scheduled = False
            self._let_go()
            self._signals.fsynced.tell()
            return
        self.tail.files = AofFiles.opened(self._node.settings)
        self._state.enabled = True
        self._rewrite_at = 0.0
        self._rewrite_if_due()

    def stream_ends(self) -> None:
        """Our data and stream are about to be replaced: the files on disk stay as they are until a rewrite replaces
        them."""
        if self.tail.cursor is not None:
            self.tail.flush(at_once=True)
            self._let_go()

    def stream_begins(self) -> None:
        """Our data and stream were replaced: the files do not fit any more, and a rewrite is due."""
        self._state.synced_cut = 0
        self._rewrite_at = 0.0
        if self._started:
            self._rewrite_if_due()

    def stop(self) -> None:
        """The node ends: bring everything to the disk and close the files."""
        self._is_over = True
        self.tail.flush(at_once=True)
        self._let_go()

    def _let_go(self) -> None:
        """Stop following the stream. A running rewrite is killed, and the base that it was writing is removed."""
        self._rewrite.stop(reap=True)
        self.tail.let_go()

    # ------------------------------------------------------------------ rewriting

    def begin_rewrite(self) -> None:
        """Fork a child that writes a new base, and let the stream go into a new incr. The caller has made sure that no
        other child runs. Raises OSError, and ConfigError for a manifest that cannot be read."""
        self._state.rewrite_scheduled = False
        # The new base holds the data of this moment. Stream bytes that are not in the old incr yet would be written to
        # the new one, behind a base that holds their effects already: a later load would execute them twice.
        self.tail.flush(at_once=True)
        self._rewrite_at = self._clock.now() + RETRY_S
        if self.tail.missing_bytes:
            self._state.last_rewrite_ok = False
            raise OSError(EIO, self._state.write_error or "the file lacks what was written last")
        if not self._state.enabled:
            self.tail.files = AofFiles.opened(self._node.settings)
        preamble = self._node.settings.aof_use_rdb_preamble
        seq = self.tail.files.manifest.next_base_seq
        self._base = Entry(self.tail.files.names.base(seq, preamble=preamble), seq, FileType.BASE)
        try:
            self.tail.files.make_folder()
            if self._role.has_stream and self._state.enabled:
                self._role.keep_stream()
                self.tail.open_fresh()
                self.tail.measure(as_base=False)
            pid = self._rewrite.start(self.tail.files.path(self._base.name), preamble=preamble)
        except OSError:
            self._state.last_rewrite_ok = False
            if not self.tail.is_on:
                self._give_up_fresh()
            raise
        self._state.rewrite_started_at = self._clock.now()
        self._node.stats.total_forks += 1
        self._node.latency_monitor.note(FORK, self._rewrite.fork_s, self._clock.unix_ms())
        self._signals.other_child.tell(OtherChild.REWRITE)
        self._log(events.AofRewriteStarted(pid))

    def _rewritten(self, outcome: Outcome) -> None:
        """The child that wrote the base has ended: if all went well, let the manifest name the new base and incr."""
        state = self._state
        base, self._base = self._base, None
        state.rewrite_started_at = None
        state.last_rewrite_s = int(outcome.seconds)
        state.last_cow_bytes = outcome.cow_bytes
        error = outcome.error
        if not error and base is not None:
            try:
                self.tail.files.persist(base, (self.tail.incr,) if self.tail.incr is not None else ())
            except OSError as failure:
                error = failure.strerror or str(failure)
        self._signals.other_child.tell(None)
        if outcome.is_unwanted:
            # We killed the child ourselves: that is no failure, and delays no later rewrite.
            self._forget_base(base)
            return
        state.last_rewrite_ok = not error
        if error:
            self._rewrite_failed(error, base)
            return
        # The base is on disk. The next fsync moves the acknowledged cut over all that the base and the incr hold.
        self.tail.sync_soon()
        state.rewrites += 1
        state.consecutive_failures = 0
        self.tail.recovered()
        self._log(events.AofRewriteSucceeded())
        self.tail.measure(as_base=True)

    def _rewrite_failed(self, error: str, base: Entry | None) -> None:
        state = self._state
        state.consecutive_failures += 1
        self._rewrite_at = self._clock.now() + state.retry_delay_s
        self._log(events.AofRewriteFailed(error))
        self._forget_base(base)

    def _forget_base(self, base: Entry | None) -> None:
        """Remove the base that was being written, and the incr that was made for it if no manifest names that incr."""
        if base is not None:
            self.tail.files.remove({base.name} - {entry.name for entry in self.tail.files.manifest.loaded})
        if not self.tail.is_on:
            self._give_up_fresh()

    def _give_up_fresh(self) -> None:
        """Remove the incr if no manifest names it. The files that the manifest names stay what a start loads."""
        incr = self.tail.incr
        if self.tail.cursor is not None and self._rewrite.child is None:
            self._let_go()
        if incr is not None and incr not in self.tail.files.manifest.incrs:
            self.tail.files.remove({incr.name, self.tail.files.names.place(incr.seq)})

    def _rewrite_if_due(self) -> None:
        state = self._state
        settings = self._node.settings
        if self._node.persistence.loading is not None or self._is_over:
            return
        if self._saver.is_busy:
            # The rewrite comes when the other child has ended, whatever that child is for (Redis 7.0).
            state.rewrite_scheduled |= state.enabled and self.tail.cursor is None and self._role.has_stream
            return
        wanted = state.rewrite_scheduled
        if state.enabled and self._clock.now() >= self._rewrite_at:
            if self.tail.cursor is None:
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
        """Write the first base in this process, before clients are served: a base from a child would come later, and
        writes that clients made until then would not be durable."""
        self.tail.files.make_folder()
        preamble = self._node.settings.aof_use_rdb_preamble
        base = Entry(self.tail.files.names.base(1, preamble=preamble), 1, FileType.BASE)
        self._rewrite.write_here(self.tail.files.path(base.name), preamble=preamble)
        return base

    def _new_load(self) -> AofLoad:
        return AofLoad(self._node, self._dispatcher, self.tail.files, self._clock, self._log)
