"""The master's machine for one connection of a replica: what it said, its sync, its place in the stream, its ACKs.

Not here: who continues and which snapshot serves whom (roster.py), which two connections belong together (pairs.py),
the stream's bytes (the shell reads them from the Backlog at `cursor` and writes them), the snapshot's bytes (a file or
a child's, daemon/disk/snapshot).

The moves are in session_states.py, drawn in docs/machines.md. On one connection the way leads over the snapshot
(WAIT_SNAPSHOT_START, WAIT_SNAPSHOT_END, SEND_BULK if it is a file), or past it when the replica is continued. On two,
the main connection goes over WAIT_RDB_CHANNEL to SEND_BULK_AND_STREAM; in Valkey's dialect it waits in HANDSHAKE
until it asks to continue at the snapshot's cut. The RDB connection ends when the child has written the snapshot.

The stream flows in SEND_BULK_AND_STREAM and ONLINE, after a snapshot that a child wrote to the same socket only from
the first ACK on: until then the replica looks for the end of the snapshot. While it waits for a file, `\\n` each second
keeps the connection alive; while a child writes to the socket we must not, and on a main connection neither, where
the replica takes all for stream. Source: Redis 7.0 `syncCommand`, `replconfCommand`, `replicationCron`; Redis 8.2.
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
UNKNOWN_PORT: Final = "<unknown-replica-port>"
_OK: Final = b"+OK\r\n"


class Introducer(Protocol):
    """Who knows the other sessions; pairs.py."""

    @property
    def is_open(self) -> bool:
        """Do we sync on two connections at all? Otherwise the options for that are unknown."""

    def pair_with_main(self, rdb: Session, main_id: int) -> None:
        """`rdb` names its main connection. Raises CommandError if that cannot be."""

    def pair_with_rdb(self, main: Session, rdb_id: int) -> None:
        """`main` names its RDB connection. Raises CommandError if that cannot be."""


@final
class PsyncWait:
    """The stream behind one snapshot, kept for a main connection that has not asked for it yet.

    Invariant: `until` is None while the snapshot is on its way.
    """

    __slots__ = ("_output", "cursor", "main", "rdb", "rdb_id", "until")

    def __init__(self, rdb: Session, cursor: Cursor, options: SessionOptions) -> None:
        self.rdb_id: Final = rdb.id
        self.cursor: Final = cursor
        self.rdb: Session | None = rdb
        """The connection of the snapshot, None once it has ended."""
        self.main: Session | None = None
        """Who named it and has not asked to continue yet."""
        self.until: float | None = None
        self._output: Final = PendingWatch(options)

    def check(self, end: int, floor_bytes: int, now: float) -> Excess | None:
        """By what the limits of an output buffer are passed, the stream ending at `end`."""
        return self._output.check(end - self.cursor.at, floor_bytes, now)

    @property
    def deadline(self) -> float | None:
        deadlines = [at for at in (self.until, self._output.deadline) if at is not None]
        return min(deadlines, default=None)


@final
class Session:
    """One replica's connection, from its first REPLCONF on.

    Invariants: `cursor` is set from WAIT_SNAPSHOT_END on until CLOSED, but never on an RDB connection; `ack_cut` never
    falls and never passes `cursor`; the stream may be written only while `may_stream`; `partner.partner is self`.
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
        """It asked by SYNC and need not send ACKs."""
        self.is_rdb_channel = False
        """It takes the snapshot for another connection (REPLCONF rdb-channel): flag C in CLIENT LIST."""
        self.dialect: Dialect | None = None
        """In which of them it syncs on two connections; None until that is decided, or on one."""
        self.partner: Session | None = None
        """The other connection of its pair, while the snapshot is on its way."""
        self.snapshot_is_out = False
        """On either connection of a pair: the child has written the whole snapshot."""
        self.psync_wait: PsyncWait | None = None
        """What a main connection in Valkey's dialect named, until it asks for the stream there."""
        self.cursor: Cursor | None = None
        self.target: SnapshotTarget | None = None
        self.ack_cut = Offset(0)
        self.fack_cut = -1
        """What it said to have fsynced in its AOF (WAITAOF); -1 if nothing."""
        self.ack_at = now
        """When an ACK or a keep-alive last came."""
        self.has_acked = False
        self.unsent_bytes = 0
        """Bytes handed to the connection that its socket has not taken yet (`note_unsent`)."""
        self.end_reason: Reason | None = None
        self.waiting_since = now
        self._awaits_ack = False
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
        """`ip:port`; Redis's words where it told no port, as redis-cli does not."""
        return f"{self.ip}:{self.told.listening_port or UNKNOWN_PORT}"

    @property
    def may_stream(self) -> bool:
        """May the shell write stream bytes from `cursor` on?"""
        if self.state is SessionState.SEND_BULK_AND_STREAM:
            return True
        return self.state is SessionState.ONLINE and not self._awaits_ack

    @property
    def only_keeps_stream(self) -> bool:
        """Is the stream of no use to the replica yet? It loads the snapshot from its other connection."""
        return self.state is SessionState.SEND_BULK_AND_STREAM and not self.snapshot_is_out

    @property
    def needs_socket(self) -> bool:
        """Does its snapshot go to sockets alone? A part of the data in the file would take the place of dump.rdb."""
        return self.is_rdb_channel or bool(self.told.excluded)

    @property
    def takes_snapshot(self) -> bool:
        """A snapshot is being made for its replica or sent to it; of a pair one connection says so."""
        if self.state is SessionState.WAIT_SNAPSHOT_END:
            return self.partner is None
        return self.only_keeps_stream or self.state is SessionState.SEND_BULK

    @property
    def channel(self) -> Channel:
        """Which part of a sync it has: Valkey's `type=`."""
        if self.is_rdb_channel:
            return Channel.RDB
        pairing = self.state is SessionState.WAIT_RDB_CHANNEL or self.state is SessionState.SEND_BULK_AND_STREAM
        return Channel.MAIN if pairing else Channel.WHOLE

    @property
    def is_replica(self) -> bool:
        """It has asked to sync: listed in INFO and CLIENT LIST as a replica."""
        return self.state is not SessionState.HANDSHAKE and self.state is not SessionState.CLOSED

    def lag_s(self, now: float) -> float:
        """Seconds since its last sign, as INFO's lag; 0 while it is not online."""
        return max(0.0, now - self.ack_at) if self.state is SessionState.ONLINE else 0.0

    def note_unsent(self, size_bytes: int) -> None:
        """So many bytes that were handed to the connection wait for its socket."""
        self.unsent_bytes = size_bytes

    def pending_bytes(self, end: int) -> int:
        """Its output buffer, the stream ending at `end`: what it was not handed and what its socket did not take."""
        return self.unsent_bytes + (end - self.cursor.at if self.cursor is not None else 0)

    # ------------------------------------------------------------------ what the replica says

    def note_sign(self, now: float) -> None:
        """Something came, be it a single `\\n`: a replica that loads a snapshot says no more than that.

        The shell parses the connection; it calls this for each read and receive_command for each command.
        """
        self.ack_at = now

    def receive_command(self, argv: list[bytes], now: float) -> None:
        """One command of the replica; PING before it syncs is ignored. Once it does, its connection has the stream in
        it, and a command that would be answered there ends the session."""
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
        """`command`, in the words of errors (`client|list`), has an answer, which cannot be told from the stream."""
        text = f"Replica generated a reply to command '{command[:_SHOWN_NAME]}'"
        self.close(Reason(Cause.PROTOCOL, detail=self.state.wire_name), text)

    # ------------------------------------------------------------------ what the roster and the shell tell

    def refuse(self, text: str) -> None:
        """The sync cannot be served now; `text` is the error line without the dash. The connection stays open."""
        assert self.state is SessionState.HANDSHAKE
        self._out.append(b"-%b\r\n" % text.encode())

    def continued(self, replid: ReplId, cursor: Cursor, missing_bytes: int, now: float) -> None:
        """Partial resync granted: the stream goes on at `cursor`."""
        self._begin(SessionTrigger.CONTINUE, now)
        self.cursor = cursor
        self.ack_cut = cursor.at
        self._out.append(encode_continue(replid, with_id=Capability.PSYNC2 in self.told.capabilities))
        self._events.append(WentOnline(full=False, missing_bytes=missing_bytes))

    def wait_for_snapshot(self, now: float) -> None:
        """Full resync decided: the next snapshot is for this replica."""
        self._begin(SessionTrigger.FULL_RESYNC, now)
        self.waiting_since = now

    def send_to_rdb_channel(self, dialect: Dialect, now: float) -> None:
        """Full resync on two connections decided, of which this is the main one."""
        assert self.state is SessionState.HANDSHAKE and not self.is_rdb_channel
        self.dialect = dialect
        self._out.append(encode_verdict(dialect, self.id))
        self.waiting_since = now
        if not dialect.replica_asks_for_stream:
            self._begin(SessionTrigger.TWO_CHANNELS, now)

    def rdb_snapshot_started(self, line: bytes, now: float) -> None:
        """The snapshot for this RDB connection is being made; `line` states its cut."""
        assert self.is_rdb_channel
        self._begin(SessionTrigger.SNAPSHOT_BEGINS, now)
        self.target = SnapshotTarget.SOCKETS
        self._out.append(line)

    def stream_behind_snapshot(self, cursor: Cursor, now: float, *, answer: bytes = b"") -> None:
        """The stream goes from here at once; the snapshot that ends at `cursor.at` goes over the RDB connection."""
        self._begin(SessionTrigger.STREAM_BESIDE, now)
        self.cursor = cursor
        if answer:
            self._out.append(answer)

    def rdb_channel_done(self, now: float) -> None:
        """The RDB connection has brought the whole snapshot: from now on this one has to give signs."""
        assert not self.is_rdb_channel
        self.partner = None
        self.snapshot_is_out = True
        self.ack_at = now

    def serve_in(self, dialect: Dialect | None) -> None:
        """An RDB connection: the dialect of the main one that it takes its snapshot for."""
        assert self.is_rdb_channel
        self.dialect = dialect

    def pair_with(self, other: Session) -> None:
        """The two are the connections of one sync from here on."""
        assert self.partner is None and other.partner is None and self.is_rdb_channel is not other.is_rdb_channel
        self.partner, other.partner = other, self

    def part(self) -> Session | None:
        """The pair is no more; the other one, None if there was none."""
        partner, self.partner = self.partner, None
        if partner is not None:
            partner.partner = None
        return partner

    def name_wait(self, wait: PsyncWait | None) -> PsyncWait | None:
        """It named the stream that is kept for it; None once it has it, or will not. Returns what it named before."""
        before, self.psync_wait = self.psync_wait, wait
        return before

    def give_back_cursor(self) -> Cursor | None:
        """Its place in the stream, which it needs no longer; None if it had none."""
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
        """The snapshot file is complete: its header goes out, the file is the shell's to send (SendFile)."""
        assert self.target is SnapshotTarget.DISK
        self._begin(SessionTrigger.FILE_READY, now)
        self._out.append(encode_size_header(size_bytes))
        self._events.append(SendFile(size_bytes))

    def file_sent(self, now: float) -> None:
        """The last byte of the snapshot file was written to the connection: the stream may follow."""
        self._go_online(SessionTrigger.FILE_SENT, now)

    def child_done(self, now: float) -> None:
        """The child has written the whole snapshot to this replica's socket, which is ours again."""
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
        """End the session. `line` is an error line for the replica, without the dash."""
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
        """Cut the replica if it is slower than allowed; the stream ends at `end`, a backlog has `floor_bytes`."""
        excess = self.output.check(self.pending_bytes(end), floor_bytes, now)
        if excess is not None:
            self.close(excess.reason, excess.text)

    # ------------------------------------------------------------------ the remaining windows

    def data_to_send(self) -> list[bytes]:
        """What goes out before any file or stream byte; each byte is returned once."""
        out, self._out = self._out, []
        return out

    def events(self) -> list[SessionEvent]:
        """What has happened since the last call, in order."""
        events, self._events = self._events, []
        return events

    def next_deadline(self) -> float | None:
        """When `tick` is due, None if nothing is awaited. roster.tick ticks its sessions."""
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
        """Keep-alive or timeout, if due."""
        if self._is_kept_alive:
            if now >= self._last_sent_at + KEEP_ALIVE_PERIOD_S:
                self._out.append(b"\n")
                self._last_sent_at = now
        elif self._must_give_signs and now >= self.ack_at + self.options.timeout_s:
            phase = "first_ack" if self._awaits_first_ack else self.state.wire_name
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
    def _awaits_first_ack(self) -> bool:
        """It has had its snapshot, and has not said yet that it loaded it."""
        return (self.target is not None or self.snapshot_is_out) and not self.has_acked

    @property
    def _misses_rdb_channel(self) -> bool:
        if self.state is not SessionState.WAIT_RDB_CHANNEL:
            return False
        return self.partner is None or self.partner.state is SessionState.HANDSHAKE

    def _receive_replconf(self, argv: list[bytes], now: float) -> None:
        """Options in pairs, one +OK for all; ACK and GETACK are never answered."""
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
        """The options of a sync on two connections; False if it is none of them, or if we know no such thing."""
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
        """What the connection is for; that is settled once it is one of a pair, or has asked to sync."""
        settled = self.state is not SessionState.HANDSHAKE or self.partner is not None or self.psync_wait is not None
        if settled and is_rdb_channel != self.is_rdb_channel:
            raise CommandError("ERR rdb-channel cannot change during a sync")
        self.is_rdb_channel = is_rdb_channel

    def _receive_ack(self, value: bytes, now: float) -> None:
        """A replica may have loaded what a child wrote to its socket before we hear of the child's end. It cannot have
        applied what it was not handed: such a cut is no reason to believe any of it."""
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
        """How much the replica has on its disk; no more than it has applied."""
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
            self.close(Reason(Cause.STOPPED, detail="rdb_only"), "the snapshot was all it wanted", flush=True)
            return
        self._begin(trigger, now)
        assert self.cursor is not None
        self._awaits_ack = trigger is SessionTrigger.CHILD_DONE and not self.uses_sync and not self.has_acked
        self.ack_at = now
        self._events.append(WentOnline(full=True))

    def _explain_end(self, reason: Reason) -> None:
        """Keep why the session ended. A replica that goes after its snapshot without an ACK could not load it."""
        past = self.state is SessionState.ONLINE or self.state is SessionState.SEND_BULK_AND_STREAM
        if reason.cause is Cause.CONNECTION_LOST and past and self._awaits_first_ack:
            reason = Reason(Cause.LOAD_FAILED, detail="no_ack")
        self.end_reason = reason

    def _begin(self, trigger: SessionTrigger, now: float) -> None:
        """Move on, and count the time from here: for signs of the replica, and for ours."""
        self._move(trigger)
        self.ack_at = now
        self._last_sent_at = now

    def _move(self, trigger: SessionTrigger) -> None:
        self.state = SESSION.after(self.state, trigger)
