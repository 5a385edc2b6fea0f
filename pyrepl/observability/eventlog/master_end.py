"""What a master has to tell of its replicas' syncs in the event log: watches the sessions, and adds up.

The shell of the sessions (daemon/feeding/replicas) calls in the order in which things happen; the records go to `emit`.
Nothing here changes what happens. The replica's own end is replica_end.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.records import (
    BufferPeak,
    CatchUpEnded,
    DeliveryEnded,
    DeliveryStarted,
    Online,
    PsyncAsked,
    PsyncDecided,
    RdbChannelOpened,
    ReplicaDown,
)
from pyrepl.observability.eventlog.syncs import (
    CONTINUE,
    FULL_DISK,
    FULL_DISKLESS,
    MASTER,
    in_ms,
    parts,
    sync_name,
)
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.events import PsyncWaitOver, RdbChannelAsks, SnapshotTarget, SyncDecided
from pyrepl.replication.psync import Cause, Reason, Request
from pyrepl.replication.session import Session

MAX_EXPECTED = 1024
"""Syncs whose second connection has not come yet, and that are remembered by the replica's address."""


@final
class _Sync:
    """One sync so far; shared by the two connections of a pair. Times are monotonic seconds."""

    def __init__(self, name: str, peer: str, now: float) -> None:
        self.name = name
        self.peer = peer
        self.mode = ""
        self.asked_at = now
        self.delivering_since: float | None = None
        self.delivered = False
        self.snapshot_offset = 0
        self.online_at: float | None = None
        self.goal: int | None = None
        """The cut that was the stream's end when the replica went online, until it acknowledges it."""
        self.rdb_id = 0
        """The id of its second connection; 0 without one."""
        self.ended = False

    @property
    def phase(self) -> str:
        """In the words of INFO's slave0:state, where it has one."""
        if self.online_at is not None:
            return "online"
        if self.delivered:
            return "load"
        return "send_bulk" if self.delivering_since is not None else "wait_bgsave"


