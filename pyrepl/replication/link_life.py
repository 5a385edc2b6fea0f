"""A link's life whatever is said on it: its state, its position, and how a connection ends and is tried again.

Not here: what is said over the present connection (conversation.py), the windows that the shell calls (link.py), the
table of moves (link_states.py), how long a wait is (backoff.py).

Position: `replid` and `held` name the stream bytes that our data holds; PSYNC asks for what follows. A full resync
replaces the data, so the position is given up when the old data goes (`OldData`): a load that then fails leaves
nothing to go on from. A connection that breaks while a complete snapshot is loaded does not spoil it: the load is
finished, and the next PSYNC continues behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar, final

from pyrepl.replication.backoff import Backoff
from pyrepl.replication.events import (
    CloseRdbChannel,
    Connect,
    Disconnect,
    LinkEvent,
    LinkState,
    LoadsOn,
    Lost,
    StateChanged,
    TryAgain,
)
from pyrepl.replication.link_options import LinkOptions
from pyrepl.replication.link_states import BUSY, LINK, LinkTrigger
from pyrepl.replication.progress import LinkProgress
from pyrepl.replication.psync import ASK_FOR_ALL, FAILOVER_TO_MASTER, Cause, Reason, Request, TryLater
from pyrepl.units import Offset, ReplId


class Connection(Protocol):
    """What has to be known of the present connection when it ends."""

    @property
    def awaits_verdict(self) -> bool:
        """Is PSYNC out, and not answered?"""

    @property
    def old_data_is_gone(self) -> bool:
        """Has the data that `held` speaks of been destroyed for a snapshot that is not loaded?"""

    def end(self) -> bool:
        """Forget everything. Is there a second connection that has to be closed?"""


ConnectionT = TypeVar("ConnectionT", bound=Connection)


@final
class LinkLife(Generic[ConnectionT]):
    """What is true of a link in every state.

    Invariants: `held` is None exactly when we have no data to go on from. `connection` is set exactly while the state
    is one of BUSY. `gone` is set from a loss that leaves something worth finishing (a whole snapshot, a buffer of
    stream) until that is done; meanwhile nothing is sent.
    """

    def __init__(
        self, host: str, port: int, options: LinkOptions, position: Request, jitter: Callable[[], float]
    ) -> None:
        self.host: Final = host
        self.port: Final = port
        self.options: Final = options
        self.state = LinkState.IDLE
        self.progress: Final = LinkProgress()
        self.replid: ReplId | None = position.replid
        self.held: Offset | None = Offset(position.held) if position.replid is not None else None
        self.takes_over = position.failover
        """The other end is our replica yet, and is to become our master: PSYNC asks it to, until it has."""
        self.connection: ConnectionT | None = None
        self.out: list[bytes] = []
        self.events: list[LinkEvent] = []
        self.gone: Reason | None = None
        self._gone_text = ""
        self._may_have_obeyed = False
        """PSYNC ... FAILOVER was sent on a connection that broke before the answer."""
        self._backoff: Final = Backoff(jitter)
        self._state_since = 0.0

    @property
    def position(self) -> Request:
        """What the next PSYNC asks for."""
        if self.replid is None or self.held is None:
            return ASK_FOR_ALL
        return Request(self.replid, self.held, failover=self.takes_over)

    @property
    def known_held(self) -> Offset:
        """`held`, where there is data."""
        assert self.held is not None
        return self.held

    def move(self, trigger: LinkTrigger, now: float) -> None:
        """The only way from state to state. Raises PeerError if `trigger` is not expected."""
        before = self.state
        self._move(trigger)
        self._state_since = now
        if before is not self.state:
            self.events.append(StateChanged(before, self.state))

    def begin(self, trigger: LinkTrigger, connection: ConnectionT, now: float) -> None:
        """A connection is being made, which will be `connection`."""
        self.move(trigger, now)
        self.connection = connection
        self.progress.note_attempt()
        self.events.append(Connect(self.host, self.port))

    def hold(self, replid: ReplId, held: Offset) -> None:
        """Our data is so much of this stream now."""
        self.replid = replid
        self.held = held

    def advance(self, held: Offset) -> None:
        """More of the stream is applied."""
        self.held = held

    def accepted(self) -> None:
        """The other end answers as our master: nothing is left for it to take over."""
        self.takes_over = False

    def forget_failures(self) -> None:
        """The next wait is as short as the first."""
        self._backoff.reset()

    def stop(self, now: float) -> None:
        """End it for good."""
        before = self.state
        self.move(LinkTrigger.STOP, now)
        if before in BUSY:
            self._give_up_connection()
            if self.gone is None:
                self.events.append(Disconnect())
            self.events.append(Lost(Reason(Cause.STOPPED), before, "stopped"))
        self.gone = None
        self.progress.next_try_at = None
        self.progress.note_down(now)

    # ------------------------------------------------------------------ how a connection ends

    def lose(self, reason: Reason, text: str, now: float, *, disconnect: bool) -> None:
        """The (main) connection is gone, or no good: at once, or as soon as what we hold of it is used up."""
        if self.state is not LinkState.LOADING and self.state is not LinkState.CATCHING_UP:
            self.fail(reason, text, now, disconnect=disconnect)
        elif self.gone is None:
            self.gone = reason
            self._gone_text = text
            self.out.clear()
            if disconnect:
                self.events.append(Disconnect())
            if self.state is LinkState.LOADING:
                self.events.append(LoadsOn(reason, text))

    def used_up(self, now: float) -> None:
        """What a lost connection left is loaded and applied."""
        reason, self.gone = self.gone, None
        assert reason is not None
        self.fail(reason, self._gone_text, now, disconnect=False, was_flowing=True)

    def fail_here(self, reason: Reason, text: str, now: float) -> None:
        """End what goes on for a reason of our own; the connection too, if there is one."""
        disconnect = self.gone is None
        self.gone = None
        self.fail(reason, text, now, disconnect=disconnect)

    def fail(self, reason: Reason, text: str, now: float, *, disconnect: bool, was_flowing: bool = False) -> None:
        """End this connection, say why, and plan the next."""
        before, connection = self.state, self.connection
        assert connection is not None
        if self.takes_over and connection.awaits_verdict:
            self._may_have_obeyed = True
        up_for_s = now - self._state_since if before is LinkState.CONNECTED else 0.0 if was_flowing else None
        if connection.old_data_is_gone:
            self.replid = None
            self.held = None
        self.move(LinkTrigger.FAIL, now)
        self._give_up_connection()
        progress = self.progress
        progress.note_down(now)
        progress.last_sync_error = f"{reason}: {text}" if text and text != reason.detail else str(reason)
        if disconnect:
            self.events.append(Disconnect())
        wait_s = self._backoff.next_wait_s(reason.cause, up_for_s)
        progress.next_try_at = now + wait_s
        self.events.append(Lost(reason, before, text))
        self.events.append(TryAgain(now + wait_s, wait_s))

    def reason_to_try_again(self, answer: TryLater) -> Reason:
        """As the answer says, unless the other end is the master because it obeyed us and the connection broke before
        we heard of it: then we ask it as any replica does, and the hand-over is not refused."""
        if self._may_have_obeyed and self.takes_over and answer.text == FAILOVER_TO_MASTER:
            self.accepted()
            return Reason(Cause.NOT_READY, detail="took_over")
        return answer.reason

    # ------------------------------------------------------------------ inside

    def _give_up_connection(self) -> None:
        """Forget all that belongs to the present connections."""
        self.out.clear()
        connection, self.connection = self.connection, None
        if connection is not None and connection.end():
            self.events.append(CloseRdbChannel())
        self.progress.transfer = None

    def _move(self, trigger: LinkTrigger) -> None:
        self.state = LINK.after(self.state, trigger)
