"""Our replicas: the shell around `replication.roster` and its sessions, which decide everything.

What replicas send (REPLCONF, PSYNC, ACKs) comes in through their client connections and `deeds`. The roster and the
sessions answer with events, and this module carries the events out: it starts and stops snapshots, sends snapshot
files, closes connections. `replica_conn` writes the bytes that go out. `observability.telling.master_end` is given each
event before it is carried out, and writes what the logs say of it.

The pump is the one place where events are carried out and bytes are written. Whoever changes a session or grows the
stream plans a pump, which then runs once in the next turn of the loop, however many have planned it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final, final

from pyrepl.commands.engine.effects import ReplPausePoint
from pyrepl.daemon.clients.client_conn import ClientConn
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.disk.shared_seconds import SharedSeconds
from pyrepl.daemon.disk.snapshot import Outcome, Target, ToFile, ToReplicas
from pyrepl.daemon.disk.snapshot_sinks import TIMED_OUT
from pyrepl.daemon.feeding.repl_pauses import ReplPauses
from pyrepl.daemon.feeding.replica_conn import HIGH_WATER_BYTES, ReplicaConn, ReplicaOwner
from pyrepl.daemon.feeding.snapshot_version import version_for
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.randomness import Randomness
from pyrepl.daemon.service import Service
from pyrepl.daemon.signals import Signals
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.telling.master_end import MasterEnd, Replica
from pyrepl.observability.telling.snapshots import DISK
from pyrepl.observability.telling.voice import Voice
from pyrepl.replication import events as machine
from pyrepl.replication.dialects import Capability
from pyrepl.replication.psync import Cause, Request
from pyrepl.replication.role import FOLLOWS_ITSELF
from pyrepl.replication.session import Session
from pyrepl.resp.reply import NO_REPLY, Raw, Reply

_FLUSH_RETRY_S: Final = 0.01
_FLUSH_TRIES: Final = 200


@final
class Replicas(ReplicaOwner, Service):
    """The replicas of a node.

    Invariant: `_replicas` has each connection that ever sent REPLCONF, PSYNC or SYNC, by its client's id, until the
    connection ends.
    """

    def __init__(
        self,
        node: Node,
        clients: Clients,
        saver: Saver,
        pauses: ReplPauses,
        signals: Signals,
        clock: Clock,
        randomness: Randomness,
        log: Log,
        tell: Callable[[Record], None],
    ) -> None:
        """`tell` takes the records of the event log."""
        self._node = node
        self._clients = clients
        self._saver = saver
        self._pauses = pauses
        self._signals = signals
        self._clock = clock
        self._randomness = randomness
        self._log = log
        self._roster = node.replication.roster
        self._backlog = node.replication.backlog
        self.story = MasterEnd(Voice(log, tell), self._backlog, node.replication.history)
        self._loop = asyncio.get_running_loop()
        self._replicas: dict[int, ReplicaConn] = {}
        self._pump_planned = False
        self._sync_file = saver.dump_path
        """The snapshot file made last for replicas."""
        self._sync_snapshot = 0
        """The number of that snapshot."""
        self._timeout: Final = SharedSeconds(float(node.settings.repl_timeout))
        """repl-timeout, for the child that writes to sockets: the child reads it while it runs."""
        self._roster.keeping.watch(self.story.keeping)

    def settings_changed(self, names: Collection[str]) -> None:
        """Give the present repl-timeout to a child that is writing to sockets already.

        The pump lets the roster go by its new options: a smaller limit on output may cut replicas.
        """
        self._timeout.seconds = float(self._node.settings.repl_timeout)
        self.plan_pump()

    # ------------------------------------------------------------------ what replicas say

    def replconf(self, conn: ClientConn, argv: list[bytes]) -> Reply:
        """Hand REPLCONF to the connection's session. Returns the session's answer, which keeps its place among the
        replies of the connection; NO_REPLY for a replica, whose session answers within the stream."""
        session = self._replica(conn).session
        streamed = session.may_stream
        was_replica = session.is_replica
        session.receive_command(argv, self._clock.now())
        if session.may_stream and not streamed:
            self.story.flows(session, self._clock.now(), full=True)
        elif streamed:
            self.story.acked(session, self._clock.now())
        self._signals.acked.tell()
        self._plan_pump_now()
        # Before the sync a REPLCONF has a reply like any command. Afterwards `push` sends what the session says.
        return NO_REPLY if was_replica else _raw(session.data_to_send())

    def refuse_to_answer(self, replica: ReplicaConn, argv: list[bytes]) -> None:
        """Cut a replica that sent a command with a reply: its connection carries the stream, which has no place for
        replies. `argv` is [] for a message that no command of the replica asked for."""
        client = replica.conn.client
        name = self._clients.dispatcher.table.name_of(argv) if argv else client.last_command
        replica.session.close_for_reply(name)
        self._carry_out(replica)
        client.close_after_reply()

    def sync(self, conn: ClientConn, argv: list[bytes]) -> Reply:
        """PSYNC or SYNC: let the roster decide. Returns the decision's line (`+CONTINUE`, an error), so that it keeps
        its place among the replies; all other work is left to the next pump.

        NO_REPLY when the sync waits for a snapshot or has joined one, as the line then goes out with the snapshot, and
        when the connection is a replica's already.
        """
        replica = self._replica(conn)
        session = replica.session
        if session.is_replica:
            return NO_REPLY
        session.receive_command(argv, self._clock.now())
        requests = [event.request for event in session.events() if isinstance(event, machine.SyncRequested)]
        for request in requests:
            self._request_sync(session, request)
        if not requests and session.state is machine.SessionState.HANDSHAKE:
            self.story.asked_wrongly(session)
        if session.is_replica:
            conn.client.become_replica(is_rdb_channel=session.is_rdb_channel)
            conn.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
            self._set_nodelay(replica)
        self._plan_pump_now()
        if session.target is not None or session.state is machine.SessionState.WAIT_SNAPSHOT_START:
            return NO_REPLY
        return _raw(session.data_to_send())

    def _request_sync(self, session: Session, request: Request) -> None:
        """Let the roster decide on a sync, after two cases that it does not know: our master asks us to take over
        (PSYNC ... FAILOVER), and the connection is our own link, because our master's address leads to ourselves."""
        if request.failover:
            refusal = self._node.replication.role.why_not_take_over(request)
            if refusal is not None:
                session.refuse(refusal)
                return
            self._signals.take_over.tell()
            request = request.with_failover(False)
        addr = self._replicas[session.id].conn.client.addr
        link_client = self._node.replication.link_client
        follows_itself = link_client is not None and link_client.laddr == addr
        refusal = FOLLOWS_ITSELF if follows_itself else self._roster.refusal
        if refusal:
            self.story.refused(session, request, addr, refusal, self._clock.now())
        if follows_itself:
            session.refuse(refusal)
            return
        self._roster.request_sync(session, request, self._clock.now())

    def _set_nodelay(self, replica: ReplicaConn) -> None:
        """repl-disable-tcp-nodelay: let the kernel collect small packets, which saves packets and costs time."""
        if self._node.settings.repl_disable_tcp_nodelay:
            with suppress(OSError):
                replica.conn.transport.wire.set_no_delay(False)

    def lost(self, conn: ClientConn) -> None:
        """A connection has ended, of a replica or of any other client."""
        replica = self._replicas.pop(conn.client.id, None)
        conn.replica = None
        if replica is None:
            return
        replica.stop_snapshot()
        session, now = replica.session, self._clock.now()
        # A session that we ended is closed by now.
        by_us = session.end_reason is not None
        was_fed = session.state is machine.SessionState.WAIT_SNAPSHOT_END
        self._roster.remove(session, now)
        is_fed = was_fed and self._roster.running is not None
        self.story.lost(Replica(session, conn.client), now, by_us=by_us, is_fed=is_fed)
        self._plan_pump_now()

    def drained(self) -> None:
        """The transport of a replica takes more bytes: feed it in the next pump."""
        self._plan_pump_now()

    # ------------------------------------------------------------------ what replicas have acknowledged

    @property
    def may_catch_up(self) -> bool:
        """Has a replica that is online not acknowledged all of the stream? A shutdown waits for such replicas.

        Redis waits for those that take a snapshot as well. We do not: a snapshot takes longer than a shutdown may.
        """
        end = self._backlog.end
        sessions = self._roster.sessions.values()
        return any(session.state is machine.SessionState.ONLINE and session.ack_cut < end for session in sessions)

    def lagging(self) -> list[events.LaggingReplica]:
        """The replicas that are not in sync, as they have not acknowledged all of the stream. One that waits for its
        snapshot or takes it has acknowledged nothing."""
        end = self._backlog.end
        now = self._clock.now()
        return [
            events.LaggingReplica(
                session.address, end - session.ack_cut, int(session.lag_s(now)), session.state.wire_name
            )
            for session in self._roster.sessions.values()
            if session.ack_cut < end
        ]

    def ask_for_acks(self) -> None:
        """Have every replica acknowledge at once (REPLCONF GETACK), as a client waits for it."""
        self._roster.ask_acks()
        self._plan_pump_now()

    # ------------------------------------------------------------------ the pump

    def plan_pump(self) -> None:
        """Let new bytes of the stream go out in the next turn of the loop. Called after each batch of commands, so it
        does nothing when there are no replicas or a pump is planned already."""
        if self._replicas and not self._pump_planned:
            self._plan_pump_now()

    def _plan_pump_now(self) -> None:
        if not self._pump_planned:
            self._pump_planned = True
            self._loop.call_soon(self.pump)

    def tick(self, now: float) -> None:
        """Let roster and sessions look at the time."""
        self._roster.tick(now)
        self.pump()

    def next_deadline(self, now: float) -> float:
        return now

    def pump(self) -> None:
        """Carry out the events of the roster and the sessions, and write all that may go out.

        `before_feed` is told before anything is written: the append-only file must have what replicas get. The limits
        on output are checked after the writing, when it is known how much the sockets did not take.
        """
        self._pump_planned = False
        self._carry_out_roster()
        self._signals.before_feed.tell()
        sent = 0
        for replica in list(self._replicas.values()):
            sent += replica.push()
            self._carry_out(replica)
        self._node.stats.total_net_repl_output_bytes += sent
        self._roster.check_output_buffers(self._clock.now())
        for replica in list(self._replicas.values()):
            self._carry_out(replica)
        self._carry_out_roster()

    def _carry_out_roster(self) -> None:
        for event in self._roster.events():
            self.story.tell(event, self._whom(event), self._clock.now())
            if isinstance(event, machine.StartSnapshot):
                self._start_snapshot(event, _FLUSH_TRIES)
            elif isinstance(event, machine.StopSnapshot):
                self._stop_snapshot()

    def _whom(self, event: machine.RosterEvent) -> Replica | None:
        """The replica that an event is about; None for one that is gone, and for what concerns no single one."""
        replica = self._replicas.get(getattr(event, "session_id", 0))
        return None if replica is None else Replica(replica.session, replica.conn.client)

    def _carry_out(self, replica: ReplicaConn) -> None:
        session = replica.session
        if replica.is_sending_file and replica.file_is_out():
            self.story.delivery_ended(session.id, self._clock.now(), delivered_bytes=replica.sent_bytes)
            session.file_sent(self._clock.now())
            self._delete_sync_file()
            self._plan_pump_now()
        for event in session.events():
            if isinstance(event, machine.CloseSession):
                # The log line about a cut says what waited, which clients are otherwise asked once a second.
                replica.conn.client.output_bytes = session.output.last_bytes
            self.story.tell(event, Replica(session, replica.conn.client), self._clock.now())
            if isinstance(event, machine.SendFile):
                self._send_file(replica)
            elif isinstance(event, machine.WentOnline):
                self._plan_pump_now()
            elif isinstance(event, machine.CloseSession):
                self._close(replica, event)

    def _send_file(self, replica: ReplicaConn) -> None:
        try:
            replica.open_file(self._sync_file, self._node.settings.repl_sync_max_bytes_per_second)
        except OSError as error:
            self.story.cannot_send(replica.session, error.strerror or str(error))
            replica.close(flush=False)
            return
        session = replica.session
        cut = session.cursor.at if session.cursor is not None else 0
        self.story.delivery_started(session, self._sync_snapshot, cut, self._clock.now(), replica.file_bytes)
        self._plan_pump_now()

    def _delete_sync_file(self) -> None:
        """rdb-del-sync-files: a node that persists nothing leaves no snapshot behind once no replica reads it."""
        settings = self._node.settings
        sending = any(replica.is_sending_file for replica in self._replicas.values())
        if settings.rdb_del_sync_files and not settings.save and not sending and self._roster.running is None:
            self._sync_file.unlink(missing_ok=True)

    def _close(self, replica: ReplicaConn, event: machine.CloseSession) -> None:
        if event.reason.cause is Cause.OUTPUT_BUFFER:
            self._node.stats.client_output_buffer_limit_disconnections += 1
        if event.flush:
            replica.conn.transport.write(b"".join(replica.session.data_to_send()))
        replica.close(flush=event.flush)

    # ------------------------------------------------------------------ snapshots

    def _start_snapshot(self, event: machine.StartSnapshot, tries: int) -> None:
        """Fork the snapshot child, as soon as no other child runs.

        A child that writes to sockets needs them empty of our own bytes, or the bytes would mix. So we wait for full
        sockets, `tries` times; after that a replica that still keeps its socket full is dropped.
        """
        replicas = [self._replicas[i] for i in event.session_ids if i in self._replicas]
        full = [replica for replica in replicas if not replica.is_flushed]
        if self._saver.is_busy or (event.target is machine.SnapshotTarget.SOCKETS and full and tries):
            self._loop.call_later(_FLUSH_RETRY_S, self._start_snapshot, event, tries - bool(full))
            return
        for replica in full if event.target is machine.SnapshotTarget.SOCKETS else []:
            replica.close(flush=False)
            self._roster.remove(replica.session, self._clock.now())
        stream_db = self._node.replication.next_db
        sessions = self._roster.snapshot_started(self._clock.now(), stream_db=stream_db)
        if sessions:
            self._signals.before_feed.tell()
            self._fork(event.target, sessions)

    def _fork(self, kind: machine.SnapshotTarget, sessions: list[Session]) -> None:
        disk = kind is machine.SnapshotTarget.DISK
        self.story.snapshot_starts(kind, sessions)
        try:
            doors = {} if disk else {self._replicas[session.id].open_for_child(): session for session in sessions}
        except OSError:
            self._cannot_fork(sessions)
            return
        target: Target = ToFile(self._saver.dump_path) if disk else self._sockets(doors)
        compressed = disk or not all(Capability.NO_COMPRESSION in session.told.capabilities for session in sessions)
        version = version_for(self._node, sessions, self._log)
        job = self._saver.job(version, compressed=compressed, excluded=sessions[0].told.excluded)
        ids = {fd: session.id for fd, session in doors.items()}

        def ended(outcome: Outcome) -> None:
            self._snapshot_ended(outcome, ids)

        def lost(fd: int, why: str) -> None:
            self._socket_lost(ids[fd], why)

        if not self._saver.start(target, job, ended, for_replicas=True, on_lost=lost):
            self._cannot_fork(sessions)
            return
        for session in doors.values():
            self._replicas[session.id].child_began()
            self.story.delivery_started(session, self._saver.number, self._backlog.end, self._clock.now())
        self._pauses.reached(ReplPausePoint.AFTER_FORK)

    def _cannot_fork(self, sessions: list[Session]) -> None:
        for session in sessions:
            self._replicas[session.id].stop_snapshot()
        self._roster.snapshot_ended(False, self._clock.now(), detail="fork")
        self._plan_pump_now()

    def _sockets(self, doors: dict[int, Session]) -> ToReplicas:
        """The target of a snapshot that goes to these sessions, by the descriptors that lead to them. Before the
        snapshot each one gets what its session has to say (`+FULLRESYNC ...`)."""
        heads = {fd: b"".join(session.data_to_send()) for fd, session in doors.items()}
        pace = self._node.settings.repl_sync_max_bytes_per_second
        return ToReplicas(heads, self._randomness.eof_mark(), self._timeout, pace)

    def _socket_lost(self, session_id: int, why: str) -> None:
        """The child writes no more to this replica; it goes on with the others.

        A replica that was too slow is cut at once. Any other reason is a broken connection, and then the poller
        notices the end of the connection by itself.
        """
        replica = self._replicas.get(session_id)
        if replica is not None and why == TIMED_OUT:
            replica.session.stalled()
            self._plan_pump_now()

    def _snapshot_ended(self, outcome: Outcome, ids: dict[int, int]) -> None:
        ok = not outcome.error
        size = 0
        for session_id in ids.values():
            if session_id in self._replicas:
                self._replicas[session_id].child_ended()
        if isinstance(outcome.target, ToFile):
            self._sync_file, self._sync_snapshot = outcome.target.path, self._saver.number
            try:
                size = self._sync_file.stat().st_size if ok else 0
            except OSError as error:
                ok = False
                self.story.file_failed(error.strerror or str(error))
        lost = {ids[fd]: why for fd, why in outcome.lost.items()}
        if not isinstance(outcome.target, ToFile):
            self.story.delivered(ids.values(), lost, outcome.written_bytes, outcome.error, self._clock.now())
        for session_id, why in lost.items():
            replica = self._replicas.get(session_id)
            if replica is not None and why != TIMED_OUT:
                self.story.cannot_send(replica.session, why)
        self._roster.snapshot_ended(ok, self._clock.now(), size_bytes=size, detail=outcome.word, failed=lost)
        # Pump at once: the replicas' file must be opened before another snapshot can take its place.
        self.pump()

    def _stop_snapshot(self) -> None:
        """Stop the snapshot child, as no replica waits for it any more.

        A child that writes to a file runs on if the node keeps snapshots (`save`): then the file is of use as dump.rdb
        (Redis 8.2 `freeClient`; `checkChildrenDone` for sockets).
        """
        if self._node.persistence.bgsave_target == DISK:
            if self._node.settings.save:
                return
        else:
            self.story.nobody_waits()
        self._saver.kill("every replica waiting for the snapshot is gone")

    def other_child(self, child: machine.OtherChild | None) -> None:
        """A child process that is not for replicas has begun, or ended (None): the roster forks no second one beside
        it."""
        self._roster.set_other_child(child, self._clock.now())
        self._plan_pump_now()

    # ------------------------------------------------------------------ inside

    def _replica(self, conn: ClientConn) -> ReplicaConn:
        """The replica side of a connection; made at the first REPLCONF, PSYNC or SYNC."""
        replica = self._replicas.get(conn.client.id)
        if replica is None:
            ip = conn.client.addr.rpartition(":")[0].strip("[]")
            session = self._roster.open_session(conn.client.id, ip, self._clock.now())
            replica = ReplicaConn(conn, session, self._backlog, self, self._clock.now)
            self._replicas[conn.client.id] = replica
            conn.replica = replica
        return replica


def _raw(out: list[bytes]) -> Reply:
    return Raw(b"".join(out)) if out else NO_REPLY
