"""A link's life over all its connections: its state, its position, and how a connection ends and is tried again.

link.py makes one LinkLife; the Conversation of the present connection writes into it. Bytes to send (`out`) and events
for the shell (`events`) are collected here, and link.py hands them out. `now` is monotonic seconds.

Not here: what is said over the present connection (conversation.py), the methods that the shell calls (link.py), the
table of moves (link_states.py), how long a wait is (backoff.py).

Position: `replid` and `held` say which bytes of which stream our data holds; PSYNC asks for the bytes behind them. A
full resync replaces the data, so the position is given up at the moment when the old data is destroyed (`OldData`): if
the load then fails, there is no data to go on from.

A connection that breaks while a complete snapshot is loaded does not spoil the snapshot. The load is finished, and the
next PSYNC continues behind it. Until then `gone` keeps the reason of the loss.
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
    """What LinkLife asks the present connection when it ends; conversation.py has the one implementation."""

    @property
    def awaits_verdict(self) -> bool:
        """Was PSYNC sent, and not answered?"""

    @property
    def old_data_is_gone(self) -> bool:
        """Has the data that `held` speaks of been destroyed for a snapshot that is not loaded?"""

    def end(self) -> bool:
        """Forget everything. Returns whether a second connection has to be closed."""


ConnectionT = TypeVar("ConnectionT", bound=Connection)


@final
class LinkLife(Generic[ConnectionT]):
    """What is true of a link in every state.

    Invariants: `held` is None exactly when we have no data to go on from. `connection` is set exactly while the state
    is one of BUSY. `gone` is set when the first connection is lost in LOADING or CATCHING_UP, until the snapshot or the
    buffered stream that came over it is used up; meanwhile nothing is sent.
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
        self.takes_over = position.failover
        """A failover: the other end is still our replica and shall become our master. PSYNC asks it to take over, until
        it answers as a master."""
        self.connection: ConnectionT | None = None
        self.out: list[bytes] = []
        """What is to be written to the first connection."""
        self.events: list[LinkEvent] = []
        """What the shell has not been told yet."""
        self.gone: Reason | None = None
        """Why the first connection was lost, while what came over it is still being loaded or applied."""
        self._gone_text = ""
        self._may_have_obeyed = False
        """PSYNC ... FAILOVER was sent on a connection that broke before the answer: the other end may be master now."""
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
        """`held`, for callers who know that there is data."""
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
        """Have the shell open a connection, on which `connection` will speak."""
        self.move(trigger, now)
        self.connection = connection
        self.progress.note_attempt()
        self.events.append(Connect(self.host, self.port))

    def hold(self, replid: ReplId, held: Offset) -> None:
        """Our data holds the bytes left of the cut `held` of the stream `replid` now."""
        self.replid = replid
        self.held = held

    def advance(self, held: Offset) -> None:
        """The stream is applied up to the cut `held`; the caller has checked that it does not go back."""
        self.held = held

    def accepted(self) -> None:
        """The other end answers as our master: from now on PSYNC goes without FAILOVER."""
        self.takes_over = False

    def forget_failures(self) -> None:
        """Let the next wait be as short as after a first failure."""
        self._backoff.reset()

    def stop(self, now: float) -> None:
        """End the link for good, from any state."""
        before = self.state
        self.move(LinkTrigger.STOP, now)
        if before in BUSY:
            self._give_up_connection()
            if self.gone is None:
                # Otherwise the first connection is closed already.
                self.events.append(Disconnect())
            self.events.append(Lost(Reason(Cause.STOPPED), before, "stopped"))
        self.gone = None
        self.progress.next_try_at = None
        self.progress.note_down(now)

    # ------------------------------------------------------------------ how a connection ends

    def lose(self, reason: Reason, text: str, now: float, *, disconnect: bool) -> None:
        """The first connection is gone, or we want it no longer: end it with `reason`, and `text` for people.

        `disconnect`: the shell has to close it. A whole snapshot that is being loaded, or a buffered stream that is
        being applied, is finished first, as that saves a full resync; then the link fails (`used_up`).
        """
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
        """Everything that a lost connection had brought is loaded and applied: now the link fails, for that loss."""
        reason, self.gone = self.gone, None
        assert reason is not None
        self.fail(reason, self._gone_text, now, disconnect=False, was_flowing=True)

    def fail_here(self, reason: Reason, text: str, now: float) -> None:
        """End the link at once for a fault on our side (a load or a command failed): nothing is left to finish."""
        disconnect = self.gone is None
        self.gone = None
        self.fail(reason, text, now, disconnect=disconnect)

    def fail(self, reason: Reason, text: str, now: float, *, disconnect: bool, was_flowing: bool = False) -> None:
        """End the connection at once, say why, and plan the next one.

        `was_flowing`: the link counts as one whose stream has just flowed, so that the first retry comes at once.
        """
        before, connection = self.state, self.connection
        assert connection is not None
        if self.takes_over and connection.awaits_verdict:
            self._may_have_obeyed = True
        up_for_s = now - self._state_since if before is LinkState.CONNECTED else 0.0 if was_flowing else None
        if connection.old_data_is_gone:
            # The position speaks of data that was destroyed: the next PSYNC has to ask for everything.
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
        """The reason in `answer`, with one exception. After a PSYNC ... FAILOVER whose answer was lost, a master that
        refuses FAILOVER may be one because it obeyed us. Then the hand-over counts as done, and we ask as any replica
        does; otherwise we would give a failover up that has succeeded."""
        if self._may_have_obeyed and self.takes_over and answer.text == FAILOVER_TO_MASTER:
            self.accepted()
            return Reason(Cause.NOT_READY, detail="took_over")
        return answer.reason

    # ------------------------------------------------------------------ inside

    def _give_up_connection(self) -> None:
        """Forget everything that belongs to the present connection, and have the shell close the second one."""
        self.out.clear()
        connection, self.connection = self.connection, None
        if connection is not None and connection.end():
            self.events.append(CloseRdbChannel())
        self.progress.transfer = None

    def _move(self, trigger: LinkTrigger) -> None:
        self.state = LINK.after(self.state, trigger)
