"""The replica's machine: from "follow this master" over handshake and snapshot to the stream, and again after a loss.

Not here: the socket (daemon/master_link), loading and applying (the shell does both and tells), what we call our
stream (role.py), the parts: handshake.py, transfer.py, spans.py, backoff.py, progress.py, and for two channels
rdb_channel.py, main_channel.py, syncbuffer.py.

                 start, due            connected           +CONTINUE
    IDLE/WAITING ----------> CONNECTING ---------> HANDSHAKE ----------------------------> CONNECTED
         ^                                             | +FULLRESYNC, or                       ^  ^
         |                                             | two channels                          |  | caught up
         |                                             v            last byte        loaded    |  |
         |   any failure, from any state           TRANSFER -------------> LOADING ------------+  |
         +---------------------------------                            (two channels) v           |
                                                                                 CATCHING_UP -----+

The table of all moves is in link_states.py.

Position: `replid` and `held` name the stream bytes that our data holds; PSYNC asks for what follows. A full resync
replaces the data, so the position is given up when the old data goes (`OldData`): a load that then fails leaves
nothing to go on from. A link that breaks while a complete snapshot is loaded does not spoil it: the load is
finished, and the next PSYNC continues behind it.

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

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.replication.backoff import Backoff
from pyrepl.replication.dialects import DIALECTS, Capability, Dialect
from pyrepl.replication.events import (
    CatchUpBegins,
    CloseRdbChannel,
    Connect,
    Continued,
    Disconnect,
    FullResyncAnnounced,
    FullResyncBegins,
    LinkEvent,
    LinkState,
    LinkUp,
    Lost,
    OpenRdbChannel,
    SnapshotBytes,
    SnapshotEnds,
    StateChanged,
    SyncAsked,
    SyncBufferFull,
    Tolerated,
    TryAgain,
)
from pyrepl.replication.handshake import Handshake, Introduction
from pyrepl.replication.link_states import BUSY, ROLE_STATES, SYNCING, Trigger, next_state
from pyrepl.replication.link_states import OldData as OldData
from pyrepl.replication.main_channel import MainChannel
from pyrepl.replication.progress import LinkProgress, TransferProgress
from pyrepl.replication.psync import (
    ASK_FOR_ALL,
    Cause,
    ContinueGranted,
    FullResyncGranted,
    Reason,
    Request,
    TryLater,
    TwoChannelsGranted,
    guess_refusal,
)
from pyrepl.replication.rdb_channel import RdbChannel, RdbChannelState
from pyrepl.replication.spans import Spans
from pyrepl.replication.syncbuffer import BufferUse, SyncBuffer
from pyrepl.replication.transfer import Transfer
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import UNLIMITED, Parser
from pyrepl.units import Offset, ReplId

ACK_PERIOD_S: Final = 1.0
KEEP_ALIVE_PERIOD_S: Final = 1.0
TIMEOUT_S: Final = 60.0
"""Redis's default repl-timeout."""
SLICE_BYTES: Final = 256 * 1024
"""How much of the buffered stream is applied in one go: some milliseconds of work."""
_KEEP_ALIVE: Final = b"\n"


@dataclass(slots=True)
class LinkOptions:
    """Settings of a link. The shell changes them in place; they count from the next use on."""

    introduction: Introduction = field(default_factory=Introduction)
    timeout_s: float = TIMEOUT_S
    """repl-timeout: the longest silence in any phase but LOADING."""
    rdb_channel: bool = False
    """Offer Redis's sync on two connections (repl-rdb-channel)."""
    dual_channel: bool = False
    """Offer Valkey's sync on two connections (dual-channel-replication-enabled)."""
    sync_buffer_limit_bytes: int = 256 * 1024 * 1024
    """replica-full-sync-buffer-limit: with so much of the stream held the main connection is not read; 0 is no limit.
    That directive's own 0 means the hard limit of client-output-buffer-limit replica, which the shell puts in here."""
    slice_bytes: int = SLICE_BYTES


