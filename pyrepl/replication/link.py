"""The replica's machine: from "follow this master" over handshake and snapshot to the stream, and again after a loss.

Not here: the socket (daemon/master_link), loading and applying (the shell does both and tells), what we call our
stream (role.py), the parts: handshake.py, transfer.py, spans.py, backoff.py, progress.py.

                 start, due            connected           +CONTINUE
    IDLE/WAITING ----------> CONNECTING ---------> HANDSHAKE ----------------------------> CONNECTED
         ^                                             | +FULLRESYNC                           ^
         |                                             v            last byte        loaded    |
         |   any failure, from any state           TRANSFER -------------> LOADING ------------+
         +-----------------------------------------------------------------------------------

The table of all moves is in link_states.py.

Position: `replid` and `held` name the stream bytes that our data holds; PSYNC asks for what follows. A full resync
replaces the data, so the position is given up when the old data goes (`OldData`): a load that then fails leaves
nothing to go on from. A link that breaks while a complete snapshot is loaded does not spoil it: the load is
finished, and the next PSYNC continues behind it.

Keep-alives: `\\n` each second during transfer and loading, which no offset counts; `REPLCONF ACK held` each second,
on GETACK and at once when the stream begins. Only bytes that the shell reported as applied are acknowledged.
Source: Redis 7.0 `syncWithMaster`, `readSyncBulkPayload`, `replicationCron`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.replication.backoff import Backoff
from pyrepl.replication.events import (
    Connect,
    Continued,
    Disconnect,
    FullResyncAnnounced,
    FullResyncBegins,
    LinkEvent,
    LinkState,
    LinkUp,
    Lost,
    SnapshotBytes,
    SnapshotEnds,
    StateChanged,
    SyncAsked,
    Tolerated,
    TryAgain,
)
from pyrepl.replication.handshake import Handshake, Introduction
from pyrepl.replication.link_states import BUSY, ROLE_STATES, Trigger, next_state
from pyrepl.replication.link_states import OldData as OldData
from pyrepl.replication.progress import LinkProgress, TransferProgress
from pyrepl.replication.psync import (
    ASK_FOR_ALL,
    Cause,
    ContinueGranted,
    FullResyncGranted,
    Reason,
    Request,
    TryLater,
    guess_refusal,
)
from pyrepl.replication.spans import Spans
from pyrepl.replication.transfer import Transfer
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.parser import UNLIMITED, Parser
from pyrepl.units import Offset, ReplId

ACK_PERIOD_S: Final = 1.0
KEEP_ALIVE_PERIOD_S: Final = 1.0
TIMEOUT_S: Final = 60.0
"""Redis's default repl-timeout."""
_KEEP_ALIVE: Final = b"\n"


@dataclass(slots=True)
class LinkOptions:
    """Settings of a link. The shell changes them in place; they count from the next use on."""

    introduction: Introduction = field(default_factory=Introduction)
    timeout_s: float = TIMEOUT_S
    """repl-timeout: the longest silence in any phase but LOADING."""


@final
class Link:
    """The connection to our master, whether it stands or not.

    Shell's contract: call `start`, carry out `events()` and send `data_to_send()` after every call, call `tick` at
    `next_deadline()`, read from the socket only while `wants_data`.

    Invariants: `held` is None exactly when we have no data to go on from; in CONNECTED it is the applied cut, and
    `held <= read_offset`. Exactly one of `_handshake`, `_transfer`, `_spans` is set in HANDSHAKE, TRANSFER, CONNECTED.
    """

    def __init__(
        self, host: str, port: int, options: LinkOptions, position: Request, jitter: Callable[[], float]
    ) -> None:
        """`position` is what our data holds, ASK_FOR_ALL for nothing; `jitter()` is uniform in [0, 1)."""
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
        return self.state is LinkState.TRANSFER or self.state is LinkState.LOADING

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
        return self._spans.start + self._spans.held_bytes + self._parser.pending_bytes

    @property
    def wants_data(self) -> bool:
        """May the shell read from the socket? Not while a snapshot loads: what the master sends then stays with it."""
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
        self._handshake = Handshake(self.options.introduction, self.position)
        self._out.extend(self._handshake.data_to_send())

    def lost(self, now: float, text: str) -> None:
        """The connection could not be had, or is gone; `text` says how. No effect if we have given it up ourselves."""
        if self.state not in BUSY:
            return
        cause = Cause.CONNECT_FAILED if self.state is LinkState.CONNECTING else Cause.CONNECTION_LOST
        reason = Reason(cause)
        if self.state is LinkState.LOADING:
            self._gone = reason
            self._gone_text = text
            self._out.clear()
            return
        self._fail(reason, text, now, disconnect=False)

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
        if self.state is not LinkState.CONNECTED:
            raise PeerError(f"nothing is being applied in state {self.state}")
        self._fail(Reason(Cause.APPLY_FAILED, detail=detail), text or detail, now, disconnect=True)

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
        next_sign = self._last_sent_at + ACK_PERIOD_S
        if state is LinkState.LOADING:
            return next_sign
        return min(next_sign, self._last_io_at + self.options.timeout_s)

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
        if state is not LinkState.LOADING and now >= self._last_io_at + self.options.timeout_s:
            reason = Reason(Cause.TIMEOUT, detail=self._phase())
            text = f"nothing came for {self.options.timeout_s:g} seconds in phase {reason.detail}"
            self._fail(reason, text, now, disconnect=True)
            return
        if now >= self._last_sent_at + ACK_PERIOD_S:
            self._send_sign(now)

    # ------------------------------------------------------------------ inside

    def _guarded(self, data: bytes, now: float) -> None:
        try:
            self._take(data, now)
        except PeerError as error:
            self._fail(Reason(Cause.PROTOCOL, detail=self._phase()), str(error), now, disconnect=True)

    def _take(self, data: bytes, now: float) -> None:
        """Hand the bytes to the part of the present state, and what it left over to the next one's."""
        if self.state is LinkState.HANDSHAKE:
            data = self._take_handshake(data, now)
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
        reason = guess_refusal(request, answer.replid, answer.cut)
        self.announced = FullResyncAnnounced(answer.replid, answer.cut, reason)
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
        assert self.held is not None
        self._move(trigger, now)
        self.progress.transfer = None
        self._parser = Parser(
            max_bulk_bytes=UNLIMITED, max_args=UNLIMITED, query_buffer_bytes=UNLIMITED, inline_allowed=False
        )
        self._spans = Spans(self.held)
        self.progress.note_up(now)
        self._last_io_at = now
        self._events.append(LinkUp(full))
        self._send_ack()
        self._last_sent_at = now

    def _send_sign(self, now: float) -> None:
        """The sign of life of the present state."""
        if self.state is LinkState.CONNECTED:
            self._send_ack()
        elif self.is_syncing and self._gone is None:
            self._out.append(_KEEP_ALIVE)
        self._last_sent_at = now

    def _send_ack(self) -> None:
        assert self.held is not None
        self._out.append(encode_command([b"REPLCONF", b"ACK", b"%d" % self.held]))

    def _phase(self) -> str:
        """Where we are, as precisely as a timeout or an error should say it."""
        if self._handshake is not None:
            return f"handshake:{self._handshake.step}"
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
        self.progress.transfer = None

    def _move(self, trigger: Trigger, now: float) -> None:
        before, after = self.state, next_state(self.state, trigger)
        self.state = after
        self._state_since = now
        if before is not after:
            self._events.append(StateChanged(before, after))
