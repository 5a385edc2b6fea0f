"""The master's machine for one connection of a replica: what it said, its sync, its place in the stream, its ACKs.

The replica's commands and `now` (monotonic seconds) go in; our answers and events for the shell come out. roster.py
makes the sessions and tells them what was decided; the shell is daemon/feeding/replicas.py.

Not here: who continues and which snapshot serves whom (roster.py), which two connections belong together (pairs.py),
the stream's bytes (the shell reads them from the Backlog at `cursor` and writes them), the snapshot's bytes (a file's
or a child's, daemon/disk/snapshot.py).

The moves are in session_states.py, drawn in docs/machines.md. On one connection a full resync goes over
WAIT_SNAPSHOT_START and WAIT_SNAPSHOT_END, and over SEND_BULK if the snapshot is a file; a replica that is continued
needs none of them. On two connections the main one goes over WAIT_RDB_CHANNEL to SEND_BULK_AND_STREAM; in Valkey's
dialect it waits in HANDSHAKE until it asks to continue at the snapshot's cut. The RDB connection ends when the child
has written the snapshot.

The stream flows in SEND_BULK_AND_STREAM and ONLINE. After a snapshot that a child wrote to the same socket it flows
only from the first ACK on: until then the replica looks for the end of the snapshot. While a replica waits for a file,
`\\n` each second keeps its connection alive. We must not send it while a child writes to the socket, where it would end
up inside the snapshot, nor on a main connection, where the replica takes every byte for the stream.
Source: Redis 7.0 `syncCommand`, `replconfCommand`, `replicationCron`; Redis 8.2.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from pyrepl.errors import CommandError
from pyrepl.replication.backlog import Cursor
from pyrepl.replication.dialects import Capability, Dialect, encode_verdict
from pyrepl.replication.events import (
    Channel,
    CloseSession,
    SendFile,
    SessionEvent,
    SessionState,
    SnapshotTarget,
    SyncRequested,
    WentOnline,
)
from pyrepl.replication.limits import Excess, PendingWatch
from pyrepl.replication.limits import SessionOptions as SessionOptions
from pyrepl.replication.psync import Cause, Reason, decode_request, encode_continue, encode_full_resync
from pyrepl.replication.replconf import flag_of, is_answered, number_of, shown
from pyrepl.replication.session_states import SESSION, SessionTrigger
from pyrepl.replication.told import Told
from pyrepl.replication.transfer import encode_size_header
from pyrepl.resp.numbers import parse_integer
from pyrepl.units import Offset, ReplId

KEEP_ALIVE_PERIOD_S: Final = 1.0
_SHOWN_NAME: Final = 128
"""Characters of a command's name in an error, at most."""
RDB_ONLY: Final = "rdb_only"
"""The detail of the reason why a session ends that wanted the snapshot alone, and has it."""
UNKNOWN_PORT: Final = "<unknown-replica-port>"
_OK: Final = b"+OK\r\n"


class Introducer(Protocol):
    """What a session asks when its replica names another connection: Pairs in pairs.py, which knows all sessions."""

    @property
    def is_open(self) -> bool:
        """Do we sync on two connections at all? If not, the REPLCONF options for it are answered as unknown."""

    def pair_with_main(self, rdb: Session, main_id: int) -> None:
        """`rdb` named its main connection. Raises CommandError if the two cannot be a pair."""

    def pair_with_rdb(self, main: Session, rdb_id: int) -> None:
        """`main` named its RDB connection. Raises CommandError if the two cannot be a pair."""


@final
class PsyncWait:
    """The stream behind one snapshot, kept for a main connection that has not asked for it yet (Valkey's dialect).

    `cursor` pins the stream in the backlog from the snapshot's cut on; `rdb_id` is the id of the RDB connection, by
    which the main one names this wait. Invariant: `until` is None while the snapshot is on its way.
    """

    __slots__ = ("_output", "cursor", "main", "rdb", "rdb_id", "until")

    def __init__(self, rdb: Session, cursor: Cursor, options: SessionOptions) -> None:
        self.rdb_id: Final = rdb.id
        self.cursor: Final = cursor
        self.rdb: Session | None = rdb
        """The RDB connection, None once it has ended."""
        self.main: Session | None = None
        """The main connection that has named `rdb_id` and not asked to continue yet, None before that."""
        self.until: float | None = None
        """When the grace period after the snapshot is over, in monotonic seconds."""
        self._output: Final = PendingWatch(options)

    def check(self, end: int, floor_bytes: int, now: float) -> Excess | None:
        """By what the kept stream, which ends at `end`, passes the limits of an output buffer (PendingWatch.check)."""
        return self._output.check(end - self.cursor.at, floor_bytes, now)

    @property
    def deadline(self) -> float | None:
        """When this wait has to be looked at again; None while there is nothing to look for."""
        deadlines = [at for at in (self.until, self._output.deadline) if at is not None]
        return min(deadlines, default=None)