@final
class Link:
    """The connection to our master, whether it stands or not.

    Shell's contract: call `start`, carry out `events()` and send `data_to_send()` after every call, call `tick` at
    `next_deadline()`, read from the socket only while `wants_data`. On OpenRdbChannel also `rdb_connected`,
    `rdb_receive`, `rdb_lost`, and send `rdb_data_to_send()` there; that connection is always read.

    Invariants: `held` is None exactly when we have no data to go on from; in CATCHING_UP and CONNECTED it is the
    applied cut, and `held <= read_offset`. `_handshake` is set in HANDSHAKE, `_spans` in CATCHING_UP and CONNECTED;
    `_transfer` in TRANSFER, on two channels once the snapshot's cut is stated. `_main` is set exactly from the answer
    that names two channels until CATCHING_UP ends, `_rdb` from there until the second connection is closed.
    """

    def __init__(
        self,
        host: str,
        port: int,
        options: LinkOptions,
        position: Request,
        jitter: Callable[[], float],
        buffer_use: BufferUse | None = None,
    ) -> None:
        """`position` is what our data holds, ASK_FOR_ALL for nothing; `jitter()` is uniform in [0, 1).

        `buffer_use` counts what is held of the stream while a snapshot comes; give all links of a node the same.
        """
        self.host: Final = host
        self.port: Final = port
        self.options: Final = options
        self.state = LinkState.IDLE
        self.progress: Final = LinkProgress()
        self.replid: ReplId | None = position.replid
        self.held: Offset | None = Offset(position.held) if position.replid is not None else None
        self._backoff: Final = Backoff(jitter)
        self._out: list[bytes] = []
        self._events: list[LinkEvent] = []
        self._handshake: Handshake | None = None
        self._transfer: Transfer | None = None
        self.announced: FullResyncAnnounced | None = None
        self._old_data = OldData.GOES_AT_FIRST_BYTE
        self._parser: Parser | None = None
        self._spans: Spans | None = None
        self._early = b""
        self.buffer_use: Final = buffer_use if buffer_use is not None else BufferUse()
        self._main: MainChannel | None = None
        self._rdb: RdbChannel | None = None
        self._asked = position
        self._gone: Reason | None = None
        self._gone_text = ""
        self._state_since = 0.0
        self._last_io_at = 0.0
        self._last_sent_at = 0.0

    # ------------------------------------------------------------------ what INFO and ROLE ask

    @property
    def is_up(self) -> bool:
        """master_link_status."""
        return self.state is LinkState.CONNECTED

    @property
    def is_syncing(self) -> bool:
        """master_sync_in_progress."""
        return self.state in SYNCING

    @property
    def may_apply(self) -> bool:
        """Are Apply events to be carried out? Those of a link that was given up since must be thrown away."""
        return self.state is LinkState.CONNECTED or self.state is LinkState.CATCHING_UP

    @property
    def uses_two_channels(self) -> bool:
        """Is a sync on two connections under way?"""
        return self._main is not None

    @property
    def sync_buffer_bytes(self) -> int:
        """What is held of the stream until the snapshot is loaded: replica_full_sync_buffer_size."""
        return self._main.buffer.size_bytes if self._main is not None else 0

    @property
    def role_state(self) -> str:
        """The word in ROLE: connect, connecting, handshake, sync, connected; none if stopped."""
        return ROLE_STATES[self.state]

    @property
    def position(self) -> Request:
        """What the next PSYNC asks for."""
        if self.replid is None or self.held is None:
            return ASK_FOR_ALL
        return Request(self.replid, self.held)

    @property
    def read_offset(self) -> int | None:
        """The cut up to which bytes have come: slave_read_repl_offset. None without a stream."""
        if self._spans is None or self._parser is None:
            return self.held
        return self._spans.start + self._spans.held_bytes + self._parser.pending_bytes + self.sync_buffer_bytes

    @property
    def wants_data(self) -> bool:
        """May the shell read from the (main) socket?

        Not while a snapshot loads, on two channels not while the buffer is full: what the master sends stays with it.
        """
        if self._main is not None:
            return not self._main.buffer.is_full
        return self.state is not LinkState.LOADING

    # ------------------------------------------------------------------ life

    def start(self, now: float) -> None:
        """Begin to follow: Connect comes at once. Raises PeerError if it was started already."""
        self._backoff.reset()
        self.progress.note_down(now)
        self._connect(Trigger.START, now)

    def stop(self, now: float) -> None:
        """End it for good (REPLICAOF, shutdown). Complete: no event but Disconnect and Lost comes of it."""
        before = self.state
        self._move(Trigger.STOP, now)
        if before in BUSY:
            self._close_rdb_channel()
            self._give_up_connection()
            if self._gone is None:
                self._events.append(Disconnect())
            self._events.append(Lost(Reason(Cause.STOPPED), before, "stopped"))
        self._gone = None
        self.progress.next_try_at = None
        self.progress.note_down(now)

    def hurry(self, now: float) -> None:
        """An operator changed what may have stood in the way (masterauth, for one): forget failures, try at once."""
        self._backoff.reset()
        if self.state is LinkState.WAITING:
            self.progress.next_try_at = now

    def connected(self, now: float) -> None:
        """The connection that Connect asked for stands."""
        self._move(Trigger.ESTABLISHED, now)
        self._last_io_at = now
        self._handshake = Handshake(self.options.introduction, self.position, self._offers)
        self._out.extend(self._handshake.data_to_send())

    def lost(self, now: float, text: str) -> None:
        """The connection could not be had, or is gone; `text` says how. No effect if we have given it up ourselves."""
        if self.state not in BUSY:
            return
        cause = Cause.CONNECT_FAILED if self.state is LinkState.CONNECTING else Cause.CONNECTION_LOST
        reason = Reason(cause)
        if self.state is LinkState.LOADING or self.state is LinkState.CATCHING_UP:
            if self._gone is None:
                self._gone = reason
                self._gone_text = text
                self._out.clear()
            return
        self._fail(reason, text, now, disconnect=False)

    def rdb_connected(self, now: float) -> None:
        """The connection that OpenRdbChannel asked for stands. Raises PeerError if none is awaited."""
        if self._rdb is None:
            raise PeerError(f"no second connection is expected in state {self.state}")
        self._rdb.connected(now)

    def rdb_receive(self, data: bytes, now: float) -> None:
        """The next bytes of the second connection. What breaks the protocol ends both, with Lost(protocol)."""
        channel = self._rdb
        if channel is None or self.state is not LinkState.TRANSFER:
            return
        channel.last_io_at = self.progress.last_io_at = now
        try:
            self._take_from_rdb_channel(channel, data, now)
        except PeerError as error:
            self._fail(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now, disconnect=True)

    def rdb_data_to_send(self) -> list[bytes]:
        """What is to be written to the second connection now; each byte is returned once."""
        return self._rdb.data_to_send() if self._rdb is not None else []

    def rdb_lost(self, now: float, text: str) -> None:
        """The second connection could not be had, or is gone. No effect once the snapshot is whole."""
        channel, self._rdb = self._rdb, None
        if channel is None or self.state is not LinkState.TRANSFER:
            return
        unborn = channel.state is RdbChannelState.SEND_HANDSHAKE
        cause = Cause.CONNECT_FAILED if unborn else Cause.CONNECTION_LOST
        self._fail(Reason(cause, detail="rdb_channel"), text, now, disconnect=True)

    def keep_old_data(self, until: OldData) -> None:
        """How the shell loads the snapshot that FullResyncBegins announced; call it while handling that event.

        Without this call the position is given up at once, which is always safe. No effect if the sync broke since.
        """
        if self.is_syncing:
            self._old_data = until

    def loaded(self, now: float) -> None:
        """The snapshot is loaded and is our data now."""
        announced = self.announced
        if announced is None:
            raise PeerError(f"no snapshot is being loaded in state {self.state}")
        next_state(self.state, Trigger.LOADED)
        self.replid = announced.replid
        self.held = announced.cut
        self.announced = None
        if self._main is not None:
            self._begin_catch_up(self._main, now)
            return
        if self._gone is not None:
            reason, self._gone = self._gone, None
            self._fail(reason, self._gone_text, now, disconnect=False, was_flowing=True)
            return
        self._begin_stream(Trigger.LOADED, now, full=True)
        early, self._early = self._early, b""
        if early:
            self._guarded(early, now)

    def load_failed(self, detail: str, now: float, text: str = "") -> None:
        """The snapshot cannot be loaded; `detail` is one word (rdb_version, corrupt, memory, disk, ...).

        May be called from FullResyncBegins on.
        """
        if self.state not in (LinkState.TRANSFER, LinkState.LOADING):
            raise PeerError(f"no snapshot is being loaded in state {self.state}")
        disconnect = self._gone is None
        self._gone = None
        self._fail(Reason(Cause.LOAD_FAILED, detail=detail), text or detail, now, disconnect=disconnect)

    def applied(self, cut: int) -> None:
        """Stream bytes left of `cut` are applied. Raises PeerError for a cut that never came or goes back."""
        held, spans = self.held, self._spans
        if held is None or spans is None or not held <= cut <= spans.start:
            raise PeerError(f"applied up to {cut}, but the stream goes from {held} to {self.read_offset}")
        self.held = Offset(cut)
        wanted = spans.acks_wanted
        if wanted and wanted[0] <= cut:
            while wanted and wanted[0] <= cut:
                wanted.pop(0)
            self._send_ack()

    def apply_failed(self, detail: str, now: float, text: str = "") -> None:
        """A command of the stream cannot be applied (`applied` told up to where it could). The link is ended."""
        if not self.may_apply:
            raise PeerError(f"nothing is being applied in state {self.state}")
        disconnect = self._gone is None
        self._gone = None
        self._fail(Reason(Cause.APPLY_FAILED, detail=detail), text or detail, now, disconnect=disconnect)

    # ------------------------------------------------------------------ the five windows

    def receive(self, data: bytes, now: float) -> None:
        """The next bytes of the connection. What breaks the protocol ends the connection, with Lost(protocol)."""
        if self.state not in BUSY or self._gone is not None:
            return
        self._last_io_at = now
        self.progress.last_io_at = now
        self._guarded(data, now)

    def data_to_send(self) -> list[bytes]:
        """What is to be written to the connection now; each byte is returned once."""
        out, self._out = self._out, []
        return out

    def events(self) -> list[LinkEvent]:
        """What has happened since the last call, in order."""
        events, self._events = self._events, []
        return events

    def next_deadline(self) -> float | None:
        """When `tick` is due (monotonic seconds), None if nothing is awaited."""
        state = self.state
        if state is LinkState.IDLE:
            return None
        if state is LinkState.WAITING:
            return self.progress.next_try_at
        if state is LinkState.CONNECTING or state is LinkState.HANDSHAKE:
            return self._last_io_at + self.options.timeout_s
        if self._may_take_slice:
            return self._last_io_at
        next_sign = self._last_sent_at + ACK_PERIOD_S
        silent_at = self._silent_at
        return next_sign if silent_at is None else min(next_sign, silent_at)

    def tick(self, now: float) -> None:
        """Do what is due: connect, time out, send a keep-alive or an ACK. Calling it early or often does no harm."""
        state = self.state
        if state is LinkState.IDLE:
            return
        if state is LinkState.WAITING:
            at = self.progress.next_try_at
            if at is not None and now >= at:
                self._connect(Trigger.DUE, now)
            return
        if self._may_take_slice:
            self._take_slice(now)
        silent_at = self._silent_at
        if silent_at is not None and now >= silent_at:
            reason = Reason(Cause.TIMEOUT, detail=self._phase())
            text = f"nothing came for {self.options.timeout_s:g} seconds in phase {reason.detail}"
            self._fail(reason, text, now, disconnect=True)
            return
        if now >= self._last_sent_at + ACK_PERIOD_S:
            self._send_sign(now)

    # ------------------------------------------------------------------ inside

    @property
    def _offers(self) -> tuple[Dialect, ...]:
        """The ways to sync on two connections that we announce."""
        options = self.options
        offered = Capability.RDB_CHANNEL if options.rdb_channel else Capability.NONE
        if options.dual_channel:
            offered |= Capability.DUAL_CHANNEL
        return tuple(dialect for dialect in DIALECTS if dialect.capability in offered)

    @property
    def _silent_at(self) -> float | None:
        """When the silence has been too long; None while no sign is expected.

        While a snapshot comes over the second connection only that one counts: on the first there may be nothing to
        say. Whoever applies what it holds has no time to listen.
        """
        timeout_s = self.options.timeout_s
        if self.state is LinkState.LOADING:
            return None
        if self.state is LinkState.TRANSFER and self._rdb is not None:
            return self._rdb.last_io_at + timeout_s
        return None if self._gone is not None else self._last_io_at + timeout_s

    def _guarded(self, data: bytes, now: float) -> None:
        try:
            self._take(data, now)
        except PeerError as error:
            self._fail(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now, disconnect=True)

    def _take(self, data: bytes, now: float) -> None:
        """Hand the bytes to the part of the present state, and what it left over to the next one's."""
        if self.state is LinkState.HANDSHAKE:
            data = self._take_handshake(data, now)
        if self._main is not None:
            self._take_from_main_channel(self._main, data, now)
            return
        if self.state is LinkState.TRANSFER and data:
            data = self._take_snapshot(data, now)
        if self.state is LinkState.LOADING:
            self._early += data
        elif self.state is LinkState.CONNECTED and data:
            self._take_stream(data)
        elif self.state is LinkState.CONNECTING:
            raise PeerError("bytes came before the connection was reported")

    def _take_handshake(self, data: bytes, now: float) -> bytes:
        handshake = self._handshake
        assert handshake is not None
        was_asked = handshake.asked
        handshake.receive(data)
        self._out.extend(handshake.data_to_send())
        self._events.extend(Tolerated(step, text) for step, text in handshake.tolerated)
        handshake.tolerated.clear()
        if handshake.asked and not was_asked:
            self._events.append(SyncAsked(handshake.request))
        answer = handshake.answer
        if answer is None:
            return b""
        self._handshake = None
        if isinstance(answer, TryLater):
            self._fail(answer.reason, answer.text, now, disconnect=True)
        elif isinstance(answer, ContinueGranted):
            self._take_continue(answer, handshake.request, now)
        elif isinstance(answer, TwoChannelsGranted):
            self._open_rdb_channel(answer, handshake.request, now)
        else:
            self._take_full_resync(answer, handshake.request, now)
        return handshake.rest

    def _take_continue(self, answer: ContinueGranted, request: Request, now: float) -> None:
        if request.replid is None or self.held is None:
            raise PeerError("the master answered +CONTINUE, but we asked for a full resync")
        new_replid = answer.replid if answer.replid is not None and answer.replid != request.replid else None
        if new_replid is not None:
            self.replid = new_replid
        assert self.replid is not None
        self._events.append(Continued(self.replid, self.held, new_replid))
        self._begin_stream(Trigger.CONTINUE, now, full=False)

    def _take_full_resync(self, answer: FullResyncGranted, request: Request, now: float) -> None:
        self._move(Trigger.FULL_RESYNC, now)
        self._announce(answer.replid, answer.cut, request, now)

    def _announce(self, replid: ReplId, cut: Offset, request: Request, now: float) -> None:
        """The snapshot's cut is known, and its bytes come next."""
        reason = guess_refusal(request, replid, cut)
        self.announced = FullResyncAnnounced(replid, cut, reason)
        self._events.append(self.announced)
        self._transfer = Transfer()
        self.progress.transfer = TransferProgress(now, None)
        self._old_data = OldData.STAYS_UNTIL_LOADED

    def _take_snapshot(self, data: bytes, now: float) -> bytes:
        transfer, announced, progress = self._transfer, self.announced, self.progress.transfer
        assert transfer is not None and announced is not None and progress is not None
        had_begun = transfer.began
        pieces = transfer.receive(data)
        if transfer.began and not had_begun:
            self._old_data = OldData.GOES_AT_FIRST_BYTE
            progress.total_bytes = transfer.total_bytes
            self._events.append(
                FullResyncBegins(announced.replid, announced.cut, announced.reason, transfer.total_bytes)
            )
        self._events.extend(SnapshotBytes(piece) for piece in pieces)
        progress.advance(transfer.read_bytes, now)
        if not transfer.ended:
            return b""
        self._transfer = None
        self._move(Trigger.LAST_BYTE, now)
        self._events.append(SnapshotEnds(transfer.read_bytes))
        return transfer.rest

    # ------------------------------------------------------------------ inside, on two channels

    def _open_rdb_channel(self, answer: TwoChannelsGranted, request: Request, now: float) -> None:
        dialect = answer.dialect
        if dialect not in self._offers:
            raise PeerError("the master wants to sync on two connections, which we did not offer")
        self._move(Trigger.TWO_CHANNELS, now)
        self._asked = request
        self._main = MainChannel(dialect, SyncBuffer(self.options.sync_buffer_limit_bytes, self.buffer_use))
        self._rdb = RdbChannel(dialect, self.options.introduction, answer.session_id, now)
        self._events.append(OpenRdbChannel(self.host, self.port, dialect.name))

    def _take_from_rdb_channel(self, channel: RdbChannel, data: bytes, now: float) -> None:
        """Its handshake first, then the snapshot."""
        if channel.start is None:
            channel.receive(data, now)
            if channel.refusal is not None:
                self._fail(channel.refusal.reason, channel.refusal.text, now, disconnect=True)
                return
            start = channel.start
            if start is None:
                return
            data = channel.rest
            self._announce(start.replid, start.cut, self._asked, now)
            assert self._main is not None
            self._main.snapshot_starts(start)
            self._out.extend(self._main.data_to_send())
        if data and self._take_snapshot(data, now):
            raise PeerError("bytes came behind the snapshot on its connection")

    def _take_from_main_channel(self, main: MainChannel, data: bytes, now: float) -> None:
        """The stream, or before it the answers that lead to it: held until the snapshot is loaded."""
        was_full, streamed = main.buffer.is_full, main.streams
        main.receive(data)
        self._out.extend(main.data_to_send())
        if main.refusal is not None:
            self._fail(main.refusal.reason, main.refusal.text, now, disconnect=True)
            return
        if main.buffer.is_full and not was_full:
            self._events.append(SyncBufferFull(main.buffer.limit_bytes))
        if main.streams and not streamed and self.state is LinkState.CATCHING_UP:
            self._send_ack()

    def _begin_catch_up(self, main: MainChannel, now: float) -> None:
        """The snapshot is our data now; the stream behind it follows slice by slice."""
        self._move(Trigger.SNAPSHOT_LOADED, now)
        self._close_rdb_channel()
        self.progress.transfer = None
        self._prepare_stream()
        self._last_io_at = now
        self._events.append(CatchUpBegins(main.buffer.size_bytes))
        if main.streams and self._gone is None:
            self._send_ack()
            self._last_sent_at = now

    @property
    def _may_take_slice(self) -> bool:
        """Is there more to apply, or nothing left to wait for, and everything given out so far applied?"""
        main, spans = self._main, self._spans
        if self.state is not LinkState.CATCHING_UP or main is None or spans is None or self.held != spans.start:
            return False
        return main.streams or self._gone is not None

    def _take_slice(self, now: float) -> None:
        """Give out the next piece of the buffer; once it is empty, catching up is over."""
        main = self._main
        assert main is not None
        data = main.buffer.take(self.options.slice_bytes)
        self._last_io_at = now
        if not data:
            self._end_catch_up(now)
            return
        try:
            self._take_stream(data)
        except PeerError as error:
            disconnect = self._gone is None
            self._gone = None
            self._fail(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now, disconnect=disconnect)

    def _end_catch_up(self, now: float) -> None:
        self._main = None
        if self._gone is not None:
            reason, self._gone = self._gone, None
            self._fail(reason, self._gone_text, now, disconnect=False, was_flowing=True)
            return
        self._move(Trigger.CAUGHT_UP, now)
        self._note_up(now, full=True)

    def _close_rdb_channel(self) -> None:
        if self._rdb is not None:
            self._rdb = None
            self._events.append(CloseRdbChannel())

    # ------------------------------------------------------------------ inside, the stream

    def _take_stream(self, data: bytes) -> None:
        parser, spans = self._parser, self._spans
        assert parser is not None and spans is not None
        batch = parser.feed(data)
        apply = spans.add(batch)
        if apply is not None:
            self._events.append(apply)
        if batch.error is not None:
            raise PeerError(
                f"broken replication stream at offset {spans.start}: {batch.error.decode('utf-8', 'replace')}"
            )

    def _begin_stream(self, trigger: Trigger, now: float, *, full: bool) -> None:
        self._move(trigger, now)
        self.progress.transfer = None
        self._prepare_stream()
        self._note_up(now, full=full)

    def _prepare_stream(self) -> None:
        assert self.held is not None
        self._parser = Parser(
            max_bulk_bytes=UNLIMITED, max_args=UNLIMITED, query_buffer_bytes=UNLIMITED, inline_allowed=False
        )
        self._spans = Spans(self.held)

    def _note_up(self, now: float, *, full: bool) -> None:
        self.progress.note_up(now)
        self._last_io_at = now
        self._events.append(LinkUp(full))
        self._send_ack()
        self._last_sent_at = now

    def _send_sign(self, now: float) -> None:
        """The sign of life of the present state."""
        self._last_sent_at = now
        if self._gone is not None:
            return
        if self.state is LinkState.CONNECTED or (self.state is LinkState.CATCHING_UP and self._main_streams):
            self._send_ack()
        elif self.is_syncing:
            self._out.append(_KEEP_ALIVE)

    @property
    def _main_streams(self) -> bool:
        return self._main is not None and self._main.streams

    def _send_ack(self) -> None:
        assert self.held is not None
        self._out.append(encode_command([b"REPLCONF", b"ACK", b"%d" % self.held]))

    def _phase(self) -> str:
        """Where we are, as precisely as a timeout or an error should say it."""
        if self._handshake is not None:
            return f"handshake:{self._handshake.step}"
        if self.state is LinkState.TRANSFER and self._rdb is not None:
            return f"rdb_channel:{self._rdb.state}"
        if self.state is LinkState.TRANSFER and self._transfer is not None and not self._transfer.began:
            return "waiting_for_snapshot"
        return self.state.value

    def _connect(self, trigger: Trigger, now: float) -> None:
        self._move(trigger, now)
        self._last_io_at = now
        self.progress.note_attempt()
        self._events.append(Connect(self.host, self.port))

    def _fail(self, reason: Reason, text: str, now: float, *, disconnect: bool, was_flowing: bool = False) -> None:
        """End this connection, say why, and plan the next."""
        before = self.state
        self._close_rdb_channel()
        up_for_s = now - self._state_since if before is LinkState.CONNECTED else 0.0 if was_flowing else None
        self._settle_position(before)
        self._move(Trigger.FAIL, now)
        self._give_up_connection()
        progress = self.progress
        progress.note_down(now)
        progress.last_sync_error = f"{reason}: {text}" if text and text != reason.detail else str(reason)
        if disconnect:
            self._events.append(Disconnect())
        wait_s = self._backoff.next_wait_s(reason.cause, up_for_s)
        progress.next_try_at = now + wait_s
        self._events.append(Lost(reason, before, text))
        self._events.append(TryAgain(now + wait_s, wait_s))

    def _settle_position(self, state: LinkState) -> None:
        """After a failed full resync: is the data that `held` speaks of still there?"""
        if self.announced is None:
            return
        self.announced = None
        gone = self._old_data is OldData.GOES_AT_FIRST_BYTE or (
            self._old_data is OldData.GOES_AT_LAST_BYTE and state is LinkState.LOADING
        )
        if gone:
            self.replid = None
            self.held = None

    def _give_up_connection(self) -> None:
        self._out.clear()
        self._early = b""
        self._handshake = None
        self._transfer = None
        self._parser = None
        self._spans = None
        self._rdb = None
        if self._main is not None:
            self._main.buffer.clear()
            self._main = None
        self.progress.transfer = None

    def _move(self, trigger: Trigger, now: float) -> None:
        before, after = self.state, next_state(self.state, trigger)
        self.state = after
        self._state_since = now
        if before is not after:
            self._events.append(StateChanged(before, after))
