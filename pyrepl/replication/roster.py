"""All replicas of a node: who continues, what each hears of a snapshot, how far each is, and what a full resync cost.

The shell (daemon/feeding/replicas.py) hands in requests to sync, ends of connections and of children, and time; events
for the shell come out, and what each replica hears is in its session. `now` is monotonic seconds, offsets are cuts.

Not here: what one replica says and hears (session.py), which two connections make one sync (pairs.py), which snapshot
serves whom and when it starts (shared_snapshot.py), making and sending it (daemon/disk/snapshot), our own master
(link.py).

Source: Redis 7.0 `syncCommand`, `replicationCron`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, final

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.causes import FailureMemory
from pyrepl.replication.causes import SyncCounters as SyncCounters
from pyrepl.replication.dialects import NO_DIALECTS, Capability, Dialect, Dialects, encode_end_offset
from pyrepl.replication.events import (
    OtherChild,
    PsyncWaitOver,
    RdbChannelAsks,
    RosterEvent,
    SessionState,
    SnapshotTarget,
    StreamAttached,
    SyncDecided,
)
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.replication.keeping import Keeping
from pyrepl.replication.pairs import Pairs
from pyrepl.replication.psync import (
    FAILOVER_TO_MASTER,
    Cause,
    Decision,
    Reason,
    Request,
    Verdict,
    decide,
    encode_continue,
    encode_full_resync,
)
from pyrepl.replication.replconf import why_not_filter
from pyrepl.replication.session import Session, SessionOptions
from pyrepl.replication.shared_snapshot import SharedSnapshot
from pyrepl.units import Offset, ReplId

SNAPSHOT_FAILED_TEXT: Final = "ERR BGSAVE failed, replication can't continue"


@dataclass(slots=True)
class RosterOptions:
    """Settings of a node that feeds replicas. The shell changes them in place; they count from the next use on."""

    diskless: bool = True
    """repl-diskless-sync: snapshots go to the replicas' sockets, not to a file first."""
    diskless_delay_s: float = 5.0
    """repl-diskless-sync-delay: how long a diskless snapshot waits for more replicas to share it."""
    diskless_max_replicas: int = 0
    """repl-diskless-sync-max-replicas: once so many wait, inclusive, the delay is cut short; 0: never."""
    max_concurrent_syncs: int = 0
    """repl-max-concurrent-syncs: for so many replicas, inclusive, a snapshot is made or sent at a time; 0: no limit."""
    ping_period_s: float = 10.0
    """repl-ping-replica-period."""
    backlog_ttl_s: int = 3600
    """repl-backlog-ttl; 0 keeps it for ever."""
    dialects: Dialects = NO_DIALECTS
    """The ways to sync on two connections that we accept; they need `diskless`."""
    session: SessionOptions = field(default_factory=SessionOptions)


