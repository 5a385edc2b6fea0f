"""What a master has to tell of its replicas and their syncs: for people a line of the log, for programs a record.

It watches the sessions and adds up what it sees. Their shell (daemon/feeding/replicas) hands over each event of the
roster and of a session before it is carried out (`tell`; the table `_rows` says which method knows the event), and
calls the methods below for what the shell alone notices. Nothing here changes what happens. The replica's own end is
replica_end.py; the lines of a request that gets a snapshot are sync_lines.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple, final

from pyrepl.node.client import Client
from pyrepl.observability import events
from pyrepl.observability.client_line import client_line
from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.records import (
    BacklogCreated,
    BacklogFreed,
    BacklogResized,
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
from pyrepl.observability.telling import sync_lines
from pyrepl.observability.telling.voice import Voice
from pyrepl.replication import events as machine
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.history import History
from pyrepl.replication.psync import Cause, Reason, Request
from pyrepl.replication.session import RDB_ONLY, Session

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


class Replica(NamedTuple):
    """Whom an event is about."""

    session: Session
    client: Client
    """Its connection; `client.addr` is the other end of it."""


@final
class MasterEnd:
    """Invariants: `_syncs` has each connection that asked to sync, until it ends; `_by_rdb` the syncs on two channels
    under the id of the second connection, until they are online or have failed."""

    def __init__(self, say: Voice, backlog: Backlog, history: History) -> None:
        self._say = say
        self._backlog = backlog
        self._history = history
        self._syncs: dict[int, _Sync] = {}
        self._by_rdb: dict[int, _Sync] = {}
        self._expected: dict[tuple[str, int], _Sync] = {}
        self._hung_up: dict[int, tuple[str, _Sync | None]] = {}
        """RDB connections that ended while the child wrote to them: their addresses and syncs."""
        self._rows: Final[dict[type[Any], Callable[[Any, float], None]]] = {
            machine.PsyncWaitOver: self._psync_wait_over,
        }
        self._rows_of_replicas: Final[dict[type[Any], Callable[[Any, Replica, float], None]]] = {
            machine.SyncDecided: self._decided,
            machine.RdbChannelAsks: self._rdb_channel_asks,
            machine.StreamAttached: self._stream_attached,
            machine.WentOnline: self._went_online,
            machine.CloseSession: self._closes,
        }

    def tell(self, event: machine.RosterEvent | machine.SessionEvent, replica: Replica | None, now: float) -> None:
        """Tell of an event that is about to be carried out; `replica` is whom it is about, None for one that is gone.

        There is nothing to tell of events that stand in neither table, nor of a replica that is gone.
        """
        row = self._rows.get(type(event))
        row_of_replica = self._rows_of_replicas.get(type(event))
        if row is not None:
            row(event, now)
        elif row_of_replica is not None and replica is not None:
            row_of_replica(event, replica, now)

    # ------------------------------------------------------------------ the request

    def asked_wrongly(self, session: Session) -> None:
        """A PSYNC that cannot be read."""
        self._say(events.ReplicaAsksForSync(session.address), events.ReplicaAsksWithWrongOffset(session.address))

    def _decided(self, event: machine.SyncDecided, replica: Replica, now: float) -> None:
        """A replica was continued or gets a full resync."""
        session, address = replica.session, replica.session.address
        sync = self._asked(session, event.request, replica.client.addr, now)
        continued = event.reason is None
        verdict = CONTINUE if continued else "two_channels" if event.wait == "rdb_channel" else "full"
        cause, detail, by_bytes = parts(event.reason)
        backlog = self._backlog
        lines: list[Event] = (
            [events.PartialResyncAccepted(address, event.missing_bytes, event.request.held + 1)]
            if continued
            else sync_lines.full_resync_lines(address, event, self._history)
        )
        self._say(
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
            ),
            events.ReplicaAsksForSync(address),
            *lines,
        )
        if verdict == "two_channels":
            self._expect(session, sync)

    def refused(self, session: Session, request: Request, conn: str, error: str, now: float) -> None:
        """A request was answered with an error: we cannot serve it now."""
        sync = self._asked(session, request, conn, now)
        del self._syncs[session.id]
        self._say(PsyncDecided(MASTER, sync.name, sync.peer, "refused", _word_of(error), error=error))

    def _asked(self, session: Session, request: Request, conn: str, now: float) -> _Sync:
        sync = _Sync(sync_name(conn, request), session.address, now)
        self._syncs[session.id] = sync
        self._say(
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

    def _rdb_channel_asks(self, event: machine.RdbChannelAsks, replica: Replica, now: float) -> None:
        """The second connection of a replica is here. In Valkey's dialect it does not say whose it is; the replica's
        address does."""
        session = replica.session
        self._say(events.RdbChannelAsksForSync(session.address), *sync_lines.wait_lines(event.wait))
        expected = self._expected.pop((session.ip, session.told.listening_port), None)
        main = self._syncs.get(event.main_id) if event.main_id is not None else None
        sync = main or expected
        if sync is None:
            return
        sync.mode = event.dialect.mode
        sync.rdb_id = session.id
        self._syncs[session.id] = self._by_rdb[session.id] = sync
        self._say(RdbChannelOpened(MASTER, sync.name, sync.peer, event.dialect.name, replica.client.addr))

    def _stream_attached(self, event: machine.StreamAttached, replica: Replica, now: float) -> None:
        self._say(events.DeliveringBoth(replica.session.address))

    # ------------------------------------------------------------------ the snapshot

    def snapshot_starts(self, target: machine.SnapshotTarget, sessions: list[Session]) -> None:
        """A child is about to be forked for these replicas."""
        channel = " (rdb-channel)" if any(session.is_rdb_channel for session in sessions) else ""
        is_file = target is machine.SnapshotTarget.DISK
        self._say(events.SyncSnapshotStarting("disk" if is_file else f"replicas sockets{channel}"))

    def nobody_waits(self) -> None:
        """The child that writes to sockets has nobody left to write to, and is killed."""
        self._say(events.NobodyWaitsForSnapshot())

    def file_failed(self, error: str) -> None:
        """The child has made the snapshot file, and it cannot be found."""
        self._say(events.CannotWriteSnapshot("stat", error))

    def cannot_send(self, session: Session, error: str) -> None:
        """A replica's snapshot could not be sent, or not all of it."""
        self._say(events.CannotSendSnapshot(session.address, error))

    def delivery_started(
        self, session: Session, snapshot: int, cut: int, now: float, total_bytes: int | None = None
    ) -> None:
        """Its first byte goes out: from the child, or from the finished file. `snapshot` is its number."""
        sync = self._syncs.get(session.id)
        if sync is None or sync.delivering_since is not None:
            return
        disk = session.target is machine.SnapshotTarget.DISK
        sync.mode = sync.mode or (FULL_DISK if disk else FULL_DISKLESS)
        sync.delivering_since = now
        sync.snapshot_offset = cut
        wait_ms = in_ms(sync.asked_at, now)
        self._say(DeliveryStarted(MASTER, sync.name, sync.peer, sync.mode, cut, wait_ms, snapshot, total_bytes))

    def delivery_ended(
        self, session_id: int, now: float, *, delivered_bytes: int | None = None, error: str = ""
    ) -> None:
        """Its last byte was written, or (`error`) it could not be."""
        _, sync = self._hung_up.get(session_id, ("", self._syncs.get(session_id)))
        if sync is not None and sync.delivering_since is not None and not (sync.delivered or sync.ended):
            self._end_delivery(sync, now, delivered_bytes, error)

    def delivered(
        self, session_ids: Collection[int], lost: Mapping[int, str], written_bytes: int, error: str, now: float
    ) -> None:
        """The child that wrote to sockets is done. `error`: why nobody has it all; `lost`: who has not, and why."""
        for session_id in session_ids:
            problem = error or lost.get(session_id, "")
            size = None if problem else written_bytes
            self.delivery_ended(session_id, now, delivered_bytes=size, error=problem)
        for session_id, (address, _) in self._hung_up.items():
            self._say(sync_lines.rdb_channel_line(address, not error and session_id not in lost))
        self._hung_up.clear()

    def _end_delivery(self, sync: _Sync, now: float, delivered_bytes: int | None, error: str) -> None:
        sync.delivered = not error
        ms = in_ms(sync.delivering_since, now)
        self._say(DeliveryEnded(MASTER, sync.name, sync.peer, not error, ms, delivered_bytes, error or None))
        if error:
            sync.delivering_since = None

    # ------------------------------------------------------------------ the stream

    def _went_online(self, event: machine.WentOnline, replica: Replica, now: float) -> None:
        session = replica.session
        from_socket = session.target is machine.SnapshotTarget.SOCKETS and not session.uses_sync
        if event.full and from_socket:
            self._say(events.ReplicaWaitsForAck(session.address))
        # A quick replica has acknowledged before we hear of the child's end: then there is nothing to wait for.
        if session.may_stream:
            self.flows(session, now, full=event.full)

    def flows(self, session: Session, now: float, *, full: bool) -> None:
        """The stream flows, behind a snapshot (`full`) or where it was cut."""
        if full:
            self._say(events.ReplicaSynchronized(session.address))
        sync = self._syncs.get(session.id)
        if sync is None or sync.online_at is not None:
            return
        sync.online_at = now
        self._by_rdb.pop(sync.rdb_id, None)
        sync.mode = sync.mode if full else CONTINUE
        if full:
            self._tell_peak(session, sync)
        session.output.forget_peak()
        self._say(Online(MASTER, sync.name, sync.peer, sync.mode, in_ms(sync.asked_at, now)))
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
        self._say(CatchUpEnded(MASTER, sync.name, sync.peer, in_ms(sync.online_at, now), applied_bytes))

    def _tell_peak(self, session: Session, sync: _Sync) -> None:
        limit = max(session.options.hard_limit_bytes, self._backlog.capacity) if session.options.hard_limit_bytes else 0
        self._say(BufferPeak(MASTER, sync.name, sync.peer, "output", session.output.peak_bytes, limit))

    # ------------------------------------------------------------------ the backlog

    def keeping(self, event: machine.KeepingEvent) -> None:
        """Our stream is kept from now on, or is kept no more. The line is for what replicas made of it."""
        if isinstance(event, machine.BacklogCreated):
            line = events.BacklogCreated(event.replid, self._history.replid2)
            self._say(BacklogCreated(self._backlog.capacity), *([line] if event.is_new else []))
        elif event.after_s is None:
            self._say(BacklogFreed("full_resync"))
        else:
            self._say(BacklogFreed("ttl"), events.BacklogFreed(event.after_s))

    def backlog_resized(self, before_bytes: int) -> None:
        """`repl-backlog-size` was changed, and the backlog with it. One that has become smaller has lost its oldest
        bytes."""
        backlog = self._backlog
        self._say(
            BacklogResized(backlog.capacity, before_bytes, backlog.start),
            events.BacklogResized(before_bytes, backlog.capacity),
        )

    # ------------------------------------------------------------------ endings

    def sync_of(self, session_id: int) -> str | None:
        """The name of the sync by which a replica came."""
        sync = self._syncs.get(session_id)
        return sync.name if sync is not None else None

    def _closes(self, event: machine.CloseSession, replica: Replica, now: float) -> None:
        """We cut a replica."""
        address, cause = replica.session.address, event.reason.cause
        if cause is Cause.OUTPUT_BUFFER:
            self._say(events.OutputBufferExceeded(_line_of(replica.client, now)))
        elif cause is Cause.TIMEOUT:
            self._say(sync_lines.timed_out_line(address, event.reason.detail))
        elif cause is Cause.SNAPSHOT_FAILED:
            self._say(events.SyncSnapshotFailed())
        elif event.reason.detail == RDB_ONLY:
            self._say(events.RdbOnlyDone(address))
        elif cause is Cause.PROTOCOL:
            self._say(events.ReplicaCut(event.text, _line_of(replica.client, now)))

    def lost(self, replica: Replica, now: float, *, by_us: bool, is_fed: bool) -> None:
        """A connection has ended, by us or by itself. `is_fed`: a child is still writing the snapshot to it."""
        session, reason = replica.session, replica.session.end_reason
        sync = self._syncs.pop(session.id, None)
        if replica.client.is_replica:
            self._say_lost(session, sync, is_fed=is_fed)
        if sync is None or sync.ended:
            return
        if session.is_rdb_channel and (session.snapshot_is_out or self._has_main(sync)):
            # What becomes of the sync is told by its main connection.
            return
        if sync.online_at is None and session.output.peak_bytes:
            self._tell_peak(session, sync)
        lag_bytes = max(0, self._backlog.end - session.ack_cut) if sync.online_at is not None else 0
        self._down(sync, reason, now, by_us=by_us, lag_bytes=lag_bytes, output_bytes=session.output.last_bytes)

    def _say_lost(self, session: Session, sync: _Sync | None, *, is_fed: bool) -> None:
        """An RDB connection ends when it has brought the snapshot; its replica may hang up before the child is done,
        and whether it had everything is known when that is (`delivered`)."""
        if session.is_rdb_channel and is_fed:
            self._hung_up[session.id] = session.address, sync
        elif session.is_rdb_channel:
            self._say(sync_lines.rdb_channel_line(session.address, session.snapshot_is_out))
        else:
            cause = str(session.end_reason) if session.end_reason is not None else "closed"
            self._say(events.ReplicaLost(session.address, cause))

    def _psync_wait_over(self, event: machine.PsyncWaitOver, now: float) -> None:
        """A replica has its snapshot and never asked for the stream behind it."""
        self._say(events.PsyncWaitOver(event.session_id, str(event.reason)))
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
        self._say(
            ReplicaDown(sync.peer, phase, cause, by_us, lag_bytes, output_bytes, detail, by_bytes, sync.name, online_ms)
        )


def _word_of(error: str) -> str:
    """The cause of a refusal: as the replica names it by the same line."""
    return Cause.NOT_READY.value if error.startswith(("NOMASTERLINK", "LOADING")) else Cause.REFUSED.value


def _line_of(client: Client, now: float) -> str:
    """As CLIENT LIST shows it."""
    return client_line(client, now).decode("utf-8", "replace")
