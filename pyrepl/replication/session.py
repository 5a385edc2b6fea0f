"""The master's machine for one replica: what it said about itself, its sync, its place in the stream, its ACKs.

Not here: who continues and which snapshot serves whom (roster.py), the stream's bytes (the shell reads them from the
Backlog at `cursor` and writes them), the snapshot's bytes (a file or a child's, daemon/snapshot).

    HANDSHAKE --request_sync--> WAIT_SNAPSHOT_START -> WAIT_SNAPSHOT_END -> SEND_BULK -> ONLINE
        |                                                     | (straight to the socket)   ^  ^
        |                                                     +----------------------------+  |
        +--- continued -----------------------------------------------------------------------+
    any state -> CLOSED

The stream flows in ONLINE, after a snapshot that a child wrote to the socket only from the first ACK on: until then
the replica looks for the end of the snapshot. While it waits for a file, `\\n` each second keeps the connection
alive; while a child writes to the socket we must not. Source: Redis 7.0 `syncCommand`, `replconfCommand`,
`replicationCron`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from pyrepl.errors import CommandError
from pyrepl.replication.backlog import Cursor
from pyrepl.replication.dialects import Capability, decode_capability
from pyrepl.replication.events import (
    CloseSession,
    SendFile,
    SessionEvent,
    SessionState,
    SnapshotTarget,
    SyncRequested,
    WentOnline,
)
from pyrepl.replication.psync import (
    Cause,
    Reason,
    decode_request,
    encode_continue,
    encode_full_resync,
)
from pyrepl.replication.transfer import encode_size_header
from pyrepl.resp.numbers import parse_integer
from pyrepl.resp.parser import Parser
from pyrepl.units import Offset, ReplId

KEEP_ALIVE_PERIOD_S: Final = 1.0
MAX_ADDRESS_BYTES: Final = 255
"""Inclusive; Redis's NET_HOST_STR_LEN with its final zero."""
_SOFT_SLACK_S: Final = 0.01
"""The soft limit must be passed, not met."""
_OK: Final = b"+OK\r\n"
_NOT_AN_INTEGER: Final = "ERR value is not an integer or out of range"
_S = SessionState

TRANSITIONS: Final[frozenset[tuple[SessionState, SessionState]]] = frozenset(
    {
        (_S.HANDSHAKE, _S.WAIT_SNAPSHOT_START),
        (_S.HANDSHAKE, _S.ONLINE),
        (_S.WAIT_SNAPSHOT_START, _S.WAIT_SNAPSHOT_END),
        (_S.WAIT_SNAPSHOT_END, _S.SEND_BULK),
        (_S.WAIT_SNAPSHOT_END, _S.ONLINE),
        (_S.SEND_BULK, _S.ONLINE),
        *((state, _S.CLOSED) for state in SessionState),
    }
)
"""The moves that are legal; the shell's and the roster's calls are asserted against them."""


@dataclass(slots=True)
class SessionOptions:
    """Limits of all sessions of a node. The shell changes them in place. A limit of 0 is none."""

    timeout_s: float = 60.0
    """repl-timeout: the longest time without an ACK while online."""
    hard_limit_bytes: int = 256 * 1024 * 1024
    """client-output-buffer-limit replica: so many bytes pending cut at once."""
    soft_limit_bytes: int = 64 * 1024 * 1024
    soft_limit_s: float = 60.0
    """soft_limit_bytes pending for longer than this without a break cut."""


