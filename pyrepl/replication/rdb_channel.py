"""The replica's second connection: what it says before its snapshot, and what it makes of each answer.

Bytes go in until the master has stated the snapshot's cut (`start`) or refused (`refusal`); bytes to send come out.
TwoChannels makes one when the master sends us to a second connection.

Not here: the connection's life and timeouts (conversation.py), the snapshot's bytes (snapshot_in.py, transfer.py), the
first connection meanwhile (main_channel.py).

    SEND_HANDSHAKE --established--> RECEIVE_AUTH_REPLY ----ok----> RECEIVE_REPLCONF_REPLY
                        |              (with a password)                  ^   | ok
                        +-------------------------------------------------+   v
                        RDB_LOADING <--start-- RECEIVE_FULLRESYNC <-----------+

AUTH and REPLCONF are answered with +OK; an error ends the sync. While the master makes the snapshot, empty lines are
keep-alives. Then Redis says `+FULLRESYNC <replid> <cut>`, Valkey `$ENDOFF:...`; everything behind that line is the
snapshot. Source: Redis 8.0 and Valkey 8.0, whose states these are (REPL_RDB_CH_*).
"""

from __future__ import annotations

import enum
from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.machines import Table
from pyrepl.replication.dialects import RDB_CAPABILITY, Dialect, SnapshotStart, decode_end_offset
from pyrepl.replication.handshake import Introduction, auth_step
from pyrepl.replication.lines import Lines
from pyrepl.replication.psync import Cause, FullResyncGranted, Reason, TryLater, decode_answer
from pyrepl.resp.encoder import encode_command


class RdbChannelState(enum.StrEnum):
    """Where the second connection stands. The value is the phase named in timeouts and errors."""

    SEND_HANDSHAKE = "connecting"
    """The shell is opening the connection."""
    RECEIVE_AUTH_REPLY = "auth"
    """AUTH is sent and not answered."""
    RECEIVE_REPLCONF_REPLY = "replconf"
    """REPLCONF is sent and not answered."""
    RECEIVE_FULLRESYNC = "waiting_for_snapshot"
    """The snapshot was asked for, and its cut is not stated yet."""
    RDB_LOADING = "transfer"
    """The cut is stated: all bytes from here on are the snapshot's."""


class RdbChannelTrigger(enum.StrEnum):
    """What moves the second connection on."""

    ESTABLISHED = "established"
    """The connection stands, and we have no password to send."""
    ESTABLISHED_WITH_PASSWORD = "established_with_password"
    """The connection stands, and AUTH goes first (masterauth)."""
    OK = "ok"
    """The step that was sent is answered without an error."""
    START = "start"
    """The master stated the snapshot's cut."""


_S = RdbChannelState
_T = RdbChannelTrigger
RDB_CHANNEL: Final = Table(
    "The RDB connection, in a sync on two",
    (_S.SEND_HANDSHAKE,),
    {
        (_S.SEND_HANDSHAKE, _T.ESTABLISHED): _S.RECEIVE_REPLCONF_REPLY,
        (_S.SEND_HANDSHAKE, _T.ESTABLISHED_WITH_PASSWORD): _S.RECEIVE_AUTH_REPLY,
        (_S.RECEIVE_AUTH_REPLY, _T.OK): _S.RECEIVE_REPLCONF_REPLY,
        (_S.RECEIVE_REPLCONF_REPLY, _T.OK): _S.RECEIVE_FULLRESYNC,
        (_S.RECEIVE_FULLRESYNC, _T.START): _S.RDB_LOADING,
    },
    where=" on the RDB connection",
)


