"""What is said over the present connection to a master, or the two of them, until it ends: bytes to states and events.

Not here: connections tried, lost and tried again, and our position (link_life.py), the windows that the shell calls
(link.py), the parts: handshake.py, snapshot_in.py, stream_in.py, two_channels.py.

Two channels: the answer to PSYNC (`+RDBCHANNELSYNC id`, `+DUALCHANNELSYNC`) makes us open a second connection, over
which the snapshot comes as it would over the first, while the first brings the stream into a buffer. In CATCHING_UP
that buffer is applied in slices, one a tick, so that the node answers in between; what comes meanwhile queues behind
it. While the snapshot is not whole, the loss of either connection ends both. Afterwards the second is not needed any
more, and the loss of the first lets us apply what we hold before we come back and ask for the rest.

Keep-alives: `\\n` each second during transfer and loading, which no offset counts; `REPLCONF ACK held` each second,
on GETACK, at once when the stream begins and when a snapshot is loaded. Only bytes that the shell reported as applied
are acknowledged.
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
_KEEP_ALIVE: Final = b"\n"


@final
class Conversation(Connection):
    """All that belongs to one connection and its companion, from the attempt to connect on.

    Invariants: `_handshake` is set in HANDSHAKE, `_snapshot` in TRANSFER and LOADING (on two channels once the cut is
    stated), `_stream` in CATCHING_UP and CONNECTED. `_two` is set exactly from the answer that names two channels
    until CATCHING_UP ends. In CATCHING_UP and CONNECTED `held <= read_offset`.
    """

    def __init__(self, life: LinkLife[Conversation], buffer_use: BufferUse, now: float) -> None:
        """`buffer_use` counts what is held of the stream while a snapshot comes."""
        self._life: Final = life
        self._buffer_use: Final = buffer_use
        self._handshake: Handshake | None = None
        self._snapshot: SnapshotIn | None = None
        self._stream: StreamIn | None = None
        self._early = b""
        self._two: TwoChannels | None = None
        self._last_io_at = now
        self._last_sent_at = 0.0

    # ------------------------------------------------------------------ what the life and INFO ask

    @property
    def awaits_verdict(self) -> bool:
        return self._handshake is not None and self._handshake.asked

    @property
    def old_data_is_gone(self) -> bool:
        return self._snapshot is not None and self._snapshot.old_data_is_gone

    @property
    def uses_two_channels(self) -> bool:
        return self._two is not None

    @property
    def announced(self) -> FullResyncAnnounced | None:
        return self._snapshot.announced if self._snapshot is not None else None

    @property
    def buffer_bytes(self) -> int:
        """What is held of the stream until the snapshot is loaded."""
        return self._two.main.buffer.size_bytes if self._two is not None else 0

    @property
    def read_offset(self) -> int | None:
        """The cut up to which bytes have come; `held` without a stream."""
        return self._life.held if self._stream is None else self._stream.read_offset + self.buffer_bytes

    @property
    def wants_data(self) -> bool:
        if self._two is not None:
            return not self._two.main.buffer.is_full
        return self._life.state is not LinkState.LOADING

    # ------------------------------------------------------------------ what the shell tells

    def connected(self, now: float) -> None:
        """The connection stands."""
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
        """The next bytes of the second connection. What breaks the protocol ends both."""
        life, two = self._life, self._two
        if two is None or two.rdb is None or life.state not in TAKING:
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
        """How the snapshot that was announced is loaded."""
        if self._snapshot is not None:
            self._snapshot.old_data = until

    def loaded(self, now: float) -> None:
        """The snapshot is loaded and is our data now."""
        life, announced = self._life, self.announced
        if announced is None:
            raise PeerError(f"no snapshot is being loaded in state {life.state}")
        LINK.after(life.state, LinkTrigger.LOADED)
        life.hold(announced.replid, announced.cut)
        self._snapshot = None
        if self._two is not None:
            self._begin_catch_up(self._two, now)
            return
        if life.gone is not None:
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
        """The beginning of a command that came, None where nothing may be cut off."""
        is_up = self._life.state is LinkState.CONNECTED
        return self._stream.take_back() if self._stream is not None and is_up else None

    def receive(self, data: bytes, now: float, beginning: bytes) -> None:
        """The next bytes of the connection. What breaks the protocol ends it."""
        if self._life.gone is not None:
            return
        self._last_io_at = now
        self._life.progress.last_io_at = now
        self._guarded(data, now, beginning)

    def next_deadline(self) -> float:
        """When `tick` is due."""
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
        """Forget everything. Is there a second connection that has to be closed?"""
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
        """When the silence has been too long; None while no sign is expected.

        While a snapshot comes over the second connection only that one counts: on the first there may be nothing to
        say. Whoever applies what it holds has no time to listen.
        """
        timeout_s = self._life.options.timeout_s
        if self._life.state is LinkState.LOADING:
            return None
        if self._life.state in TAKING and self._two is not None and self._two.rdb is not None:
            return self._two.rdb.last_io_at + timeout_s
        return None if self._life.gone is not None else self._last_io_at + timeout_s

    def _guarded(self, data: bytes, now: float, beginning: bytes = b"") -> None:
        try:
            self._take(data, now, beginning)
        except PeerError as error:
            self._life.lose(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now, disconnect=True)

    def _take(self, data: bytes, now: float, beginning: bytes) -> None:
        """Hand the bytes to the part of the present state, and what it left over to the next one's."""
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
        """The snapshot's cut is known, and its bytes come next."""
        self._life.move(LinkTrigger.FULL_RESYNC, now)
        announced = FullResyncAnnounced(replid, cut, guess_refusal(request, replid, cut))
        self._life.events.append(announced)
        self._snapshot = SnapshotIn(announced, now)
        self._life.progress.transfer = self._snapshot.progress

    def _take_snapshot(self, data: bytes, now: float) -> bytes:
        """The next bytes of the snapshot; what lies behind it."""
        snapshot = self._snapshot
        assert snapshot is not None
        events = snapshot.receive(data, now)
        if not snapshot.ended:
            self._life.events.extend(events)
            return b""
        self._life.events.extend(events[:-1])
        self._life.move(LinkTrigger.LAST_BYTE, now)
        self._life.events.append(events[-1])
        return snapshot.rest

    # ------------------------------------------------------------------ inside, on two channels

    def _open_rdb_channel(self, answer: TwoChannelsGranted, request: Request, now: float) -> None:
        if answer.dialect not in self._life.options.offers:
            raise PeerError("the master wants to sync on two connections, which we did not offer")
        self._life.accepted()
        self._life.move(LinkTrigger.TWO_CHANNELS, now)
        self._two = TwoChannels(answer, request, self._life.options, self._buffer_use, now)
        self._life.events.append(OpenRdbChannel(self._life.host, self._life.port, answer.dialect))

    def _take_from_rdb_channel(self, two: TwoChannels, data: bytes, now: float) -> None:
        """Its handshake first, then the snapshot."""
        rdb = two.rdb
        assert rdb is not None
        if rdb.start is None:
            start = two.rdb_receive(data, now, self._life.events)
            if self._is_refused(two, now) or start is None:
                return
            data = rdb.rest
            self._announce(start.replid, start.cut, two.request, now)
            self._life.out.extend(two.main.data_to_send())
        if data and self._take_snapshot(data, now):
            raise PeerError("bytes came behind the snapshot on its connection")

    def _take_from_main_channel(self, two: TwoChannels, data: bytes, now: float) -> None:
        """The stream, or before it the answers that lead to it: held until the snapshot is loaded."""
        buffer, streamed = two.main.buffer, two.streams
        was_full = buffer.is_full
        two.main.receive(data)
        self._life.out.extend(two.main.data_to_send())
        if self._is_refused(two, now):
            return
        if buffer.is_full and not was_full:
            self._life.events.append(SyncBufferFull(buffer.limit_bytes))
        if two.streams and not streamed and self._life.state is LinkState.CATCHING_UP:
            self._send_ack()

    def _is_refused(self, two: TwoChannels, now: float) -> bool:
        refusal = two.refusal
        if refusal is not None:
            self._life.lose(refusal.reason, refusal.text, now, disconnect=True)
        return refusal is not None

    def _begin_catch_up(self, two: TwoChannels, now: float) -> None:
        """The snapshot is our data now; the stream behind it follows slice by slice."""
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
        """Is there more to apply, or nothing left to wait for, and everything given out so far applied?"""
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
            self._life.fail_here(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now)

    def _end_catch_up(self, now: float) -> None:
        self._two = None
        if self._life.gone is not None:
            self._life.used_up(now)
            return
        self._life.move(LinkTrigger.CAUGHT_UP, now)
        self._note_up(now, full=True)

    # ------------------------------------------------------------------ inside, the stream

    def _take_stream(self, data: bytes, beginning: bytes = b"") -> None:
        stream = self._stream
        assert stream is not None
        apply = stream.receive(data, beginning)
        if apply is not None:
            self._life.events.append(apply)
        if stream.error:
            raise PeerError(stream.error)

    def _begin_stream(self, trigger: LinkTrigger, now: float, *, full: bool) -> None:
        self._life.move(trigger, now)
        self._life.progress.transfer = None
        self._stream = StreamIn(self._life.known_held)
        self._note_up(now, full=full)

    def _note_up(self, now: float, *, full: bool) -> None:
        self._life.progress.note_up(now)
        self._last_io_at = now
        self._life.events.append(LinkUp(full))
        self._send_ack()
        self._last_sent_at = now

    def _send_sign(self, now: float) -> None:
        """The sign of life of the present state."""
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
        fsynced = self._life.options.fsynced_cut
        fack = [] if fsynced is None else [b"FACK", b"%d" % fsynced()]
        self._life.out.append(encode_command([b"REPLCONF", b"ACK", b"%d" % self._life.known_held, *fack]))

    def _phase(self) -> str:
        """Where we are, as precisely as a timeout or an error should say it."""
        if self._handshake is not None:
            return f"handshake:{self._handshake.step}"
        if self._life.state in TAKING and self._two is not None and self._two.rdb is not None:
            return f"rdb_channel:{self._two.rdb.state}"
        if self._life.state is LinkState.TRANSFER and self._snapshot is not None and not self._snapshot.began:
            return "waiting_for_snapshot"
        return self._life.state.value
