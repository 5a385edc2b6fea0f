"""Starts the node's snapshots, one child process at a time, and notes how they end.

BGSAVE, save points and replicas (`feeding/replicas.py`) ask for snapshots; SAVE is written in this process. Not here:
the child itself (`snapshot`), what a snapshot for replicas means to them (`replicas`), the rewrites of the append-only
file (`aof/rewrite.py`), which count as a running child too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.snapshot import Outcome, Snapshot, Target, ToFile, ToReplicas, save_to_file
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.service import Service
from pyrepl.daemon.signals import Signals
from pyrepl.keyspace.idmp import limits_of_new
from pyrepl.keyspace.snapshot import SnapshotJob, needs_version
from pyrepl.node.latency_monitor import FORK
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.telling.snapshots import SnapshotTeller
from pyrepl.observability.telling.voice import Voice
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.types.row import CannotHold
from pyrepl.rdb.values import IdmpLimits
from pyrepl.rdb.versions import Version, numbered
from pyrepl.replication.events import OtherChild
from pyrepl.replication.replconf import Exclusion

SNAPSHOT_VERSION_NAME = b"7.0.15"
"""The aux field redis-ver: the version of Redis that writes files like ours. Readers only log it."""

_LOOK_EVERY_S: Final = 0.1


@final
class Saver(Service):
    """Starts and follows snapshots.

    Invariant: `_child` is set exactly while a child process exists.
    """

    def __init__(self, node: Node, signals: Signals, clock: Clock, log: Log, tell: Callable[[Record], None]) -> None:
        """`tell` takes the records of the event log."""
        self._node = node
        self._signals = signals
        self._clock = clock
        self._log = log
        self._teller = SnapshotTeller(Voice(log, tell))
        self.number = 0
        """The number of the snapshot begun last, counted from 1; 0 before the first."""
        self._child: Snapshot | None = None
        self._on_end: Callable[[Outcome], None] | None = None
        self._for_replicas = False
        self._is_over = False
        self._dirty_at_start = 0
        self._scheduled = False
        self._last_try_at = 0.0

    @property
    def dump_path(self) -> Path:
        """The absolute path of dump.rdb; it changes with `dir` and `dbfilename`."""
        return Path(self._node.settings.dbfilename).absolute()

    @property
    def is_busy(self) -> bool:
        """Does a child run, of a snapshot or of a rewrite of the append-only file?"""
        return self._child is not None or self._node.persistence.aof.is_rewriting

    @property
    def niceness(self) -> int:
        """How much less of the processor children get than this process (snapshot-nice, 0 to 19)."""
        return self._node.settings.snapshot_nice

    def schedule(self) -> None:
        """BGSAVE SCHEDULE: begin a BGSAVE as soon as no child runs."""
        self._scheduled = True

    def bgsave(self) -> bool:
        """Start a child that writes dump.rdb. False when the system cannot fork. The caller has looked at `is_busy`."""
        self._scheduled = False
        return self.start(ToFile(self.dump_path), self._job(), lambda outcome: None, for_replicas=False)

    def start(
        self,
        target: Target,
        job: SnapshotJob,
        on_end: Callable[[Outcome], None],
        *,
        for_replicas: bool,
        on_lost: Callable[[int, str], None] = lambda fd, why: None,
    ) -> bool:
        """Fork a child that writes `job` to `target`. No other child may run.

        `on_end` is called once the child is reaped. Before that, `on_lost(descriptor, why)` is called for each socket
        that the child gives up. False if there is no child: the fork has failed, which is logged, or the node ends.
        """
        assert self._child is None
        if self._is_over:
            return False
        node = self._node
        persistence = node.persistence
        child = Snapshot(self._receive_progress, self._receive_end, self.niceness, on_lost)
        self._dirty_at_start = node.keyspace.dirty
        self._last_try_at = self._clock.now()
        try:
            child.start(job, target)
        except OSError as error:
            self._log(events.CannotFork(error.strerror or str(error)))
            persistence.last_bgsave_ok = False
            return False
        self._child = child
        self._on_end = on_end
        persistence.bgsave_started_at = self._clock.now()
        persistence.bgsave_target = "disk" if isinstance(target, ToFile) else "socket"
        persistence.child_pid = child.pid
        persistence.child_keys_done = 0
        persistence.child_keys_total = job.key_count
        node.stats.total_forks += 1
        node.stats.latest_fork_usec = child.fork_us
        node.latency_monitor.note(FORK, child.fork_us / 1e6, self._clock.unix_ms())
        self._for_replicas = for_replicas
        target_name, keys = persistence.bgsave_target, persistence.child_keys_total
        self.number = self._teller.started(self._purpose, target_name, child.pid, keys, child.fork_us, node.stream_end)
        if not for_replicas:
            self._signals.other_child.tell(OtherChild.BGSAVE)
        return True

    @property
    def _purpose(self) -> str:
        return "replicas" if self._for_replicas else "bgsave"

    def kill(self, reason: str) -> None:
        """Kill the child, if there is one, because of `reason`. `on_end` is called as usual."""
        if self._child is not None:
            self._child.kill(reason)

    def go_on(self) -> None:
        """The shutdown was given up: children may be started again."""
        self._is_over = False

    def stop(self) -> None:
        """The node ends: kill the child, and start no other one, whatever the callbacks of its end ask for."""
        self._is_over = True
        if self._child is not None:
            self._log(events.KillingSnapshotChild(self._child.pid))
            self._child.kill_and_reap()

    def save(self) -> str:
        """Write dump.rdb in this process, which serves nobody meanwhile. Returns the reason of a failure, or empty."""
        node = self._node
        started_at = self._clock.now()
        dirty = node.keyspace.dirty
        try:
            save_to_file(self._job(), self.dump_path, lambda done: None)
        except (OSError, CannotHold) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            self._log(events.CannotWriteSnapshot("save", reason))
            node.persistence.last_bgsave_ok = False
            return reason
        self._log(events.SavedOnDisk())
        self._note_saved(dirty, int(self._clock.now() - started_at))
        return ""

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S

    def tick(self, now: float) -> None:
        """Start a BGSAVE that was scheduled, or that a save point asks for."""
        if self.is_busy or self._node.persistence.loading is not None:
            return
        if self._scheduled:
            self.bgsave()
            return
        persistence = self._node.persistence
        changes = self._node.keyspace.dirty - persistence.dirty_at_last_save
        elapsed_s = self._clock.unix_ms() // 1000 - persistence.last_save_unix_s
        for seconds, least in self._node.settings.save:
            if changes >= least and elapsed_s > seconds and self._may_retry():
                self._log(events.SavePointReached(least, seconds))
                self.bgsave()
                return

    def flushed(self) -> None:
        """FLUSHALL: kill the child, as it writes data that must not come back. With save points also write dump.rdb
        now, so that the old data does not come back from there (Redis 7.0 `flushAllDataAndResetRDB`).

        Replicas that the child writes for are cut when it ends; they come back for a snapshot without the old data.
        """
        if self._child is not None:
            self._log(events.KillingSnapshotChild(self._child.pid))
            self._child.kill("the data was flushed")
        if self._node.settings.save and self._node.persistence.loading is None:
            self.save()

    @property
    def idmp_limits(self) -> IdmpLimits:
        """The limits that a new stream (XADD) gets for its idempotency ids."""
        return limits_of_new(self._node.settings)

    def job(
        self, version: Version | None = None, *, compressed: bool = True, excluded: Exclusion = Exclusion.NONE
    ) -> SnapshotJob:
        """A snapshot of this moment, ready to be written. `version` is the RDB version; None means the one that the
        directive `rdb-version` sets, or without it the lowest version that can hold the data.

        `compressed` False writes without compression, True as `rdbcompression` says. `excluded` is left out.
        """
        return self._job(version, compressed=compressed, excluded=excluded)

    def _may_retry(self) -> bool:
        """May a save point start a BGSAVE? Not within five seconds of one that failed (CONFIG_BGSAVE_RETRY_DELAY)."""
        return self._node.persistence.last_bgsave_ok or self._clock.now() - self._last_try_at > 5

    def _job(
        self, version: Version | None = None, *, compressed: bool = True, excluded: Exclusion = Exclusion.NONE
    ) -> SnapshotJob:
        node = self._node
        settings = node.settings
        configured = None if settings.rdb_version is None else numbered(settings.rdb_version)
        return SnapshotJob(
            keyspace=node.keyspace,
            aux=self._aux(),
            version=version or configured or needs_version(node.keyspace, idmp=True),
            packing=packing_of(settings),
            checksum=settings.rdbchecksum,
            compress=settings.rdbcompression and compressed,
            functions=() if Exclusion.FUNCTIONS in excluded else node.functions.texts(),
            has_keys=Exclusion.DATA not in excluded,
            access=node.memory.tracker,
            key_save_delay_us=settings.rdb_key_save_delay,
        )

    def _aux(self) -> tuple[tuple[bytes, bytes], ...]:
        node = self._node
        fields = [
            (b"redis-ver", SNAPSHOT_VERSION_NAME),
            (b"redis-bits", b"64"),
            (b"ctime", b"%d" % (self._clock.unix_ms() // 1000)),
            (b"used-mem", b"%d" % node.process.rss_bytes),
        ]
        fields.extend(node.replication.snapshot_fields())
        fields.append((b"aof-base", b"0"))
        return tuple(fields)

    def _receive_progress(self, keys: int) -> None:
        self._node.persistence.child_keys_done = keys

    def _receive_end(self, outcome: Outcome) -> None:
        on_end, self._on_end = self._on_end, None
        self._child = None
        target = outcome.target
        readers = len(target.heads) - len(outcome.lost) if isinstance(target, ToReplicas) else 0
        self._teller.ended(outcome, readers)
        persistence = self._node.persistence
        persistence.bgsave_started_at = None
        persistence.bgsave_target = ""
        persistence.child_pid = None
        persistence.last_bgsave_s = int(outcome.seconds)
        persistence.last_cow_bytes = outcome.cow_bytes
        if isinstance(target, ToFile):
            self._note_file(outcome)
        if not self._for_replicas:
            self._signals.other_child.tell(None)
        if on_end is not None:
            on_end(outcome)

    def _note_file(self, outcome: Outcome) -> None:
        if outcome.is_unwanted:
            return
        if outcome.error:
            self._node.persistence.last_bgsave_ok = False
            return
        self._note_saved(self._dirty_at_start, int(outcome.seconds))

    def _note_saved(self, dirty: int, seconds: int) -> None:
        persistence = self._node.persistence
        persistence.last_bgsave_ok = True
        persistence.last_bgsave_s = seconds
        persistence.last_save_unix_s = self._clock.unix_ms() // 1000
        persistence.dirty_at_last_save = dirty
        persistence.saves += 1


def packing_of(settings: object) -> PackingSettings:
    """The limits up to which values are written in packed form, from the directives of the same names."""
    return PackingSettings(**{name: getattr(settings, name) for name in PackingSettings._fields})