@final
class MasterEnd:
    """Invariants: `_syncs` has each connection that asked to sync, until it ends; `_by_rdb` the syncs on two channels
    under the id of the second connection, until they are online or have failed."""

    def __init__(self, emit: Callable[[Record], None], backlog: Backlog) -> None:
        self._emit = emit
        self._backlog = backlog
        self._syncs: dict[int, _Sync] = {}
        self._by_rdb: dict[int, _Sync] = {}
        self._expected: dict[tuple[str, int], _Sync] = {}

    # ------------------------------------------------------------------ the request

    def decided(self, session: Session, event: SyncDecided, conn: str, now: float) -> None:
        """A replica was continued or gets a full resync; `conn` is the other end of its connection."""
        sync = self._asked(session, event.request, conn, now)
        continued = event.reason is None
        verdict = CONTINUE if continued else "two_channels" if event.wait == "rdb_channel" else "full"
        cause, detail, by_bytes = parts(event.reason)
        backlog = self._backlog
        self._emit(
            PsyncDecided(
                MASTER,
                sync.name,
                sync.peer,
                verdict,
                cause,
                detail,
                by_bytes,
                missing_bytes=event.missing_bytes if continued else None,
                wait=event.wait or None,
                backlog_start_offset=backlog.start,
                backlog_bytes=backlog.end - backlog.start,
                backlog_size_bytes=backlog.capacity,
            )
        )
        if verdict == "two_channels":
            self._expect(session, sync)

    def refused(self, session: Session, request: Request, conn: str, error: str, now: float) -> None:
        """A request was answered with an error: we cannot serve it now."""
        sync = self._asked(session, request, conn, now)
        del self._syncs[session.id]
        self._emit(
            PsyncDecided(MASTER, sync.name, sync.peer, "refused", _word_of(error), error=error),
        )

    def _asked(self, session: Session, request: Request, conn: str, now: float) -> _Sync:
        sync = _Sync(sync_name(conn, request), session.address, now)
        self._syncs[session.id] = sync
        self._emit(
            PsyncAsked(
                MASTER,
                sync.name,
                sync.peer,
                session.address,
                conn,
                asked_replid=request.replid,
                asked_offset=request.held if request.replid is not None else None,
                peer_version=session.told.version or None,
            )
        )
        return sync

    def _expect(self, session: Session, sync: _Sync) -> None:
        expected = self._expected
        expected[(session.ip, session.told.listening_port)] = sync
        if len(expected) > MAX_EXPECTED:
            del expected[next(iter(expected))]

    def rdb_channel_asks(self, session: Session, event: RdbChannelAsks, conn: str) -> None:
        """The second connection of a replica is here. In Valkey's dialect it does not say whose it is; the replica's
        address does."""
        expected = self._expected.pop((session.ip, session.told.listening_port), None)
        main = self._syncs.get(event.main_id) if event.main_id is not None else None
        sync = main or expected
        if sync is None:
            return
        sync.mode = event.dialect.mode
        sync.rdb_id = session.id
        self._syncs[session.id] = self._by_rdb[session.id] = sync
        self._emit(RdbChannelOpened(MASTER, sync.name, sync.peer, event.dialect.name, conn))

    # ------------------------------------------------------------------ the snapshot

    def delivery_started(
        self, session: Session, snapshot: int, cut: int, now: float, total_bytes: int | None = None
    ) -> None:
        """Its first byte goes out: from the child, or from the finished file. `snapshot` is its number."""
        sync = self._syncs.get(session.id)
        if sync is None or sync.delivering_since is not None:
            return
        disk = session.target is SnapshotTarget.DISK
        sync.mode = sync.mode or (FULL_DISK if disk else FULL_DISKLESS)
        sync.delivering_since = now
        sync.snapshot_offset = cut
        wait_ms = in_ms(sync.asked_at, now)
        self._emit(DeliveryStarted(MASTER, sync.name, sync.peer, sync.mode, cut, wait_ms, snapshot, total_bytes))

    def delivery_ended(
        self, session_id: int, now: float, *, delivered_bytes: int | None = None, error: str = ""
    ) -> None:
        """Its last byte was written, or (`error`) it could not be."""
        sync = self._syncs.get(session_id)
        if sync is None or sync.delivering_since is None or sync.delivered:
            return
        self._end_delivery(sync, now, delivered_bytes, error)

    def _end_delivery(self, sync: _Sync, now: float, delivered_bytes: int | None, error: str) -> None:
        sync.delivered = not error
        ms = in_ms(sync.delivering_since, now)
        self._emit(DeliveryEnded(MASTER, sync.name, sync.peer, not error, ms, delivered_bytes, error or None))
        if error:
            sync.delivering_since = None

    # ------------------------------------------------------------------ the stream

    def went_online(self, session: Session, now: float, *, full: bool) -> None:
        """The stream flows, behind a snapshot (`full`) or where it was cut."""
        sync = self._syncs.get(session.id)
        if sync is None or sync.online_at is not None:
            return
        sync.online_at = now
        self._by_rdb.pop(sync.rdb_id, None)
        sync.mode = sync.mode if full else CONTINUE
        if full:
            self._emit_peak(session, sync)
        session.output.forget_peak()
        self._emit(Online(MASTER, sync.name, sync.peer, sync.mode, in_ms(sync.asked_at, now)))
        sync.goal = self._backlog.end
        if not full:
            sync.snapshot_offset = session.ack_cut
        self.acked(session, now)

    def acked(self, session: Session, now: float) -> None:
        """The replica has said how far it is."""
        sync = self._syncs.get(session.id)
        if sync is None or sync.goal is None or session.ack_cut < sync.goal:
            return
        applied_bytes = max(0, sync.goal - sync.snapshot_offset)
        sync.goal = None
        self._emit(CatchUpEnded(MASTER, sync.name, sync.peer, in_ms(sync.online_at, now), applied_bytes))

    def _emit_peak(self, session: Session, sync: _Sync) -> None:
        limit = max(session.options.hard_limit_bytes, self._backlog.capacity) if session.options.hard_limit_bytes else 0
        self._emit(BufferPeak(MASTER, sync.name, sync.peer, "output", session.output.peak_bytes, limit))

    # ------------------------------------------------------------------ endings

    def sync_of(self, session_id: int) -> str | None:
        """The name of the sync by which a replica came."""
        sync = self._syncs.get(session_id)
        return sync.name if sync is not None else None

    def lost(self, session: Session, reason: Reason | None, now: float, *, by_us: bool) -> None:
        """A connection has ended."""
        sync = self._syncs.pop(session.id, None)
        if sync is None or sync.ended:
            return
        if session.is_rdb_channel and (session.snapshot_is_out or self._has_main(sync)):
            # What becomes of the sync is told by its main connection.
            return
        if sync.online_at is None and session.output.peak_bytes:
            self._emit_peak(session, sync)
        lag_bytes = max(0, self._backlog.end - session.ack_cut) if sync.online_at is not None else 0
        self._down(sync, reason, now, by_us=by_us, lag_bytes=lag_bytes, output_bytes=session.output.last_bytes)

    def psync_wait_over(self, event: PsyncWaitOver, now: float) -> None:
        """A replica has its snapshot and never asked for the stream behind it."""
        sync = self._by_rdb.get(event.session_id)
        if sync is not None and not sync.ended:
            self._down(sync, event.reason, now, by_us=True)

    def _has_main(self, sync: _Sync) -> bool:
        return any(other is sync for other in self._syncs.values())

    def _down(
        self, sync: _Sync, reason: Reason | None, now: float, *, by_us: bool, lag_bytes: int = 0, output_bytes: int = 0
    ) -> None:
        sync.ended = True
        self._by_rdb.pop(sync.rdb_id, None)
        phase = sync.phase
        if sync.delivering_since is not None and not sync.delivered:
            self._end_delivery(sync, now, None, str(reason) if reason is not None else "closed")
        cause, detail, by_bytes = parts(reason or Reason(Cause.CONNECTION_LOST))
        assert cause is not None
        online_ms = in_ms(sync.online_at, now) if sync.online_at is not None else None
        self._emit(
            ReplicaDown(sync.peer, phase, cause, by_us, lag_bytes, output_bytes, detail, by_bytes, sync.name, online_ms)
        )


def _word_of(error: str) -> str:
    """The cause of a refusal: as the replica names it by the same line."""
    return Cause.NOT_READY.value if error.startswith(("NOMASTERLINK", "LOADING")) else Cause.REFUSED.value