@final
class Session:
    """One replica's connection, from its first REPLCONF on.

    Invariants: `cursor` is set from WAIT_SNAPSHOT_END on until CLOSED; `ack_cut` never falls; the stream may be
    written only while `may_stream`.
    """

    def __init__(self, session_id: int, ip: str, options: SessionOptions, now: float) -> None:
        """`session_id` is the client's id, `ip` the address its connection comes from."""
        self.id: Final = session_id
        self.options: Final = options
        self.state = SessionState.HANDSHAKE
        self.listening_port = 0
        self.announced_ip = ""
        self.peer_ip: Final = ip
        self.capabilities = Capability.NONE
        self.version = ""
        """What it told by `REPLCONF version`."""
        self.rdb_only = False
        """It wants the snapshot and no stream (redis-cli --rdb)."""
        self.uses_sync = False
        """It asked by SYNC and need not send ACKs."""
        self.cursor: Cursor | None = None
        self.target: SnapshotTarget | None = None
        self.ack_cut = Offset(0)
        self.ack_at = now
        """When an ACK or a keep-alive last came."""
        self.has_acked = False
        self.unsent_bytes = 0
        """Bytes handed to the connection that its socket has not taken yet; kept up to date by the shell."""
        self.end_reason: Reason | None = None
        self.waiting_since = now
        self._awaits_ack = False
        self._soft_since: float | None = None
        self._last_sent_at = now
        self._parser = Parser()
        self._out: list[bytes] = []
        self._events: list[SessionEvent] = []

    # ------------------------------------------------------------------ what INFO, ROLE and the log ask

    @property
    def ip(self) -> str:
        """The address to show: the announced one, or where the connection comes from."""
        return self.announced_ip or self.peer_ip

    @property
    def address(self) -> str:
        return f"{self.ip}:{self.listening_port}"

    @property
    def may_stream(self) -> bool:
        """May the shell write stream bytes from `cursor` on?"""
        return self.state is SessionState.ONLINE and not self._awaits_ack

    @property
    def is_replica(self) -> bool:
        """It has asked to sync: listed in INFO and CLIENT LIST as a replica."""
        return self.state is not SessionState.HANDSHAKE and self.state is not SessionState.CLOSED

    def lag_s(self, now: float) -> float:
        """Seconds since its last sign, as INFO's lag; 0 while it is not online."""
        return max(0.0, now - self.ack_at) if self.state is SessionState.ONLINE else 0.0

    def pending_bytes(self, end: int) -> int:
        """Its output buffer, the stream ending at `end`: what it was not handed and what its socket did not take."""
        return self.unsent_bytes + (end - self.cursor.at if self.cursor is not None else 0)

    # ------------------------------------------------------------------ what the replica says

    def receive(self, data: bytes, now: float) -> None:
        """The next bytes of the connection. Broken input closes the session (Close with reason protocol)."""
        if self.state is SessionState.CLOSED:
            return
        batch = self._parser.feed(data)
        if batch.size:
            self.note_sign(now)
        for argv in batch.commands:
            self.receive_command(argv, now)
        if batch.error is not None or batch.overflow:
            text = (batch.error or b"query buffer limit").decode("utf-8", "replace")
            self.close(Reason(Cause.PROTOCOL, detail=self.state.wire_name), text)

    def note_sign(self, now: float) -> None:
        """Something came, be it a single `\\n`: a replica that loads a snapshot says no more than that.

        For a shell that parses the connection itself and calls receive_command; `receive` does it too.
        """
        self.ack_at = now

    def receive_command(self, argv: list[bytes], now: float) -> None:
        """One command of the replica. PING is ignored; any but REPLCONF, PSYNC and SYNC ends a session that syncs."""
        if self.state is SessionState.CLOSED:
            return
        name = argv[0].upper()
        try:
            if name == b"REPLCONF":
                self._receive_replconf(argv, now)
            elif name in (b"PSYNC", b"SYNC"):
                self._receive_sync(argv)
            elif name != b"PING" and self.is_replica:
                shown = argv[0][:64].decode("utf-8", "backslashreplace")
                text = f"a replica sends REPLCONF, but this one sent {shown!r}"
                self.close(Reason(Cause.PROTOCOL, detail=self.state.wire_name), text)
        except CommandError as error:
            self._out.append(b"-%b\r\n" % str(error).encode("utf-8", "surrogateescape"))

    # ------------------------------------------------------------------ what the roster and the shell tell

    def refuse(self, text: str) -> None:
        """The sync cannot be served now; `text` is the error line without the dash. The connection stays open."""
        assert self.state is SessionState.HANDSHAKE
        self._out.append(b"-%b\r\n" % text.encode())

    def continued(self, replid: ReplId, cursor: Cursor, missing_bytes: int, now: float) -> None:
        """Partial resync granted: the stream goes on at `cursor`."""
        self._move(SessionState.ONLINE, now)
        self.cursor = cursor
        self.ack_cut = cursor.at
        self._out.append(encode_continue(replid, with_id=Capability.PSYNC2 in self.capabilities))
        self._events.append(WentOnline(full=False, missing_bytes=missing_bytes))

    def wait_for_snapshot(self, now: float) -> None:
        """Full resync decided: the next snapshot is for this replica."""
        self._move(SessionState.WAIT_SNAPSHOT_START, now)
        self.waiting_since = now

    def snapshot_started(self, target: SnapshotTarget, replid: ReplId, cursor: Cursor, now: float) -> None:
        """The snapshot for this replica ends at the cut `cursor.at` and is being made."""
        self._move(SessionState.WAIT_SNAPSHOT_END, now)
        self.target = target
        self.cursor = cursor
        if not self.uses_sync:
            self._out.append(encode_full_resync(replid, cursor.at))

    def snapshot_ready(self, size_bytes: int, now: float) -> None:
        """The snapshot file is complete: its header goes out, the file is the shell's to send (SendFile)."""
        assert self.target is SnapshotTarget.DISK
        self._move(SessionState.SEND_BULK, now)
        self._out.append(encode_size_header(size_bytes))
        self._events.append(SendFile(size_bytes))

    def file_sent(self, now: float) -> None:
        """The last byte of the snapshot file was written to the connection: the stream may follow."""
        assert self.state is SessionState.SEND_BULK
        self._go_online(now, awaits_ack=False)

    def child_done(self, now: float) -> None:
        """The child has written the whole snapshot to this replica's socket, which is ours again."""
        assert self.target is SnapshotTarget.SOCKETS
        self._go_online(now, awaits_ack=True)

    def close(self, reason: Reason, text: str, *, flush: bool = False, line: str = "") -> None:
        """End the session. `line` is an error line for the replica, without the dash."""
        if self.state is SessionState.CLOSED:
            return
        if line:
            self._out.append(b"-%b\r\n" % line.encode())
        elif not flush:
            self._out.clear()
        self._explain_end(reason)
        self.state = SessionState.CLOSED
        self._events.append(CloseSession(self.end_reason or reason, text, flush=flush or bool(line)))

    def lost(self, text: str) -> None:
        """The connection is gone; `text` says how. The shell then calls roster.remove."""
        if self.state is SessionState.CLOSED:
            return
        self._explain_end(Reason(Cause.CONNECTION_LOST, detail=self.state.wire_name))
        self._out.clear()
        self.state = SessionState.CLOSED

    def check_output_buffer(self, end: int, floor_bytes: int, now: float) -> None:
        """Cut the replica if it is slower than the limits allow. The stream ends at `end`, a backlog has `floor_bytes`.

        A hard limit below the backlog's size counts as that size (Redis 7.0), as those bytes are kept anyway.
        """
        options = self.options
        pending = self.pending_bytes(end)
        hard = options.hard_limit_bytes
        if hard and pending >= max(hard, floor_bytes):
            text = f"{pending} bytes pending, the hard limit is {max(hard, floor_bytes)}"
            self.close(Reason(Cause.OUTPUT_BUFFER, pending - max(hard, floor_bytes), "hard"), text)
            return
        soft = options.soft_limit_bytes
        if not soft or pending < soft:
            self._soft_since = None
        elif self._soft_since is None:
            self._soft_since = now
        elif now > self._soft_since + options.soft_limit_s:
            text = f"{pending} bytes pending for over {options.soft_limit_s:g} seconds, the soft limit is {soft}"
            self.close(Reason(Cause.OUTPUT_BUFFER, pending - soft, "soft"), text)

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
        deadline = None
        if self._soft_since is not None:
            deadline = self._soft_since + self.options.soft_limit_s + _SOFT_SLACK_S
        if self.state is SessionState.ONLINE and not self.uses_sync:
            silent_at = self.ack_at + self.options.timeout_s
            deadline = silent_at if deadline is None else min(deadline, silent_at)
        return deadline

    def tick(self, now: float) -> None:
        """Keep-alive or timeout, if due."""
        if self._is_kept_alive:
            if now >= self._last_sent_at + KEEP_ALIVE_PERIOD_S:
                self._out.append(b"\n")
                self._last_sent_at = now
        elif self.state is SessionState.ONLINE and not self.uses_sync and now >= self.ack_at + self.options.timeout_s:
            phase = "first_ack" if self.target is not None and not self.has_acked else self.state.wire_name
            text = f"nothing came for {self.options.timeout_s:g} seconds in phase {phase}"
            self.close(Reason(Cause.TIMEOUT, detail=phase), text)

    # ------------------------------------------------------------------ inside

    @property
    def _is_kept_alive(self) -> bool:
        return self.state is SessionState.WAIT_SNAPSHOT_START or (
            self.state is SessionState.WAIT_SNAPSHOT_END and self.target is SnapshotTarget.DISK
        )

    def _receive_replconf(self, argv: list[bytes], now: float) -> None:
        """Options in pairs, one +OK for all; ACK and GETACK are never answered."""
        if len(argv) % 2 == 0:
            raise CommandError("ERR syntax error")
        for at in range(1, len(argv), 2):
            option, value = argv[at].lower(), argv[at + 1]
            if option == b"ack":
                self._receive_ack(value, now)
                return
            if option == b"getack":
                return
            self._receive_option(argv[at], option, value)
        self._out.append(_OK)

    def _receive_option(self, spelled: bytes, option: bytes, value: bytes) -> None:
        if option == b"capa":
            self.capabilities |= decode_capability(value)
        elif option == b"listening-port":
            port = parse_integer(value)
            if port is None:
                raise CommandError(_NOT_AN_INTEGER)
            self.listening_port = port
        elif option == b"ip-address":
            if len(value) > MAX_ADDRESS_BYTES:
                raise CommandError(
                    f"ERR REPLCONF ip-address provided by replica instance is too long: {len(value)} bytes"
                )
            self.announced_ip = value.decode("utf-8", "backslashreplace")
        elif option == b"version":
            self.version = value[:64].decode("utf-8", "backslashreplace")
        elif option == b"rdb-only":
            number = parse_integer(value)
            if number is None:
                raise CommandError(_NOT_AN_INTEGER)
            if number not in (0, 1):
                raise CommandError("ERR value is out of range, value must between 0 and 1")
            self.rdb_only = number == 1
        else:
            name = spelled[:128].decode("utf-8", "surrogateescape")
            raise CommandError(f"ERR Unrecognized REPLCONF option: {name}")

    def _receive_ack(self, value: bytes, now: float) -> None:
        """`REPLCONF ACK cut [FACK n]`; FACK, how much is in the replica's AOF, is not used yet.

        A replica may have loaded what a child wrote to its socket before we hear of the child's end.
        """
        cut = parse_integer(value)
        early = self.state is SessionState.WAIT_SNAPSHOT_END and self.target is SnapshotTarget.SOCKETS
        if cut is None or not (early or self.state is SessionState.ONLINE):
            return
        self.ack_at = now
        self.has_acked = True
        self._awaits_ack = False
        if cut > self.ack_cut:
            self.ack_cut = Offset(cut)

    def _receive_sync(self, argv: list[bytes]) -> None:
        """PSYNC or SYNC; a second one on a replica's connection is ignored, as in Redis."""
        if self.state is not SessionState.HANDSHAKE:
            return
        request = decode_request(argv)
        self.uses_sync = not request.can_continue
        self._events.append(SyncRequested(request))

    def _go_online(self, now: float, *, awaits_ack: bool) -> None:
        if self.rdb_only:
            self.close(Reason(Cause.STOPPED, detail="rdb_only"), "the snapshot was all it wanted", flush=True)
            return
        self._move(SessionState.ONLINE, now)
        assert self.cursor is not None
        self._awaits_ack = awaits_ack and not self.uses_sync and not self.has_acked
        self.ack_at = now
        self._events.append(WentOnline(full=True))

    def _explain_end(self, reason: Reason) -> None:
        """Keep why the session ended. A replica that goes after its snapshot without an ACK could not load it."""
        went = reason.cause is Cause.CONNECTION_LOST
        if went and self.state is SessionState.ONLINE and self.target is not None and not self.has_acked:
            reason = Reason(Cause.LOAD_FAILED, detail="no_ack")
        self.end_reason = reason

    def _move(self, state: SessionState, now: float) -> None:
        assert (self.state, state) in TRANSITIONS, f"{self.state} -> {state}"
        self.state = state
        self.ack_at = now
        self._last_sent_at = now