@final
class Session:
    """One replica's connection, from its first REPLCONF, PSYNC or SYNC on.

    Invariants: `cursor` is set from the moment when the replica's cut is known (it is continued, or its snapshot
    begins) until it is given back, but never on an RDB connection; `ack_cut` never falls and never passes `cursor`;
    the stream may be written only while `may_stream`; `partner.partner is self`.
    """

    def __init__(
        self, session_id: int, ip: str, options: SessionOptions, now: float, introducer: Introducer | None = None
    ) -> None:
        """`session_id` is the client's id, `ip` the address its connection comes from."""
        self.id: Final = session_id
        self.options: Final = options
        self.state = SessionState.HANDSHAKE
        self.told: Final = Told()
        self.peer_ip: Final = ip
        self.uses_sync = False
        """The replica asked by SYNC: it reads no `+FULLRESYNC` line, and need not send ACKs."""
        self.is_rdb_channel = False
        """This connection takes the snapshot for another one (REPLCONF rdb-channel): flag C in CLIENT LIST."""
        self.dialect: Dialect | None = None
        """The vendor's way in which the replica syncs on two connections; None until decided, and on one connection."""
        self.partner: Session | None = None
        """The other connection of the pair, while the snapshot is on its way."""
        self.snapshot_is_out = False
        """On either connection of a pair: the child has written the whole snapshot."""
        self.psync_wait: PsyncWait | None = None
        """The stream that a main connection in Valkey's dialect has named, until it asks to continue there."""
        self.cursor: Cursor | None = None
        self.target: SnapshotTarget | None = None
        """Where the replica's snapshot goes; None before it begins, and for a replica that needed none."""
        self.ack_cut = Offset(0)
        self.fack_cut = -1
        """The cut up to which the replica says its AOF is fsynced (WAITAOF); -1 if it has said nothing."""
        self.ack_at = now
        """When an ACK or a keep-alive last came."""
        self.has_acked = False
        self.unsent_bytes = 0
        """Bytes handed to the connection that its socket has not taken yet (`note_unsent`)."""
        self.end_reason: Reason | None = None
        self.waiting_since = now
        """Since when the replica waits for a snapshot, or for its RDB connection: the longest wait is served first."""
        self._awaits_ack = False
        """Online after a child's snapshot, but the first ACK has not come: the stream must wait."""
        self._introducer: Final = introducer
        self.output: Final = PendingWatch(options)
        self._last_sent_at = now
        self._out: list[bytes] = []
        self._events: list[SessionEvent] = []

    # ------------------------------------------------------------------ what INFO, ROLE and the log ask

    @property
    def ip(self) -> str:
        """The address to show: the announced one, or where the connection comes from."""
        return self.told.announced_ip or self.peer_ip

    @property
    def address(self) -> str:
        """`ip:port`; Redis's words in place of a port that was not told, as redis-cli tells none."""
        return f"{self.ip}:{self.told.listening_port or UNKNOWN_PORT}"

    @property
    def may_stream(self) -> bool:
        """May the shell write stream bytes from `cursor` on?"""
        if self.state is SessionState.SEND_BULK_AND_STREAM:
            return True
        return self.state is SessionState.ONLINE and not self._awaits_ack

    @property
    def only_keeps_stream(self) -> bool:
        """Does the replica only buffer the stream, as the snapshot still comes on its other connection?"""
        return self.state is SessionState.SEND_BULK_AND_STREAM and not self.snapshot_is_out

    @property
    def needs_socket(self) -> bool:
        """Can the replica's snapshot go to its socket alone? One that leaves something out must not take the place of
        dump.rdb, as a file would."""
        return self.is_rdb_channel or bool(self.told.excluded)

    @property
    def takes_snapshot(self) -> bool:
        """Is a snapshot being made for the replica or sent to it? Of a pair the main connection alone says yes, as the
        replica counts once."""
        if self.state is SessionState.WAIT_SNAPSHOT_END:
            return self.partner is None
        return self.only_keeps_stream or self.state is SessionState.SEND_BULK

    @property
    def channel(self) -> Channel:
        """Which part of a sync this connection has: Valkey's `type=` in INFO."""
        if self.is_rdb_channel:
            return Channel.RDB
        pairing = self.state is SessionState.WAIT_RDB_CHANNEL or self.state is SessionState.SEND_BULK_AND_STREAM
        return Channel.MAIN if pairing else Channel.WHOLE

    @property
    def is_replica(self) -> bool:
        """Has it asked to sync, and not ended? Then INFO and CLIENT LIST show it as a replica."""
        return self.state is not SessionState.HANDSHAKE and self.state is not SessionState.CLOSED

    @property
    def awaits_first_ack(self) -> bool:
        """Has the replica had a snapshot, and not yet said by an ACK that it loaded it?"""
        return (self.target is not None or self.snapshot_is_out) and not self.has_acked

    def lag_s(self, now: float) -> float:
        """Seconds since the replica's last sign of life, as INFO's lag; 0 while it is not online."""
        return max(0.0, now - self.ack_at) if self.state is SessionState.ONLINE else 0.0

    def note_unsent(self, size_bytes: int) -> None:
        """The shell reports how many bytes that it was handed still wait for the socket to take them."""
        self.unsent_bytes = size_bytes

    def pending_bytes(self, end: int) -> int:
        """The output buffer: the stream up to `end` that was not handed over yet, and what the socket did not take."""
        return self.unsent_bytes + (end - self.cursor.at if self.cursor is not None else 0)

    # ------------------------------------------------------------------ what the replica says

    def note_sign(self, now: float) -> None:
        """Something came, if only a single `\\n`: a replica that loads a snapshot sends no more than that.

        The shell parses the connection: it calls this for each read, and receive_command for each command.
        """
        self.ack_at = now

    def receive_command(self, argv: list[bytes], now: float) -> None:
        """One command of the replica: REPLCONF, PSYNC, SYNC; others are ignored before the replica asks to sync. After
        that a command that has an answer ends the session, as an answer could not be told from the stream."""
        if self.state is SessionState.CLOSED:
            return
        name = argv[0].upper()
        if self.is_replica and (name != b"REPLCONF" or is_answered(argv)) and name not in (b"PSYNC", b"SYNC"):
            self.close_for_reply(name.lower().decode("utf-8", "backslashreplace"))
            return
        try:
            if name == b"REPLCONF":
                self._receive_replconf(argv, now)
            elif name in (b"PSYNC", b"SYNC"):
                self._receive_sync(argv)
        except CommandError as error:
            self._out.append(b"-%b\r\n" % str(error).encode("utf-8", "surrogateescape"))

    def close_for_reply(self, command: str) -> None:
        """End the session for a command that has an answer; `command` is its name in errors (`client|list`)."""
        text = f"Replica generated a reply to command '{command[:_SHOWN_NAME]}'"
        self.close(Reason(Cause.PROTOCOL, detail=self.state.wire_name), text)

    # ------------------------------------------------------------------ what the roster and the shell tell

    def refuse(self, text: str) -> None:
        """The sync cannot be served now; `text` is the error line without the dash. The connection stays open."""
        assert self.state is SessionState.HANDSHAKE
        self._out.append(b"-%b\r\n" % text.encode())

    def continued(self, replid: ReplId, cursor: Cursor, missing_bytes: int, now: float) -> None:
        """A partial resync is granted: the stream goes on at `cursor`, `missing_bytes` before its end."""
        self._begin(SessionTrigger.CONTINUE, now)
        self.cursor = cursor
        self.ack_cut = cursor.at
        self._out.append(encode_continue(replid, with_id=Capability.PSYNC2 in self.told.capabilities))
        self._events.append(WentOnline(full=False, missing_bytes=missing_bytes))

    def wait_for_snapshot(self, now: float) -> None:
        """A full resync is decided: this connection waits for a snapshot."""
        self._begin(SessionTrigger.FULL_RESYNC, now)
        self.waiting_since = now

    def send_to_rdb_channel(self, dialect: Dialect, now: float) -> None:
        """A full resync on two connections is decided; this is the main one, and is told to open the second."""
        assert self.state is SessionState.HANDSHAKE and not self.is_rdb_channel
        self.dialect = dialect
        self._out.append(encode_verdict(dialect, self.id))
        self.waiting_since = now
        if not dialect.replica_asks_for_stream:
            self._begin(SessionTrigger.TWO_CHANNELS, now)

    def rdb_snapshot_started(self, line: bytes, now: float) -> None:
        """The snapshot for this RDB connection is being made; `line`, which goes out, states its cut."""
        assert self.is_rdb_channel
        self._begin(SessionTrigger.SNAPSHOT_BEGINS, now)
        self.target = SnapshotTarget.SOCKETS
        self._out.append(line)

    def stream_behind_snapshot(self, cursor: Cursor, now: float, *, answer: bytes = b"") -> None:
        """This main connection carries the stream from `cursor.at` on, where the snapshot on the RDB connection ends;
        before it goes `answer`, in Valkey's dialect that to PSYNC."""
        self._begin(SessionTrigger.STREAM_BESIDE, now)
        self.cursor = cursor
        if answer:
            self._out.append(answer)

    def rdb_channel_done(self, now: float) -> None:
        """The RDB connection has brought the whole snapshot: from now on repl-timeout counts on this main one."""
        assert not self.is_rdb_channel
        self.partner = None
        self.snapshot_is_out = True
        self.ack_at = now

    def serve_in(self, dialect: Dialect | None) -> None:
        """This RDB connection speaks `dialect`, that of the main connection which it takes the snapshot for."""
        assert self.is_rdb_channel
        self.dialect = dialect

    def pair_with(self, other: Session) -> None:
        """From here on this session and `other` are the two connections of one sync, one of them the RDB connection."""
        assert self.partner is None and other.partner is None and self.is_rdb_channel is not other.is_rdb_channel
        self.partner, other.partner = other, self

    def part(self) -> Session | None:
        """Dissolve the pair. Returns the other session, None if there was none."""
        partner, self.partner = self.partner, None
        if partner is not None:
            partner.partner = None
        return partner

    def name_wait(self, wait: PsyncWait | None) -> PsyncWait | None:
        """Remember the kept stream that this main connection named; None forgets it. Returns what it named before."""
        before, self.psync_wait = self.psync_wait, wait
        return before

    def give_back_cursor(self) -> Cursor | None:
        """Give up the place in the stream. Returns it, to be detached from the backlog; None if there was none."""
        cursor, self.cursor = self.cursor, None
        return cursor

    def snapshot_started(self, target: SnapshotTarget, replid: ReplId, cursor: Cursor, now: float) -> None:
        """The snapshot for this replica ends at the cut `cursor.at` and is being made."""
        self._begin(SessionTrigger.SNAPSHOT_BEGINS, now)
        self.target = target
        self.cursor = cursor
        if not self.uses_sync:
            self._out.append(encode_full_resync(replid, cursor.at))

    def snapshot_ready(self, size_bytes: int, now: float) -> None:
        """The snapshot file is complete: its header goes out here, and the shell sends the file (SendFile)."""
        assert self.target is SnapshotTarget.DISK
        self._begin(SessionTrigger.FILE_READY, now)
        self._out.append(encode_size_header(size_bytes))
        self._events.append(SendFile(size_bytes))

    def file_sent(self, now: float) -> None:
        """The last byte of the snapshot file was written to the connection: the stream may follow."""
        self._go_online(SessionTrigger.FILE_SENT, now)

    def child_done(self, now: float) -> None:
        """The child has written the whole snapshot to this replica's socket, which we may write to again."""
        assert self.target is SnapshotTarget.SOCKETS
        if self.is_rdb_channel:
            self.snapshot_is_out = True
            text = "the snapshot is out, the stream is on the main connection"
            self.close(Reason(Cause.STOPPED, detail="rdb_channel"), text, flush=True)
            return
        self._go_online(SessionTrigger.CHILD_DONE, now)

    def stalled(self) -> None:
        """The child gave up writing the snapshot to this replica's socket, which took nothing for repl-timeout."""
        text = f"it took nothing of the snapshot for {self.options.timeout_s:g} seconds"
        self.close(Reason(Cause.TIMEOUT, detail=self.state.wire_name), text)

    def close(self, reason: Reason, text: str, *, flush: bool = False, line: str = "") -> None:
        """End the session; `text` is for people, `line` an error line for the replica, without the dash. With `flush`
        or a line, what is in `data_to_send` goes out before the connection is closed."""
        if self.state is SessionState.CLOSED:
            return
        if line:
            self._out.append(b"-%b\r\n" % line.encode())
        elif not flush:
            self._out.clear()
        self._explain_end(reason)
        self._move(SessionTrigger.END)
        self._events.append(CloseSession(self.end_reason or reason, text, flush=flush or bool(line)))

    def lost(self, text: str) -> None:
        """The connection is gone; `text` says how. The shell then calls roster.remove."""
        if self.state is SessionState.CLOSED:
            return
        self._explain_end(Reason(Cause.CONNECTION_LOST, detail=self.state.wire_name))
        self._out.clear()
        self._move(SessionTrigger.END)

    def check_output_buffer(self, end: int, floor_bytes: int, now: float) -> None:
        """Cut the replica if it is slower than allowed; the stream ends at `end`, the backlog holds `floor_bytes`."""
        excess = self.output.check(self.pending_bytes(end), floor_bytes, now)
        if excess is not None:
            self.close(excess.reason, excess.text)

    # ------------------------------------------------------------------ the remaining windows

    def data_to_send(self) -> list[bytes]:
        """What goes out before any byte of a file or of the stream; each byte is returned once."""
        out, self._out = self._out, []
        return out

    def events(self) -> list[SessionEvent]:
        """What has happened since the last call, in order."""
        events, self._events = self._events, []
        return events

    def next_deadline(self) -> float | None:
        """When `tick` is due, None if nothing is awaited. Roster.tick calls it for all sessions that are listed."""
        if self._is_kept_alive:
            return self._last_sent_at + KEEP_ALIVE_PERIOD_S
        if self.state is SessionState.CLOSED:
            return None
        deadlines = [self.output.deadline]
        if self._must_give_signs:
            deadlines.append(self.ack_at + self.options.timeout_s)
        if self._misses_rdb_channel:
            deadlines.append(self.waiting_since + self.options.rdb_channel_grace_s)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def tick(self, now: float) -> None:
        """Send a keep-alive, or close the session for a timeout, if that is due."""
        if self._is_kept_alive:
            if now >= self._last_sent_at + KEEP_ALIVE_PERIOD_S:
                self._out.append(b"\n")
                self._last_sent_at = now
        elif self._must_give_signs and now >= self.ack_at + self.options.timeout_s:
            phase = "first_ack" if self.awaits_first_ack else self.state.wire_name
            text = f"nothing came for {self.options.timeout_s:g} seconds in phase {phase}"
            self.close(Reason(Cause.TIMEOUT, detail=phase), text)
        elif self._misses_rdb_channel and now >= self.waiting_since + self.options.rdb_channel_grace_s:
            text = f"its RDB connection did not come within {self.options.rdb_channel_grace_s:g} seconds"
            self.close(Reason(Cause.TIMEOUT, detail="rdb_channel"), text)

    # ------------------------------------------------------------------ inside

    @property
    def _is_kept_alive(self) -> bool:
        return self.state is SessionState.WAIT_SNAPSHOT_START or (
            self.state is SessionState.WAIT_SNAPSHOT_END and self.target is SnapshotTarget.DISK
        )

    @property
    def _must_give_signs(self) -> bool:
        if self.state is SessionState.SEND_BULK_AND_STREAM:
            return self.snapshot_is_out
        return self.state is SessionState.ONLINE and not self.uses_sync

    @property
    def _misses_rdb_channel(self) -> bool:
        if self.state is not SessionState.WAIT_RDB_CHANNEL:
            return False
        return self.partner is None or self.partner.state is SessionState.HANDSHAKE

    def _receive_replconf(self, argv: list[bytes], now: float) -> None:
        """Options in pairs, and one +OK for all of them. ACK and GETACK are never answered, as in Redis."""
        if len(argv) % 2 == 0:
            raise CommandError("ERR syntax error")
        for at in range(1, len(argv), 2):
            option, value = argv[at].lower(), argv[at + 1]
            if option == b"ack":
                self._receive_ack(value, now)
                if len(argv) > at + 3 and argv[at + 2].lower() == b"fack":
                    self._receive_fack(argv[at + 3])
                return
            if option == b"getack":
                return
            if not self.told.receive(option, value) and not self._receive_pairing_option(option, value):
                raise CommandError(f"ERR Unrecognized REPLCONF option: {shown(argv[at])}")
        self._out.append(_OK)

    def _receive_pairing_option(self, option: bytes, value: bytes) -> bool:
        """Take an option of a sync on two connections; False if it is none, or if we do not sync on two at all."""
        introducer = self._introducer
        if introducer is None or not introducer.is_open:
            return False
        if option == b"rdb-channel":
            self._receive_channel(flag_of(value))
        elif option == b"main-ch-client-id":
            introducer.pair_with_main(self, number_of(value))
        elif option == b"set-rdb-client-id":
            introducer.pair_with_rdb(self, number_of(value))
        else:
            return False
        return True

    def _receive_channel(self, is_rdb_channel: bool) -> None:
        """What the connection is for. That cannot change once it belongs to a pair or has asked to sync."""
        settled = self.state is not SessionState.HANDSHAKE or self.partner is not None or self.psync_wait is not None
        if settled and is_rdb_channel != self.is_rdb_channel:
            raise CommandError("ERR rdb-channel cannot change during a sync")
        self.is_rdb_channel = is_rdb_channel

    def _receive_ack(self, value: bytes, now: float) -> None:
        """An ACK states the cut that the replica has applied. It may come while we still wait for the child's end: the
        replica has then loaded what the child wrote to its socket. A cut right of what the replica was handed is a lie:
        it counts as a sign of life, but not as an acknowledgement."""
        cut, cursor = parse_integer(value), self.cursor
        early = self.state is SessionState.WAIT_SNAPSHOT_END and self.target is SnapshotTarget.SOCKETS
        beside = self.state is SessionState.SEND_BULK_AND_STREAM
        if cut is None or cursor is None or not (early or beside or self.state is SessionState.ONLINE):
            return
        self.ack_at = now
        self.has_acked = True
        self._awaits_ack = False
        if self.ack_cut < cut <= cursor.at:
            self.ack_cut = Offset(cut)
        if beside:
            self._begin(SessionTrigger.FIRST_ACK, now)
            self._events.append(WentOnline(full=True))

    def _receive_fack(self, value: bytes) -> None:
        """FACK states the cut that the replica's AOF holds on disk; one right of what it has applied is ignored."""
        cut = parse_integer(value)
        if cut is not None and self.fack_cut < cut <= self.ack_cut:
            self.fack_cut = cut

    def _receive_sync(self, argv: list[bytes]) -> None:
        """PSYNC or SYNC; a second one on a replica's connection is ignored, as in Redis."""
        if self.state is not SessionState.HANDSHAKE:
            return
        request = decode_request(argv)
        self.uses_sync = not request.can_continue
        self._events.append(SyncRequested(request))

    def _go_online(self, trigger: SessionTrigger, now: float) -> None:
        if self.told.rdb_only:
            self.close(Reason(Cause.STOPPED, detail=RDB_ONLY), "the snapshot was all it wanted", flush=True)
            return
        self._begin(trigger, now)
        assert self.cursor is not None
        self._awaits_ack = trigger is SessionTrigger.CHILD_DONE and not self.uses_sync and not self.has_acked
        self.ack_at = now
        self._events.append(WentOnline(full=True))

    def _explain_end(self, reason: Reason) -> None:
        """Keep why the session ended. A replica that hangs up after its snapshot, without an ACK, could not load it."""
        past = self.state is SessionState.ONLINE or self.state is SessionState.SEND_BULK_AND_STREAM
        if reason.cause is Cause.CONNECTION_LOST and past and self.awaits_first_ack:
            reason = Reason(Cause.LOAD_FAILED, detail="no_ack")
        self.end_reason = reason

    def _begin(self, trigger: SessionTrigger, now: float) -> None:
        """Move on; the times allowed for the replica's next sign of life, and for ours, begin here."""
        self._move(trigger)
        self.ack_at = now
        self._last_sent_at = now

    def _move(self, trigger: SessionTrigger) -> None:
        self.state = SESSION.after(self.state, trigger)