@final
class Roster:
    """The replicas attached to this node.

    Shell's contract: after every call carry out `events()`, and the events and data of the sessions concerned; call
    `tick` at `next_deadline()`; call `remove` for each connection that ended.

    Invariants: `sessions` holds those that have asked to sync and have not ended, one for each replica, and
    `rdb_channels` the second connections that take a snapshot for one; `running` is set from snapshot_started to
    snapshot_ended.
    """

    def __init__(
        self,
        history: History,
        backlog: Backlog,
        feed: Feed,
        options: RosterOptions,
        new_replid: Callable[[], ReplId],
        now: float,
    ) -> None:
        self.options: Final = options
        self.counters: Final = SyncCounters()
        self.sessions: Final[dict[int, Session]] = {}
        self.rdb_channels: Final[dict[int, Session]] = {}
        self.refusal: str = ""
        """While not empty, every request to sync is answered with this error line (role.py sets it)."""
        self.failover_refusal = FAILOVER_TO_MASTER
        """PSYNC ... FAILOVER is answered with this error (role.py sets it). A shell that obeys it promotes us first and
        then asks for what is left of the request, an ordinary partial resync."""
        self.is_quiet = False
        """No PING and no GETACK of ours goes into the stream, as its end has to stand still (Role.stand_still)."""
        self.makes_stream = True
        """We write the stream ourselves, so we also send PINGs and free an unused backlog (role.py sets it)."""
        self.no_replicas_since: float | None = now
        """Since when no replica is attached; None while one is."""
        self.keeping: Final = Keeping(history, backlog, feed)
        """Begins and ends the keeping of our stream."""
        self._events: Final[list[RosterEvent]] = []
        self._snapshot: Final = SharedSnapshot(self.sessions, self.rdb_channels, options, self._events)
        self.pairs: Final = Pairs(self.sessions, backlog, options)
        self._history: Final = history
        self._backlog: Final = backlog
        self._feed: Final = feed
        self._new_replid: Final = new_replid
        self._last_ping_at = now
        self._memory: Final = FailureMemory()

    # ------------------------------------------------------------------ what INFO, WAIT and the gates ask

    def acked_at_least(self, cut: int) -> int:
        """How many replicas have acknowledged all bytes left of `cut` (WAIT)."""
        count = 0
        for session in self.sessions.values():
            if session.state is SessionState.ONLINE and session.ack_cut >= cut:
                count += 1
        return count

    def good_replicas(self, max_lag_s: float, now: float) -> int:
        """How many are online with a last sign at most `max_lag_s` ago (min-replicas-max-lag)."""
        count = 0
        for session in self.sessions.values():
            if session.state is SessionState.ONLINE and now - session.ack_at <= max_lag_s:
                count += 1
        return count

    @property
    def running(self) -> SnapshotTarget | None:
        """Where the child that was started for replicas writes to; None if none runs."""
        return self._snapshot.target

    @property
    def waiting_psync(self) -> int:
        """Replicas in Valkey's dialect that have not asked for the stream behind their snapshot yet, while it comes and
        afterwards: replicas_waiting_psync."""
        return len(self.pairs.waits)

    @property
    def lowest_cut(self) -> Offset | None:
        """The cut of the replica that was handed least, None without replicas."""
        return self._backlog.lowest_pin

    @property
    def pending_bytes(self) -> int:
        """Output buffers of all replicas, for mem_clients_slaves."""
        end = self._backlog.end
        return sum(session.pending_bytes(end) for session in self.sessions.values())

    # ------------------------------------------------------------------ sessions come and go

    def open_session(self, session_id: int, ip: str, now: float) -> Session:
        """Make the machine for a client that sent its first REPLCONF, PSYNC or SYNC. `session_id` is the client's id.

        The roster lists the session once it asks to sync.
        """
        return Session(session_id, ip, self.options.session, now, self.pairs)

    def request_sync(self, session: Session, request: Request, now: float) -> None:
        """Decide on SyncRequested: refuse, continue, or a full resync on one or two connections.

        What the replica hears is in the session's `data_to_send` and `events`.
        """
        if session.state is not SessionState.HANDSHAKE:
            # It was closed, or has its decision already.
            return
        refusal = self.failover_refusal if request.failover else self.refusal
        told = session.told
        refusal = refusal or why_not_filter(told.excluded, reads_eof=Capability.EOF in told.capabilities)
        if refusal:
            session.refuse(refusal)
            return
        if session.is_rdb_channel:
            self._serve_rdb_channel(session, now)
            return
        # Decided first: a backlog that is made here brings a new id, which would hide the true cause.
        decision = decide(request, self._history, self._backlog)
        self._keep_stream(now)
        dialect = self.pairs.dialect_for(session) if request.can_continue else None
        if session.psync_wait is not None:
            self._continue_behind_snapshot(session, request, decision, now)
        elif decision.verdict is Verdict.CONTINUE:
            self._continue(session, request, decision, now)
        elif dialect is not None:
            self._send_to_rdb_channel(session, request, decision, dialect, now)
        else:
            self._full_resync(session, request, decision, now)

    def remove(self, session: Session, now: float) -> None:
        """The session's connection has ended. Harmless if it was never listed or is removed already."""
        # Looked at before `lost` moves the session on: did it go while the child was writing to it?
        hung_up = session.state is SessionState.WAIT_SNAPSHOT_END
        if session.state is not SessionState.CLOSED:
            session.lost("connection closed")
        listed = self.rdb_channels if session.is_rdb_channel else self.sessions
        if listed.get(session.id) is session:
            del listed[session.id]
            self._memory.remember(session)
        if (cursor := session.give_back_cursor()) is not None:
            self._backlog.detach(cursor)
        self.pairs.left(session, now, child_writes=hung_up and self.running is not None)
        if hung_up and not session.is_rdb_channel:
            self._snapshot.hung_up(session)
        self._remove_closed(now)
        self._note_absence(now)
        self._snapshot.stop_unless(self.pairs.has_unsettled)

    def close_all(self, reason: Reason, text: str, now: float) -> None:
        """Cut every replica, as our stream gets another name or another content."""
        for session in self._all():
            session.close(reason, text)
        self._remove_closed(now)
        self.pairs.forget_waits()
        self._note_absence(now)

    # ------------------------------------------------------------------ the snapshot

    def set_other_child(self, child: OtherChild | None, now: float) -> None:
        """A child that is not for replicas began; None: it has ended."""
        self._snapshot.other_child = child
        self._snapshot.plan(now)

    def snapshot_started(self, now: float, *, stream_db: int = 0) -> list[Session]:
        """The child of StartSnapshot is being forked in this very turn: it will hold the data at the stream's end.

        Returns the sessions it serves, which all want the same left out: for DISK all that wait now, for SOCKETS those
        of the order that still wait, RDB connections among them. The main connections of these may stream from now on,
        while the child writes. May be empty: then do not fork. `stream_db`: the database that our stream has selected;
        a master's next command selects one anyway, so there it makes no difference.
        """
        served = self._snapshot.begin(Offset(self._backlog.end))
        if not served:
            return []
        # Those who read from this cut on do not know which database the stream has selected: select it again.
        self._feed.forget_db()
        for session in served:
            if session.is_rdb_channel:
                self._start_rdb_channel(session, 0 if self.makes_stream else stream_db, now)
            else:
                self._attach_to_snapshot(session, now)
        return served

    def snapshot_ended(
        self, ok: bool, now: float, *, size_bytes: int = 0, detail: str = "", failed: Collection[int] = ()
    ) -> None:
        """The child was reaped, or could not be forked (`ok` False; then snapshot_started need not have been called).

        `size_bytes`: of the file, for DISK. `failed`: ids of the replicas whose sockets the child could not write.
        """
        target, concerned = self._snapshot.end()
        for session in concerned:
            if not ok:
                text = f"the snapshot could not be made{': ' + detail if detail else ''}"
                line = SNAPSHOT_FAILED_TEXT if target is None else ""
                session.close(Reason(Cause.SNAPSHOT_FAILED, detail=detail), text, line=line)
            elif session.id in failed:
                session.close(
                    Reason(Cause.CONNECTION_LOST, detail="snapshot"), "the snapshot could not be written to it"
                )
            elif target is SnapshotTarget.DISK:
                session.snapshot_ready(size_bytes, now)
            else:
                session.child_done(now)
        self.pairs.child_ended(ok, failed, now)
        self._remove_closed(now)
        self._note_absence(now)
        self._snapshot.plan(now)

    # ------------------------------------------------------------------ windows

    def events(self) -> list[RosterEvent]:
        """What has happened since the last call, in order."""
        events = self._events.copy()
        self._events.clear()
        return events

    def next_deadline(self) -> float | None:
        """When `tick` is due; None if nothing is awaited."""
        deadlines = [session.next_deadline() for session in self._all()]
        deadlines.append(self.pairs.next_deadline())
        if self._pings:
            deadlines.append(self._last_ping_at + self.options.ping_period_s)
        deadlines.append(self._snapshot.due_at())
        if self._may_free_backlog and self.no_replicas_since is not None:
            deadlines.append(self.no_replicas_since + self.options.backlog_ttl_s)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def tick(self, now: float) -> None:
        """Do what is due: keep-alives, timeouts and limits of sessions, PING, a delayed snapshot, the backlog's end."""
        for session in self._all():
            session.tick(now)
        self.check_output_buffers(now)
        self._ping(now)
        self._free_backlog(now)
        self._snapshot.plan(now)

    def check_output_buffers(self, now: float) -> None:
        """Cut replicas that are slower than client-output-buffer-limit allows; after each batch of writes."""
        end, floor_bytes = self._backlog.end, self._backlog.capacity
        for session in self.sessions.values():
            session.check_output_buffer(end, floor_bytes, now)
        for wait, reason in self.pairs.overdue(end, floor_bytes, now):
            self._events.append(PsyncWaitOver(wait.rdb_id, reason))
        self._remove_closed(now)
        self._note_absence(now)

    def ask_acks(self) -> None:
        """Put a GETACK into the stream, so that replicas acknowledge at once (WAIT, FAILOVER). No effect on a replica,
        whose stream is its master's, without a backlog, or while the stream has to stand still."""
        if self.makes_stream and self._backlog.active and not self.is_quiet:
            self._backlog.append(self._feed.getack())

    # ------------------------------------------------------------------ inside

    def _all(self) -> list[Session]:
        return [*self.sessions.values(), *self.rdb_channels.values()]

    def _list(self, session: Session) -> None:
        """The session has asked to sync: it counts as a replica from now on."""
        (self.rdb_channels if session.is_rdb_channel else self.sessions)[session.id] = session
        self.no_replicas_since = None

    def _note_absence(self, now: float) -> None:
        """If no replica is left, repl-backlog-ttl begins now."""
        if self.no_replicas_since is None and not (self.sessions or self.rdb_channels or self.pairs.waits):
            self.no_replicas_since = now

    def _continue(self, session: Session, request: Request, decision: Decision, now: float) -> None:
        self._list(session)
        self.counters.partial_ok += 1
        self._memory.forget(session)
        cursor = self._backlog.attach(Offset(request.held))
        session.continued(self._history.replid, cursor, decision.missing_bytes, now)
        self._events.append(SyncDecided(session.id, request, None, decision.missing_bytes, ""))

    def _full_resync(self, session: Session, request: Request, decision: Decision, now: float) -> None:
        self._list(session)
        reason = self._count_full_resync(session, request, decision)
        session.wait_for_snapshot(now)
        wait = self._snapshot.why_wait(session)
        self._events.append(SyncDecided(session.id, request, reason, 0, wait))
        if wait == "joined":
            self._attach_to_snapshot(session, now)
        else:
            self._snapshot.plan(now)

    def _count_full_resync(self, session: Session, request: Request, decision: Decision) -> Reason:
        """Count a full resync by its cause. A replica that comes without an id does not say why it needs one: then the
        cause is what ended its last sync, if we remember that."""
        assert decision.reason is not None
        reason = decision.reason
        if reason.cause is Cause.FIRST:
            reason = self._memory.recall(session, reason)
        self.counters.count_full(reason.cause, with_id=request.replid is not None)
        return reason

    def _send_to_rdb_channel(
        self, session: Session, request: Request, decision: Decision, dialect: Dialect, now: float
    ) -> None:
        """Begin a full resync on two connections; `session` is the main one. It is counted here, since its request
        shows the cause, and not again when the RDB connection asks for the snapshot."""
        reason = self._count_full_resync(session, request, decision)
        if dialect.replica_asks_for_stream:
            self.pairs.expect(session)
        else:
            self._list(session)
        session.send_to_rdb_channel(dialect, now)
        self._events.append(SyncDecided(session.id, request, reason, 0, "rdb_channel"))

    def _serve_rdb_channel(self, session: Session, now: float) -> None:
        """An RDB connection asks for its snapshot: it waits for the next one that goes to sockets."""
        refusal = self.pairs.why_not_serve(session)
        if refusal:
            session.refuse(refusal)
            return
        self._keep_stream(now)
        self._list(session)
        session.wait_for_snapshot(now)
        main_id = session.partner.id if session.partner is not None else None
        assert session.dialect is not None
        self._events.append(RdbChannelAsks(session.id, session.dialect, main_id, self._snapshot.why_wait(session)))
        self._snapshot.plan(now)

    def _start_rdb_channel(self, rdb: Session, stream_db: int, now: float) -> None:
        """The snapshot for an RDB connection begins. In Redis's dialect its main connection gets the stream behind the
        cut now; in Valkey's the stream is kept until the main connection asks for it."""
        cut, replid = self._cut, self._history.replid
        cursor = self._backlog.attach(cut)
        main, dialect = rdb.partner, rdb.dialect
        assert dialect is not None
        if dialect.replica_asks_for_stream:
            self.pairs.keep_stream(rdb, cursor)
            rdb.rdb_snapshot_started(encode_end_offset(cut, replid, stream_db, rdb.id), now)
            return
        assert main is not None, "a pair dies together while its snapshot is awaited"
        main.stream_behind_snapshot(cursor, now)
        rdb.rdb_snapshot_started(encode_full_resync(replid, cut), now)
        self._events.append(StreamAttached(main.id, cut))

    def _continue_behind_snapshot(self, main: Session, request: Request, decision: Decision, now: float) -> None:
        """A main connection in Valkey's dialect asks for the stream that is kept for it.

        That belongs to its full resync, so it is not counted as a partial one.
        """
        wait = main.psync_wait
        assert wait is not None
        if decision.reason is not None:
            main.close(decision.reason, "it cannot be continued behind its snapshot")
            self.remove(main, now)
            return
        self._list(main)
        answer = encode_continue(self._history.replid, with_id=Capability.PSYNC2 in main.told.capabilities)
        main.stream_behind_snapshot(self._backlog.attach(Offset(request.held)), now, answer=answer)
        self.pairs.attached(main, wait, now)
        self._events.append(StreamAttached(main.id, Offset(request.held)))

    @property
    def _cut(self) -> Offset:
        """Where the running snapshot ends."""
        assert self._snapshot.cut is not None
        return self._snapshot.cut

    def _attach_to_snapshot(self, session: Session, now: float) -> None:
        assert self.running is not None
        cursor = self._backlog.attach(self._cut)
        session.snapshot_started(self.running, self._history.replid, cursor, now)

    def _keep_stream(self, now: float) -> None:
        """What was written before the first replica came is in no backlog, so the stream's name begins here."""
        if not self._backlog.active:
            self.keeping.begin_anew(self._new_replid())
            if self.no_replicas_since is not None:
                self.no_replicas_since = now

    @property
    def _may_free_backlog(self) -> bool:
        wanted = self.sessions or self.rdb_channels or self.pairs.waits
        return self.makes_stream and self._backlog.active and not wanted and self.options.backlog_ttl_s > 0

    def _free_backlog(self, now: float) -> None:
        since = self.no_replicas_since
        if not self._may_free_backlog or since is None or now < since + self.options.backlog_ttl_s:
            return
        self.keeping.end(self._new_replid(), after_s=self.options.backlog_ttl_s)

    @property
    def _pings(self) -> bool:
        return self.makes_stream and bool(self.sessions) and not self.is_quiet

    def _ping(self, now: float) -> None:
        if self._pings and now >= self._last_ping_at + self.options.ping_period_s:
            self._last_ping_at = now
            self._backlog.append(self._feed.ping())

    def _remove_closed(self, now: float) -> None:
        for session in self._all():
            if session.state is SessionState.CLOSED and self._is_listed(session):
                self.remove(session, now)

    def _is_listed(self, session: Session) -> bool:
        return self.sessions.get(session.id) is session or self.rdb_channels.get(session.id) is session
