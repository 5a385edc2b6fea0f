"""The replica's machine: from "follow this master" over handshake and snapshot to the stream, and again after a loss.

Not here: the socket (daemon/following/master_link), loading and applying (the shell does both and tells), what we
call our stream (role.py).

This is the door to it, the windows that the shell calls. Behind it stand the life of the link over all its connections
(link_life.py: state, position, losses, the next try) and what is said over the present one (conversation.py). The table
of moves is in link_states.py, drawn in docs/machines.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.replication.conversation import Conversation
from pyrepl.replication.events import FullResyncAnnounced, LinkEvent, LinkState
from pyrepl.replication.link_life import LinkLife
from pyrepl.replication.link_options import LinkOptions as LinkOptions
from pyrepl.replication.link_states import BUSY, ROLE_STATES, SYNCING, LinkTrigger
from pyrepl.replication.link_states import OldData as OldData
from pyrepl.replication.progress import LinkProgress
from pyrepl.replication.psync import Cause, Reason, Request
from pyrepl.replication.syncbuffer import BufferUse
from pyrepl.units import Offset, ReplId


@final
class Link:
    """The connection to our master, whether it stands or not.

    Shell's contract: call `start`, carry out `events()` and send `data_to_send()` after every call, call `tick` at
    `next_deadline()`, read from the socket only while `wants_data`. On OpenRdbChannel also `rdb_connected`,
    `rdb_receive`, `rdb_lost`, and send `rdb_data_to_send()` there; that connection is always read. One call may bring
    events and, behind them, the end of what they belong to: look at `may_load` and `may_apply` before each.

    Invariant: `held` is None exactly when we have no data to go on from; in CATCHING_UP and CONNECTED it is the
    applied cut.
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
        self.buffer_use: Final = buffer_use if buffer_use is not None else BufferUse()
        self._life: Final[LinkLife[Conversation]] = LinkLife(host, port, options, position, jitter)
        self.progress: Final[LinkProgress] = self._life.progress

    # ------------------------------------------------------------------ what INFO and ROLE ask

    @property
    def state(self) -> LinkState:
        return self._life.state

    @property
    def replid(self) -> ReplId | None:
        """The stream that our data is of; None if there is none."""
        return self._life.replid

    @property
    def held(self) -> Offset | None:
        """How much of that stream our data holds."""
        return self._life.held

    @property
    def takes_over(self) -> bool:
        """The other end is our replica yet, and is to become our master: PSYNC asks it to, until it has."""
        return self._life.takes_over

    @property
    def position(self) -> Request:
        """What the next PSYNC asks for."""
        return self._life.position

    @property
    def is_up(self) -> bool:
        """master_link_status."""
        return self._life.state is LinkState.CONNECTED

    @property
    def is_syncing(self) -> bool:
        """master_sync_in_progress."""
        return self._life.state in SYNCING

    @property
    def may_apply(self) -> bool:
        """Are Apply events to be carried out? Those of a link that was given up since must be thrown away."""
        state = self._life.state
        return state is LinkState.CONNECTED or state is LinkState.CATCHING_UP

    @property
    def may_load(self) -> bool:
        """Is a snapshot's event to be carried out? Those of a sync that was given up since must be thrown away: what
        they bring would be data that `position` does not speak of."""
        state = self._life.state
        return state is LinkState.TRANSFER or state is LinkState.LOADING

    @property
    def role_state(self) -> str:
        """The word in ROLE: connect, connecting, handshake, sync, connected; none if stopped."""
        return ROLE_STATES[self._life.state]

    @property
    def uses_two_channels(self) -> bool:
        """Is a sync on two connections under way?"""
        talk = self._life.connection
        return talk is not None and talk.uses_two_channels

    @property
    def announced(self) -> FullResyncAnnounced | None:
        """The full resync under way, once its cut is known and until it is loaded."""
        talk = self._life.connection
        return talk.announced if talk is not None else None

    @property
    def sync_buffer_bytes(self) -> int:
        """What is held of the stream until the snapshot is loaded: replica_full_sync_buffer_size."""
        talk = self._life.connection
        return talk.buffer_bytes if talk is not None else 0

    @property
    def read_offset(self) -> int | None:
        """The cut up to which bytes have come: slave_read_repl_offset. None without a stream."""
        talk = self._life.connection
        return talk.read_offset if talk is not None else self._life.held

    @property
    def wants_data(self) -> bool:
        """May the shell read from the (main) socket?

        Not while a snapshot loads, on two channels not while the buffer is full: what the master sends stays with it.
        """
        talk = self._life.connection
        return talk is None or talk.wants_data

    # ------------------------------------------------------------------ life

    def start(self, now: float) -> None:
        """Begin to follow: Connect comes at once. Raises PeerError if it was started already."""
        self._life.forget_failures()
        self.progress.note_down(now)
        self._connect(LinkTrigger.START, now)

    def stop(self, now: float) -> None:
        """End it for good (REPLICAOF, shutdown). No event comes of it but Lost, and which connections to close."""
        self._life.stop(now)

    def hurry(self, now: float) -> None:
        """An operator changed what may have stood in the way (masterauth, for one): forget failures, try at once."""
        self._life.forget_failures()
        if self._life.state is LinkState.WAITING:
            self.progress.next_try_at = now

    def connected(self, now: float) -> None:
        """The connection that Connect asked for stands."""
        self._talk("established is not expected").connected(now)

    def lost(self, now: float, text: str) -> None:
        """The connection could not be had, or is gone; `text` says how. No effect if we have given it up ourselves."""
        state = self._life.state
        if state in BUSY:
            cause = Cause.CONNECT_FAILED if state is LinkState.CONNECTING else Cause.CONNECTION_LOST
            self._life.lose(Reason(cause), text, now, disconnect=False)

    # ------------------------------------------------------------------ the second connection

    def rdb_connected(self, now: float) -> None:
        """The connection that OpenRdbChannel asked for stands. Raises PeerError if none is awaited."""
        self._talk("no second connection is expected").rdb_connected(now)

    def rdb_receive(self, data: bytes, now: float) -> None:
        """The next bytes of the second connection. What breaks the protocol ends both, with Lost(protocol)."""
        if self._life.connection is not None:
            self._life.connection.rdb_receive(data, now)

    def rdb_data_to_send(self) -> list[bytes]:
        """What is to be written to the second connection now; each byte is returned once."""
        return self._life.connection.rdb_data_to_send() if self._life.connection is not None else []

    def rdb_lost(self, now: float, text: str) -> None:
        """The second connection could not be had, or is gone. No effect once the snapshot is whole."""
        if self._life.connection is not None:
            self._life.connection.rdb_lost(now, text)

    # ------------------------------------------------------------------ what became of a snapshot, or of the stream

    def keep_old_data(self, until: OldData) -> None:
        """How the shell loads the snapshot that FullResyncBegins announced; call it while handling that event.

        Without this call the position is given up at once, which is always safe. No effect if the sync broke since.
        """
        if self._life.connection is not None:
            self._life.connection.keep_old_data(until)

    def loaded(self, now: float) -> None:
        """The snapshot is loaded and is our data now."""
        self._talk("no snapshot is being loaded").loaded(now)

    def load_failed(self, detail: str, now: float, text: str = "") -> None:
        """The snapshot cannot be loaded; `detail` is one word (rdb_version, corrupt, memory, disk, ...).

        May be called from FullResyncBegins on.
        """
        if not self.may_load:
            raise PeerError(f"no snapshot is being loaded in state {self._life.state}")
        self._life.fail_here(Reason(Cause.LOAD_FAILED, detail=detail), text or detail, now)

    def applied(self, cut: int) -> None:
        """Stream bytes left of `cut` are applied. Raises PeerError for a cut that never came or goes back."""
        self._talk(f"nothing up to {cut} is being applied").applied(cut)

    def apply_failed(self, detail: str, now: float, text: str = "") -> None:
        """A command of the stream cannot be applied (`applied` told up to where it could). The link is ended."""
        if not self.may_apply:
            raise PeerError(f"nothing is being applied in state {self._life.state}")
        self._life.fail_here(Reason(Cause.APPLY_FAILED, detail=detail), text or detail, now)

    # ------------------------------------------------------------------ the five windows

    def take_back(self) -> bytes | None:
        """The beginning of a command, to be received again before what follows; None where nothing may be cut off."""
        talk = self._life.connection
        return talk.take_back() if talk is not None else None

    def receive(self, data: bytes, now: float, beginning: bytes = b"") -> None:
        """The next bytes of the connection. What breaks the protocol ends the connection, with Lost(protocol).

        After `take_back` the shell may cut off a `beginning` behind them (`resp.scan.whole_bytes`).
        """
        talk = self._life.connection
        if talk is not None:
            talk.receive(data, now, beginning)

    def data_to_send(self) -> list[bytes]:
        """What is to be written to the connection now; each byte is returned once."""
        life = self._life
        out, life.out = life.out, []
        return out

    def events(self) -> list[LinkEvent]:
        """What has happened since the last call, in order."""
        life = self._life
        events, life.events = life.events, []
        return events

    def next_deadline(self) -> float | None:
        """When `tick` is due (monotonic seconds), None if nothing is awaited."""
        talk = self._life.connection
        return talk.next_deadline() if talk is not None else self.progress.next_try_at

    def tick(self, now: float) -> None:
        """Do what is due: connect, time out, send a keep-alive or an ACK. Calling it early or often does no harm."""
        life = self._life
        if life.connection is not None:
            life.connection.tick(now)
        elif life.state is LinkState.WAITING:
            at = self.progress.next_try_at
            if at is not None and now >= at:
                self._connect(LinkTrigger.DUE, now)

    # ------------------------------------------------------------------ inside

    def _connect(self, trigger: LinkTrigger, now: float) -> None:
        life = self._life
        life.begin(trigger, Conversation(life, self.buffer_use, now), now)

    def _talk(self, fault: str) -> Conversation:
        """The present conversation. Raises PeerError where there is none, `fault` first."""
        talk = self._life.connection
        if talk is None:
            raise PeerError(f"{fault} in state {self._life.state}")
        return talk