@final
class RdbChannel:
    """One run of the steps on one connection.

    `start` is None until the master has stated the snapshot's cut; then `rest` holds the bytes that followed it.
    `refusal` is set instead if the master answered a step with an error. After either, `receive` may not be called.
    `last_io_at` (monotonic seconds) is when something last came, for the timeout.
    """

    __slots__ = ("_dialect", "_introduction", "_lines", "_main_id", "_out", "last_io_at", "refusal", "start", "state")

    def __init__(self, dialect: Dialect, introduction: Introduction, main_id: int | None, now: float) -> None:
        """`main_id` is the first connection's id on the master. The master stated it in its answer to PSYNC; it is None
        in Valkey's dialect, where this connection does not name the first one."""
        assert (main_id is not None) == dialect.verdict_names_session
        self.state = RdbChannelState.SEND_HANDSHAKE
        self.start: SnapshotStart | None = None
        self.refusal: TryLater | None = None
        self.last_io_at = now
        self._dialect: Final = dialect
        self._introduction: Final = introduction
        self._main_id: Final = main_id
        self._lines: Final = Lines()
        self._out: list[bytes] = []

    @property
    def asked(self) -> bool:
        """Was the snapshot asked for? The request itself may still wait in `data_to_send`."""
        return self.state in (RdbChannelState.RECEIVE_FULLRESYNC, RdbChannelState.RDB_LOADING)

    @property
    def rest(self) -> bytes:
        """The bytes behind the line that stated the cut: the snapshot's first ones."""
        return self._lines.rest

    def connected(self, now: float) -> None:
        """The connection stands: the first step goes out. Raises PeerError if it stood already."""
        self.last_io_at = now
        auth = auth_step(self._introduction)
        if auth is None:
            self._move(RdbChannelTrigger.ESTABLISHED)
            self._introduce()
        else:
            self._move(RdbChannelTrigger.ESTABLISHED_WITH_PASSWORD)
            self._out.append(encode_command(auth.argv))

    def data_to_send(self) -> list[bytes]:
        """What is to go out now; each byte is returned once."""
        out, self._out = self._out, []
        return out

    def receive(self, data: bytes, now: float) -> None:
        """The next bytes of the connection, up to the snapshot. Raises PeerError for a line that is no answer."""
        assert self.start is None and self.refusal is None
        if self.state is RdbChannelState.SEND_HANDSHAKE:
            raise PeerError("bytes came before the RDB connection was reported")
        self.last_io_at = now
        self._lines.feed(data)
        while self.start is None and self.refusal is None:
            line = self._lines.next_line()
            if line is None:
                return
            if line:
                # Empty lines are keep-alives.
                self._receive_line(line)

    def _receive_line(self, line: bytes) -> None:
        if self.state is RdbChannelState.RECEIVE_FULLRESYNC:
            self._receive_start(line)
        elif line[:1] == b"-":
            text = line[1:201].decode("utf-8", "backslashreplace")
            self.refusal = TryLater(text, Reason(Cause.REFUSED, detail=f"rdb_channel:{self.state}"))
        elif line[:1] != b"+":
            raise PeerError(f"expected +OK or an error to {self.state} on the RDB connection, got {line[:200]!r}")
        elif self.state is RdbChannelState.RECEIVE_AUTH_REPLY:
            self._move(RdbChannelTrigger.OK)
            self._introduce()
        else:
            self._move(RdbChannelTrigger.OK)
            self._out.append(self._dialect.snapshot_request)

    def _receive_start(self, line: bytes) -> None:
        """Take the line that states the cut, or the error line that says why there is no snapshot."""
        if line[:1] != b"-" and self._dialect.replica_asks_for_stream:
            self.start = decode_end_offset(line)
        else:
            answer = decode_answer(line)
            if isinstance(answer, TryLater):
                self.refusal = answer
                return
            if not isinstance(answer, FullResyncGranted):
                raise PeerError(f"expected +FULLRESYNC on the RDB connection, got {line[:200]!r}")
            self.start = SnapshotStart(answer.replid, answer.cut)
        self._move(RdbChannelTrigger.START)

    def _introduce(self) -> None:
        """Send all options in one REPLCONF, so that they cost one round trip.

        The address is told as on the first connection: a master recognises a replica by it (pairs.py, causes.py).
        """
        words = [b"REPLCONF", b"capa", b"eof", b"rdb-only", b"1", b"rdb-channel", b"1"]
        if self._main_id is not None:
            words += [b"main-ch-client-id", b"%d" % self._main_id]
        words += [b"listening-port", b"%d" % self._introduction.listening_port]
        if self._introduction.announce_ip:
            words += [b"ip-address", self._introduction.announce_ip.encode()]
        if self._dialect.states_version and self._introduction.version:
            # A Valkey chooses the RDB version by what this connection says; a pyrepl must not take us for one.
            words += [b"capa", RDB_CAPABILITY + b"%d" % self._introduction.rdb_version]
            words += [b"version", self._introduction.version.encode()]
        self._out.append(encode_command(words))

    def _move(self, trigger: RdbChannelTrigger) -> None:
        self.state = RDB_CHANNEL.after(self.state, trigger)
