"""The replica's machine: from "follow this master" over handshake and snapshot to the stream, and again after a loss.

Link is the one class of it that the shell calls. It does little itself: behind it stand the life of the link over all
its connections (link_life.py: state, position, losses, the next try) and what is said over the present one
(conversation.py). The table of moves is in link_states.py, drawn in docs/machines.md.

Bytes and `now` (monotonic seconds) go in, bytes to send and events come out. Offsets are cuts.

Not here: the socket (daemon/following/master_link.py), loading and applying (the shell does both and reports), the name
of our own stream (role.py).
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
    """The link to our master, whether its connection stands or not.

    Shell's contract: call `start`; after every call carry out `events()` and send `data_to_send()`; call `tick` at
    `next_deadline()`; read from the socket only while `wants_data`. After OpenRdbChannel there is a second connection:
    call `rdb_connected`, `rdb_receive` and `rdb_lost` for it, send `rdb_data_to_send()` there, and always read it.

    One call may return events together with the end of what they belong to: SnapshotBytes and, behind them, Lost. So
    look at `may_load` before each event of a snapshot, and at `may_apply` before each Apply.

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

        `buffer_use` counts the stream bytes held while a snapshot comes. It outlives links, so that INFO's peak does:
        give all links of a node the same.
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
        """Where the link stands; the table of moves is in link_states.py."""
        return self._life.state

    @property
    def replid(self) -> ReplId | None:
        """The id of the stream that our data holds a part of; None without data."""
        return self._life.replid

    @property
    def held(self) -> Offset | None:
        """The cut up to which our data holds that stream; None without data."""
        return self._life.held

    @property
    def takes_over(self) -> bool:
        """A failover: the other end is still our replica, and PSYNC asks it to take over until it has."""
        return self._life.takes_over

    @property
    def position(self) -> Request:
        """What the next PSYNC asks for."""
        return self._life.position

    @property
    def is_up(self) -> bool:
        """Is the stream applied as it comes? INFO's master_link_status."""
        return self._life.state is LinkState.CONNECTED

    @property
    def is_syncing(self) -> bool:
        """Is a snapshot coming or loading, or the stream behind it being caught up with? master_sync_in_progress."""
        return self._life.state in SYNCING

    @property
    def may_apply(self) -> bool:
        """Is an Apply event to be carried out? If the link was given up since, it must be thrown away: the same bytes
        come again with the next partial resync."""
        state = self._life.state
        return state is LinkState.CONNECTED or state is LinkState.CATCHING_UP

    @property
    def may_load(self) -> bool:
        """Is an event of a snapshot to be carried out? If the sync was given up since, it must be thrown away: it would
        bring data that `position` does not speak of."""
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
        """Stream bytes that wait for the snapshot to be loaded, or to be applied behind it, on two channels:
        replica_full_sync_buffer_size."""
        talk = self._life.connection
        return talk.buffer_bytes if talk is not None else 0

    @property
    def read_offset(self) -> int | None:
        """The cut up to which stream bytes have come: slave_read_repl_offset. `held` where no stream flows."""
        talk = self._life.connection
        return talk.read_offset if talk is not None else self._life.held

    @property
    def wants_data(self) -> bool:
        """May the shell read from the first connection?

        Not while a snapshot loads on one connection, and on two connections not while the buffer is full. What is not
        read stays with the master, whose own limit then decides.
        """
        talk = self._life.connection
        return talk is None or talk.wants_data

    # ------------------------------------------------------------------ life

    def start(self, now: float) -> None:
        """Begin to follow: Connect comes at once. Raises PeerError if it was started already."""
        # The move comes first: a start that is refused must change nothing of a link that is up.
        self._connect(LinkTrigger.START, now)
        self._life.forget_failures()
        self.progress.note_down(now)

    def stop(self, now: float) -> None:
        """End the link for good (REPLICAOF, shutdown). The events that follow are StateChanged, Lost, and the orders to
        close connections."""
        self._life.stop(now)

    def hurry(self, now: float) -> None:
        """An operator changed a setting that may have caused the failures (masterauth): forget them, try at once."""
        self._life.forget_failures()
        if self._life.state is LinkState.WAITING:
            self.progress.next_try_at = now

    def connected(self, now: float) -> None:
        """The connection that Connect asked for stands. Raises PeerError if none was asked for."""
        self._talk("established is not expected").connected(now)

    def lost(self, now: float, text: str) -> None:
        """The first connection could not be made, or is gone; `text` says how. No effect if we gave it up before."""
        state = self._life.state
        if state in BUSY:
            cause = Cause.CONNECT_FAILED if state is LinkState.CONNECTING else Cause.CONNECTION_LOST
            self._life.lose(Reason(cause), text, now, disconnect=False)

    # ------------------------------------------------------------------ the second connection

    def rdb_connected(self, now: float) -> None:
        """The connection that OpenRdbChannel asked for stands. Raises PeerError if none is awaited."""
        self._talk("no second connection is expected").rdb_connected(now)

    def rdb_receive(self, data: bytes, now: float) -> None:
        """The next bytes of the second connection. What breaks the protocol ends both connections, with Lost(protocol).

        No effect if we closed it before, or once the snapshot is whole.
        """
        if self._life.connection is not None:
            self._life.connection.rdb_receive(data, now)

    def rdb_data_to_send(self) -> list[bytes]:
        """What is to be written to the second connection now; each byte is returned once."""
        return self._life.connection.rdb_data_to_send() if self._life.connection is not None else []

    def rdb_lost(self, now: float, text: str) -> None:
        """The second connection could not be made, or is gone: the sync ends. No effect once the snapshot is whole."""
        if self._life.connection is not None:
            self._life.connection.rdb_lost(now, text)

    # ------------------------------------------------------------------ what became of a snapshot, or of the stream

    def keep_old_data(self, until: OldData) -> None:
        """How the shell loads the snapshot that FullResyncBegins announced; call it while handling that event.

        Without this call we assume that the old data is destroyed at once: after a sync that breaks we then ask for a
        full resync, which is always safe. No effect if the sync broke since.
        """
        if self._life.connection is not None:
            self._life.connection.keep_old_data(until)

    def loaded(self, now: float) -> None:
        """The snapshot is loaded and is our data now. Raises PeerError if none is being loaded."""
        self._talk("no snapshot is being loaded").loaded(now)

    def load_failed(self, detail: str, now: float, text: str = "") -> None:
        """The snapshot cannot be loaded; `detail` is one word (rdb_version, corrupt, memory, disk, ...).

        May be called from FullResyncBegins on. The link ends and waits long (backoff.py), as every try costs the master
        a snapshot. Raises PeerError if none is coming or being loaded.
        """
        if not self.may_load:
            raise PeerError(f"no snapshot is being loaded in state {self._life.state}")
        self._life.fail_here(Reason(Cause.LOAD_FAILED, detail=detail), text or detail, now)

    def applied(self, cut: int) -> None:
        """Stream bytes left of `cut` are applied, and will be acknowledged.

        Raises PeerError for a cut that goes back, or lies right of the last Apply.
        """
        self._talk(f"nothing up to {cut} is being applied").applied(cut)

    def apply_failed(self, detail: str, now: float, text: str = "") -> None:
        """A command of the stream cannot be applied; `detail` is one word. The link ends.

        Call `applied` before, for the commands that could be. Raises PeerError if no stream is being applied.
        """
        if not self.may_apply:
            raise PeerError(f"nothing is being applied in state {self._life.state}")
        self._life.fail_here(Reason(Cause.APPLY_FAILED, detail=detail), text or detail, now)

    # ------------------------------------------------------------------ the five windows

    def take_back(self) -> bytes | None:
        """Give back the beginning of a command that was received, so that the shell can receive it again in one piece
        with its rest. None where nothing may be cut off."""
        talk = self._life.connection
        return talk.take_back() if talk is not None else None

    def receive(self, data: bytes, now: float, beginning: bytes = b"") -> None:
        """The next bytes of the first connection. What breaks the protocol ends the connection, with Lost(protocol).

        Where `take_back` did not return None, the shell may cut the beginning of a command off behind `data`
        (`resp.scan.whole_bytes`), and hands it in as `beginning`.
        """
        talk = self._life.connection
        if talk is not None:
            talk.receive(data, now, beginning)

    def data_to_send(self) -> list[bytes]:
        """What is to be written to the first connection now; each byte is returned once."""
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
        """Do what is due: connect, time out, apply a slice, send a keep-alive or an ACK. Early or needless calls do no
        harm."""
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
        """The present conversation. Raises PeerError where there is none; its text begins with `fault`."""
        talk = self._life.connection
        if talk is None:
            raise PeerError(f"{fault} in state {self._life.state}")
        return talk
