"""What is said over the present connection to our master, and over a second one where the snapshot has its own.

link.py makes one Conversation for each attempt to connect, and hands the shell's calls to it. Bytes and `now` go in
(monotonic seconds). What comes out is written into the LinkLife that the Conversation is given: bytes to send, events
for the shell, moves from state to state, and our position in the stream.

Not here: connections tried, lost and tried again, and our position (link_life.py), the methods that the shell calls
(link.py), the parts that read the bytes: handshake.py, snapshot_in.py, stream_in.py, two_channels.py.

Two channels: the answer to PSYNC (`+RDBCHANNELSYNC id`, `+DUALCHANNELSYNC`) makes us open a second connection. The
snapshot comes over the second connection; meanwhile the first one brings the stream, which we keep in a buffer. In
CATCHING_UP the buffer is applied in slices, one a tick, so that the node answers clients in between; stream bytes that
come meanwhile queue behind the buffer. While the snapshot is not whole, the loss of either connection ends both. Once
the snapshot is whole, the second connection is not needed any more, and if the first one is lost, we apply what the
buffer holds before we connect again and ask for the rest.

Signs of life, each second: `\\n`, which no offset counts, from the moment when a snapshot is expected until it is
loaded; `REPLCONF ACK held` once the stream flows. An ACK goes out at once when the stream begins, when a snapshot from
the second connection is loaded, and when everything up to a GETACK is applied. Only bytes that the shell reported as
applied are acknowledged: a master counts acknowledged bytes as safe (WAIT).

Source: Redis 7.0 `syncWithMaster`, `readSyncBulkPayload`, `replicationCron`.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.replication.events import (
    CatchUpBegins,
    CloseRdbChannel,
    Continued,
    FullResyncAnnounced,
    LinkState,
    LinkUp,
    OpenRdbChannel,
    SyncAsked,
    SyncBufferFull,
    Tolerated,
)
from pyrepl.replication.handshake import Handshake
from pyrepl.replication.link_life import Connection, LinkLife
from pyrepl.replication.link_states import LINK, SYNCING, TAKING, LinkTrigger, OldData
from pyrepl.replication.psync import (
    Cause,
    ContinueGranted,
    FullResyncGranted,
    Reason,
    Request,
    TryLater,
    TwoChannelsGranted,
    guess_refusal,
)
from pyrepl.replication.snapshot_in import SnapshotIn
from pyrepl.replication.stream_in import StreamIn
from pyrepl.replication.syncbuffer import BufferUse
from pyrepl.replication.two_channels import TwoChannels
from pyrepl.resp.encoder import encode_command
from pyrepl.units import Offset, ReplId

ACK_PERIOD_S: Final = 1.0
"""Between two signs of life, ACKs and keep-alives alike."""
_KEEP_ALIVE: Final = b"\n"


@final
class Conversation(Connection):
    """All that belongs to one connection to the master and to the second one beside it, from the attempt to connect on.

    Invariants: `_handshake` is set in HANDSHAKE, `_snapshot` in TRANSFER and LOADING (on two channels once the cut is
    stated), `_stream` in CATCHING_UP and CONNECTED. `_two` is set exactly from the answer that names two channels
    until CATCHING_UP ends. In CATCHING_UP and CONNECTED `held <= read_offset`.
    """

    def __init__(self, life: LinkLife[Conversation], buffer_use: BufferUse, now: float) -> None:
        """`life` takes what comes out; `buffer_use` counts the stream bytes held while a snapshot comes."""
        self._life: Final = life
        self._buffer_use: Final = buffer_use
        self._handshake: Handshake | None = None
        self._snapshot: SnapshotIn | None = None
        self._stream: StreamIn | None = None
        self._early = b""
        """On one connection: the stream's first bytes, read together with the snapshot's last, until that is loaded."""
        self._two: TwoChannels | None = None
        self._last_io_at = now
        """When something last came on the first connection, or a slice of the buffer was last given out."""
        self._last_sent_at = 0.0
        """When the last sign of life was due; other bytes that are sent do not count."""

    # ------------------------------------------------------------------ what the life and INFO ask

    @property
    def awaits_verdict(self) -> bool:
        """Was PSYNC sent, and not answered yet?"""
        return self._handshake is not None and self._handshake.asked

    @property
    def old_data_is_gone(self) -> bool:
        """Was the data that `held` speaks of destroyed for a snapshot that is not loaded yet?"""
        return self._snapshot is not None and self._snapshot.old_data_is_gone

    @property
    def uses_two_channels(self) -> bool:
        """Is a sync on two connections under way, catching up included?"""
        return self._two is not None

    @property
    def announced(self) -> FullResyncAnnounced | None:
        """The full resync under way, from the line that states its cut until the snapshot is loaded; else None."""
        return self._snapshot.announced if self._snapshot is not None else None

    @property
    def buffer_bytes(self) -> int:
        """Stream bytes in the buffer, on two channels: they wait for the snapshot, or for their turn behind it."""
        return self._two.main.buffer.size_bytes if self._two is not None else 0

    @property
    def read_offset(self) -> int | None:
        """The cut up to which stream bytes have come. `held` before the stream is applied, None without data."""
        return self._life.held if self._stream is None else self._stream.read_offset + self.buffer_bytes

    @property
    def wants_data(self) -> bool:
        """May the shell read from the first connection?

        What we do not read stays with the master, where its output-buffer limit decides. So a full buffer stops the
        reading, and so does a load on one connection, where the bytes behind the snapshot have no buffer.
        """
        if self._two is not None:
            return not self._two.main.buffer.is_full
        return self._life.state is not LinkState.LOADING

    # ------------------------------------------------------------------ what the shell tells

    def connected(self, now: float) -> None:
        """The first connection stands: the handshake begins. Raises PeerError if none was being made."""
        life = self._life
        life.move(LinkTrigger.ESTABLISHED, now)
        self._last_io_at = now
        self._handshake = Handshake(life.options.introduction, life.position, life.options.offers)
        life.out.extend(self._handshake.data_to_send())

    def rdb_connected(self, now: float) -> None:
        """The second connection stands. Raises PeerError if none is awaited."""
        if self._two is None or self._two.rdb is None:
            raise PeerError(f"no second connection is expected in state {self._life.state}")
        self._two.rdb.connected(now)

    def rdb_receive(self, data: bytes, now: float) -> None:
        """The next bytes of the second connection. What breaks the protocol ends both, with Lost(protocol)."""
        life, two = self._life, self._two
        if two is None or two.rdb is None or life.state not in TAKING:
            # We closed the connection, or the snapshot is whole; the shell had read these bytes before it heard of it.
            return
        two.rdb.last_io_at = life.progress.last_io_at = now
        try:
            self._take_from_rdb_channel(two, data, now)
        except PeerError as error:
            life.fail(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now, disconnect=True)

    def rdb_data_to_send(self) -> list[bytes]:
        """What is to be written to the second connection now; each byte is returned once."""
        two = self._two
        return two.rdb.data_to_send() if two is not None and two.rdb is not None else []

    def rdb_lost(self, now: float, text: str) -> None:
        """The second connection could not be had, or is gone. No effect once the snapshot is whole."""
        two = self._two
        if two is None:
            return
        cause = Cause.CONNECT_FAILED if two.is_connecting else Cause.CONNECTION_LOST
        if two.close_rdb() and self._life.state in TAKING:
            self._life.fail(Reason(cause, detail="rdb_channel"), text, now, disconnect=True)

    def keep_old_data(self, until: OldData) -> None:
        """How the shell loads the snapshot that was announced. No effect if there is none any more."""
        if self._snapshot is not None:
            self._snapshot.old_data = until

    def loaded(self, now: float) -> None:
        """The snapshot is loaded and is our data now: our position is its cut. Raises PeerError if none is loading."""
        life, announced = self._life, self.announced
        if announced is None:
            raise PeerError(f"no snapshot is being loaded in state {life.state}")
        # Looked up before anything changes: in a wrong state this raises, and our position must not have moved then.
        LINK.after(life.state, LinkTrigger.LOADED)
        life.hold(announced.replid, announced.cut)
        self._snapshot = None
        if self._two is not None:
            self._begin_catch_up(self._two, now)
            return
        if life.gone is not None:
            # The connection broke while we loaded. The snapshot is good: the next PSYNC continues behind it.
            life.used_up(now)
            return
        self._begin_stream(LinkTrigger.LOADED, now, full=True)
        early, self._early = self._early, b""
        if early:
            self._guarded(early, now)

    def applied(self, cut: int) -> None:
        """Stream bytes left of `cut` are applied. Raises PeerError for a cut that never came or goes back."""
        life, stream = self._life, self._stream
        if life.held is None or stream is None or not life.held <= cut <= stream.end:
            raise PeerError(f"applied up to {cut}, but the stream goes from {life.held} to {self.read_offset}")
        life.advance(Offset(cut))
        if stream.wants_ack(cut) and life.gone is None:
            self._send_ack()

    # ------------------------------------------------------------------ bytes and time

    def take_back(self) -> bytes | None:
        """The beginning of a command that came, to be received again with its rest (`Link.take_back`).

        None where nothing may be cut off: only the stream of a connected link consists of commands alone.
        """
        is_up = self._life.state is LinkState.CONNECTED
        return self._stream.take_back() if self._stream is not None and is_up else None

    def receive(self, data: bytes, now: float, beginning: bytes) -> None:
        """The next bytes of the first connection. What breaks the protocol ends it, with Lost(protocol).

        `beginning` are the first bytes of a command behind `data`, cut off by the shell after `take_back`.
        """
        if self._life.gone is not None:
            return
        self._last_io_at = now
        self._life.progress.last_io_at = now
        self._guarded(data, now, beginning)

    def next_deadline(self) -> float:
        """When `tick` is due, in monotonic seconds: for a timeout, the next sign of life, or at once for a slice."""
        state = self._life.state
        if state is LinkState.CONNECTING or state is LinkState.HANDSHAKE:
            return self._last_io_at + self._life.options.timeout_s
        if self._may_take_slice:
            return self._last_io_at
        next_sign = self._last_sent_at + ACK_PERIOD_S
        silent_at = self._silent_at
        return next_sign if silent_at is None else min(next_sign, silent_at)

    def tick(self, now: float) -> None:
        """Do what is due: apply a slice, time out, send a keep-alive or an ACK."""
        if self._may_take_slice:
            self._take_slice(now)
        silent_at = self._silent_at
        if silent_at is not None and now >= silent_at:
            reason = Reason(Cause.TIMEOUT, detail=self._phase())
            text = f"nothing came for {self._life.options.timeout_s:g} seconds in phase {reason.detail}"
            self._life.fail(reason, text, now, disconnect=True)
            return
        if now >= self._last_sent_at + ACK_PERIOD_S:
            self._send_sign(now)

    def end(self) -> bool:
        """Forget everything, buffered stream included. Returns whether a second connection has to be closed."""
        must_close = self._two is not None and self._two.end()
        self._early = b""
        self._handshake = None
        self._snapshot = None
        self._stream = None
        self._two = None
        return must_close

    # ------------------------------------------------------------------ inside

    @property
    def _silent_at(self) -> float | None:
        """When the master's silence has lasted for repl-timeout; None while we do not listen.

        While the second connection is needed, only its silence counts: a stream without writes may be silent on the
        first one. While we load we do not read, and a connection that is gone cannot speak: then silence means nothing.
        """
        timeout_s = self._life.options.timeout_s
        if self._life.state is LinkState.LOADING:
            return None
        if self._life.state in TAKING and self._two is not None and self._two.rdb is not None:
            return self._two.rdb.last_io_at + timeout_s
        return None if self._life.gone is not None else self._last_io_at + timeout_s

    def _guarded(self, data: bytes, now: float, beginning: bytes = b"") -> None:
        """Take the bytes; if they break the protocol, lose the connection."""
        try:
            self._take(data, now, beginning)
        except PeerError as error:
            self._life.lose(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now, disconnect=True)

    def _take(self, data: bytes, now: float, beginning: bytes) -> None:
        """Hand the bytes to the part that reads in the present state, and what it leaves over to the part after it.

        One read may hold the end of the handshake, the whole snapshot and the stream's beginning.
        """
        if self._life.state is LinkState.HANDSHAKE:
            data = self._take_handshake(data, now)
        if self._two is not None:
            self._take_from_main_channel(self._two, data, now)
            return
        if self._life.state is LinkState.TRANSFER and data:
            data = self._take_snapshot(data, now)
        if self._life.state is LinkState.LOADING:
            self._early += data
        elif self._life.state is LinkState.CONNECTED and (data or beginning):
            self._take_stream(data, beginning)
        elif self._life.state is LinkState.CONNECTING:
            raise PeerError("bytes came before the connection was reported")

    def _take_handshake(self, data: bytes, now: float) -> bytes:
        """Read answers of the handshake, and act on the answer to PSYNC. Returns the bytes behind that answer."""
        handshake = self._handshake
        assert handshake is not None
        was_asked = handshake.asked
        handshake.receive(data)
        self._life.out.extend(handshake.data_to_send())
        self._life.events.extend(Tolerated(step, text) for step, text in handshake.tolerated)
        handshake.tolerated.clear()
        if handshake.asked and not was_asked:
            self._life.events.append(SyncAsked(handshake.request))
        answer = handshake.answer
        if answer is None:
            return b""
        self._handshake = None
        if isinstance(answer, TryLater):
            self._life.fail(self._life.reason_to_try_again(answer), answer.text, now, disconnect=True)
        elif isinstance(answer, ContinueGranted):
            self._take_continue(answer, handshake.request, now)
        elif isinstance(answer, TwoChannelsGranted):
            self._open_rdb_channel(answer, handshake.request, now)
        else:
            self._take_full_resync(answer, handshake.request, now)
        return handshake.rest

    def _take_continue(self, answer: ContinueGranted, request: Request, now: float) -> None:
        """`+CONTINUE`: the stream goes on at our position, maybe under a new id, after a promotion up the chain."""
        if request.replid is None or self._life.held is None:
            raise PeerError("the master answered +CONTINUE, but we asked for a full resync")
        new_replid = answer.replid if answer.replid is not None and answer.replid != request.replid else None
        replid, held = new_replid or request.replid, self._life.held
        self._life.hold(replid, held)
        self._life.accepted()
        self._life.events.append(Continued(replid, held, new_replid))
        self._begin_stream(LinkTrigger.CONTINUE, now, full=False)

    def _take_full_resync(self, answer: FullResyncGranted, request: Request, now: float) -> None:
        self._life.accepted()
        self._announce(answer.replid, answer.cut, request, now)

    def _announce(self, replid: ReplId, cut: Offset, request: Request, now: float) -> None:
        """The snapshot's cut is known, and its bytes come next. `request` is the PSYNC that this answers."""
        self._life.move(LinkTrigger.FULL_RESYNC, now)
        announced = FullResyncAnnounced(replid, cut, guess_refusal(request, replid, cut))
        self._life.events.append(announced)
        self._snapshot = SnapshotIn(announced, now)
        self._life.progress.transfer = self._snapshot.progress

    def _take_snapshot(self, data: bytes, now: float) -> bytes:
        """Read the next bytes of the snapshot. Returns the bytes behind it, empty while it is not whole."""
        snapshot = self._snapshot
        assert snapshot is not None
        events = snapshot.receive(data, now)
        if not snapshot.ended:
            self._life.events.extend(events)
            return b""
        # SnapshotEnds goes behind the move to LOADING: the shell answers it with `loaded`, which that state expects.
        self._life.events.extend(events[:-1])
        self._life.move(LinkTrigger.LAST_BYTE, now)
        self._life.events.append(events[-1])
        return snapshot.rest

    # ------------------------------------------------------------------ inside, on two channels

    def _open_rdb_channel(self, answer: TwoChannelsGranted, request: Request, now: float) -> None:
        """The master sends us to a second connection: have the shell open it."""
        if answer.dialect not in self._life.options.offers:
            raise PeerError("the master wants to sync on two connections, which we did not offer")
        self._life.accepted()
        self._life.move(LinkTrigger.TWO_CHANNELS, now)
        self._two = TwoChannels(answer, request, self._life.options, self._buffer_use, now)
        self._life.events.append(OpenRdbChannel(self._life.host, self._life.port, answer.dialect))

    def _take_from_rdb_channel(self, two: TwoChannels, data: bytes, now: float) -> None:
        """Read the second connection's handshake first, then the snapshot. Raises PeerError."""
        rdb = two.rdb
        assert rdb is not None
        if rdb.start is None:
            start = two.rdb_receive(data, now, self._life.events)
            if self._is_refused(two, now) or start is None:
                return
            data = rdb.rest
            self._announce(start.replid, start.cut, two.request, now)
            # In Valkey's dialect the cut lets the first connection ask for the stream behind it.
            self._life.out.extend(two.main.data_to_send())
        if data and self._take_snapshot(data, now):
            raise PeerError("bytes came behind the snapshot on its connection")

    def _take_from_main_channel(self, two: TwoChannels, data: bytes, now: float) -> None:
        """Read the first connection: in Valkey's dialect two answers, then the stream, which goes into the buffer."""
        buffer, streamed = two.main.buffer, two.streams
        was_full = buffer.is_full
        two.main.receive(data)
        self._life.out.extend(two.main.data_to_send())
        if self._is_refused(two, now):
            return
        if buffer.is_full and not was_full:
            self._life.events.append(SyncBufferFull(buffer.limit_bytes))
        if two.streams and not streamed and self._life.state is LinkState.CATCHING_UP:
            # The snapshot was loaded before the stream began; _begin_catch_up could not acknowledge it yet.
            self._send_ack()

    def _is_refused(self, two: TwoChannels, now: float) -> bool:
        """Did the master answer a step on either connection with an error? Then the link is given up."""
        refusal = two.refusal
        if refusal is not None:
            self._life.lose(refusal.reason, refusal.text, now, disconnect=True)
        return refusal is not None

    def _begin_catch_up(self, two: TwoChannels, now: float) -> None:
        """The snapshot is our data now; the buffered stream behind it is applied next, slice by slice."""
        self._life.move(LinkTrigger.SNAPSHOT_LOADED, now)
        if two.close_rdb():
            self._life.events.append(CloseRdbChannel())
        self._life.progress.transfer = None
        self._stream = StreamIn(self._life.known_held)
        self._last_io_at = now
        self._life.events.append(CatchUpBegins(two.main.buffer.size_bytes))
        if two.streams and self._life.gone is None:
            self._send_ack()
            self._last_sent_at = now

    @property
    def _may_take_slice(self) -> bool:
        """May `tick` give out the next slice, or find that the buffer is empty and end the catching up?

        Not before the shell has applied the slice before. Not before the stream has begun either, or an empty buffer
        would look like the end; unless the first connection is gone, when nothing will follow.
        """
        two, stream = self._two, self._stream
        if (
            self._life.state is not LinkState.CATCHING_UP
            or two is None
            or stream is None
            or self._life.held != stream.end
        ):
            return False
        return two.streams or self._life.gone is not None

    def _take_slice(self, now: float) -> None:
        """Give out the next piece of the buffer; once it is empty, catching up is over."""
        assert self._two is not None
        data = self._two.main.buffer.take(self._life.options.slice_bytes)
        self._last_io_at = now
        if not data:
            self._end_catch_up(now)
            return
        try:
            self._take_stream(data)
        except PeerError as error:
            # What is broken lies in the buffer, so to apply the rest of it before we give up is no use.
            self._life.fail_here(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now)

    def _end_catch_up(self, now: float) -> None:
        """The buffer is empty: the stream flows from now on, or the connection it came over was lost meanwhile."""
        self._two = None
        if self._life.gone is not None:
            self._life.used_up(now)
            return
        self._life.move(LinkTrigger.CAUGHT_UP, now)
        self._note_up(now, full=True)

    # ------------------------------------------------------------------ inside, the stream

    def _take_stream(self, data: bytes, beginning: bytes = b"") -> None:
        """Give out the whole units that `data` completes. Raises PeerError for bytes that are no commands."""
        stream = self._stream
        assert stream is not None
        apply = stream.receive(data, beginning)
        if apply is not None:
            self._life.events.append(apply)
        if stream.error:
            raise PeerError(stream.error)

    def _begin_stream(self, trigger: LinkTrigger, now: float, *, full: bool) -> None:
        """The stream follows on the first connection. `full`: behind a snapshot, not a continuation."""
        self._life.move(trigger, now)
        self._life.progress.transfer = None
        self._stream = StreamIn(self._life.known_held)
        self._note_up(now, full=full)

    def _note_up(self, now: float, *, full: bool) -> None:
        """The link is up. The ACK goes out at once, as a diskless master sends no stream before the first one."""
        self._life.progress.note_up(now)
        self._last_io_at = now
        self._life.events.append(LinkUp(full))
        self._send_ack()
        self._last_sent_at = now

    def _send_sign(self, now: float) -> None:
        """Send the sign of life that the present state wants, if any; the next one is due a period later."""
        self._last_sent_at = now
        if self._life.gone is not None:
            return
        if self._life.state is LinkState.CONNECTED or (
            self._two is not None and self._stream is not None and self._two.streams
        ):
            self._send_ack()
        elif self._life.state in SYNCING or self._life.state is LinkState.PAIRING:
            self._life.out.append(_KEEP_ALIVE)

    def _send_ack(self) -> None:
        """`REPLCONF ACK held`, with an AOF `FACK` and how much of it is on disk (WAITAOF, Redis 7.2)."""
        fsynced = self._life.options.fsynced_cut
        fack = [] if fsynced is None else [b"FACK", b"%d" % fsynced()]
        self._life.out.append(encode_command([b"REPLCONF", b"ACK", b"%d" % self._life.known_held, *fack]))

    def _phase(self) -> str:
        """Where we are, as the detail of a timeout or an error: the state, or the step within it."""
        if self._handshake is not None:
            return f"handshake:{self._handshake.step}"
        if self._life.state in TAKING and self._two is not None and self._two.rdb is not None:
            return f"rdb_channel:{self._two.rdb.state}"
        if self._life.state is LinkState.TRANSFER and self._snapshot is not None and not self._snapshot.began:
            return "waiting_for_snapshot"
        return self._life.state.value
