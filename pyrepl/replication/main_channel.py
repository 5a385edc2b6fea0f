"""The replica's first connection while the snapshot comes on the second: the way to the stream, then the stream itself.

Bytes of the first connection go in; stream bytes go into a SyncBuffer, and what is to be sent comes out. TwoChannels
makes one from the master's answer to PSYNC on, and conversation.py feeds it until the buffer is applied.

Not here: the second connection (rdb_channel.py), applying the buffer (conversation.py).

    Redis    STREAM at once: the master streams by itself, from the snapshot's cut on
    Valkey   RECEIVE_START --paired--> RECEIVE_PAIRING_REPLY --ok--> RECEIVE_PSYNC_REPLY --continue--> STREAM

In Valkey's dialect the second connection states the cut and its own id. Then we name that id here (REPLCONF
set-rdb-client-id) and ask for the stream from the cut on (PSYNC); the master keeps it for us until then.

Sources: captures of Redis 8.2.3 and Valkey 8.0.1.
"""

from __future__ import annotations

import enum
from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.machines import Table
from pyrepl.replication.dialects import Dialect, SnapshotStart
from pyrepl.replication.lines import Lines
from pyrepl.replication.psync import (
    Cause,
    ContinueGranted,
    Reason,
    Request,
    TryLater,
    decode_answer,
    encode_request,
)
from pyrepl.replication.syncbuffer import SyncBuffer
from pyrepl.resp.encoder import encode_command


class MainChannelState(enum.StrEnum):
    """Where the first connection stands. The value is the phase named in timeouts and errors."""

    RECEIVE_START = "waiting_for_snapshot"
    """The second connection has not stated the cut yet. The master says nothing here until we do."""
    RECEIVE_PAIRING_REPLY = "pairing"
    """We named the second connection's id, and wait for +OK."""
    RECEIVE_PSYNC_REPLY = "psync"
    """We asked for the stream from the cut on, and wait for +CONTINUE."""
    STREAM = "stream"
    """Every byte that comes is the stream's."""


class MainChannelTrigger(enum.StrEnum):
    """What moves the first connection on."""

    PAIRED = "paired"
    """The second connection stated the cut and its id."""
    OK = "ok"
    """The master accepted that id."""
    CONTINUE = "continue"
    """The master continues us at the cut."""


_S = MainChannelState
_T = MainChannelTrigger
MAIN_CHANNEL: Final = Table(
    "The main connection, in a sync on two",
    (_S.RECEIVE_START, _S.STREAM),
    {
        (_S.RECEIVE_START, _T.PAIRED): _S.RECEIVE_PAIRING_REPLY,
        (_S.RECEIVE_PAIRING_REPLY, _T.OK): _S.RECEIVE_PSYNC_REPLY,
        (_S.RECEIVE_PSYNC_REPLY, _T.CONTINUE): _S.STREAM,
    },
    where=" on the main connection",
)


@final
class MainChannel:
    """Brings the stream from the first connection into `buffer`.

    `refusal` is set once the master has answered a step with an error; then nothing more may be received. Invariant:
    until that moment `buffer` holds stream bytes alone, in order, from the snapshot's cut on.
    """

    __slots__ = ("_lines", "_out", "_start", "buffer", "refusal", "state")

    def __init__(self, dialect: Dialect, buffer: SyncBuffer) -> None:
        """`buffer` is empty; whoever applies the stream takes from it."""
        asks = dialect.replica_asks_for_stream
        self.state = MainChannelState.RECEIVE_START if asks else MainChannelState.STREAM
        self.buffer: Final = buffer
        self.refusal: TryLater | None = None
        self._start: SnapshotStart | None = None
        self._lines: Final = Lines()
        self._out: list[bytes] = []

    @property
    def streams(self) -> bool:
        """Are all bytes that come from now on the stream's?"""
        return self.state is MainChannelState.STREAM

    def snapshot_starts(self, start: SnapshotStart) -> None:
        """The second connection stated the cut: name its id here, in a dialect that wants that.

        Raises PeerError if it was stated before.
        """
        if self.streams:
            # Redis's dialect: the master pairs the connections by itself.
            return
        assert start.rdb_session_id is not None
        self._move(MainChannelTrigger.PAIRED)
        self._start = start
        self._out.append(encode_command([b"REPLCONF", b"set-rdb-client-id", b"%d" % start.rdb_session_id]))

    def data_to_send(self) -> list[bytes]:
        """What is to go out now; each byte is returned once."""
        out, self._out = self._out, []
        return out

    def receive(self, data: bytes) -> None:
        """The next bytes of the first connection. Raises PeerError for a line that is not the answer we wait for.

        Stream bytes are not looked at: they are parsed when they are applied.
        """
        assert self.refusal is None
        if self.streams:
            self.buffer.add(data)
            return
        self._lines.feed(data)
        while not self.streams and self.refusal is None:
            line = self._lines.next_line()
            if line is None:
                return
            if line:
                # Empty lines are keep-alives.
                self._receive_line(line)
        # The first bytes of the stream may come in one read with the answer before it.
        self.buffer.add(self._lines.take_rest())

    def _receive_line(self, line: bytes) -> None:
        if self.state is MainChannelState.RECEIVE_START:
            raise PeerError(f"expected nothing on the main connection before the snapshot begins, got {line[:200]!r}")
        if self.state is MainChannelState.RECEIVE_PSYNC_REPLY:
            self._receive_answer(line)
        elif line[:1] == b"-":
            text = line[1:201].decode("utf-8", "backslashreplace")
            self.refusal = TryLater(text, Reason(Cause.REFUSED, detail=f"main_channel:{self.state}"))
        elif line[:1] != b"+":
            raise PeerError(f"expected +OK or an error to set-rdb-client-id, got {line[:200]!r}")
        else:
            self._move(MainChannelTrigger.OK)
            assert self._start is not None
            self._out.append(encode_command(encode_request(Request(self._start.replid, self._start.cut))))

    def _receive_answer(self, line: bytes) -> None:
        """Take the answer to PSYNC. Only a continuation of the same stream will do: its snapshot is on the way."""
        answer = decode_answer(line)
        assert self._start is not None
        if isinstance(answer, TryLater):
            self.refusal = answer
        elif isinstance(answer, ContinueGranted) and answer.replid in (None, self._start.replid):
            self._move(MainChannelTrigger.CONTINUE)
        else:
            raise PeerError(f"expected +CONTINUE behind the snapshot of {self._start.replid}, got {line[:200]!r}")

    def _move(self, trigger: MainChannelTrigger) -> None:
        self.state = MAIN_CHANNEL.after(self.state, trigger)
