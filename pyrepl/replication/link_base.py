"""A link's life whatever is said on it: its state, its position, connections tried, given up and tried again.

Not here: what comes over the connections and what is said there (link.py, which has the picture), the table of all
moves (link_states.py), how long a wait is (backoff.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from pyrepl.errors import PeerError
from pyrepl.replication.backoff import Backoff
from pyrepl.replication.events import (
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
from pyrepl.replication.link_states import BUSY, LINK, ROLE_STATES, SYNCING, LinkTrigger
from pyrepl.replication.progress import LinkProgress
from pyrepl.replication.psync import ASK_FOR_ALL, FAILOVER_TO_MASTER, Cause, Reason, Request, TryLater
from pyrepl.units import Offset, ReplId


class LinkBase(ABC):
    """What is true of a link in every state.

    Invariants: `held` is None exactly when we have no data to go on from. `_gone` is set from a loss that leaves
    something worth finishing (a whole snapshot, a buffer of stream) until that is done; meanwhile nothing is sent.
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
        self._may_have_obeyed = False
        """PSYNC ... FAILOVER was sent on a connection that broke before the answer."""
        self._backoff: Final = Backoff(jitter)
        self._out: list[bytes] = []
        self._events: list[LinkEvent] = []
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
    def may_load(self) -> bool:
        """Is a snapshot's event to be carried out? Those of a sync that was given up since must be thrown away: what
        they bring would be data that `position` does not speak of."""
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
        return Request(self.replid, self.held, failover=self.takes_over)

    # ------------------------------------------------------------------ life

    def start(self, now: float) -> None:
        """Begin to follow: Connect comes at once. Raises PeerError if it was started already."""
        self._backoff.reset()
        self.progress.note_down(now)
        self._connect(LinkTrigger.START, now)

    def stop(self, now: float) -> None:
        """End it for good (REPLICAOF, shutdown). No event comes of it but Lost, and which connections to close."""
        before = self.state
        self._move(LinkTrigger.STOP, now)
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

    # ------------------------------------------------------------------ windows

    def data_to_send(self) -> list[bytes]:
        """What is to be written to the connection now; each byte is returned once."""
        out, self._out = self._out, []
        return out

    def events(self) -> list[LinkEvent]:
        """What has happened since the last call, in order."""
        events, self._events = self._events, []
        return events

    # ------------------------------------------------------------------ inside

    def _connect(self, trigger: LinkTrigger, now: float) -> None:
        self._move(trigger, now)
        self._last_io_at = now
        self.progress.note_attempt()
        self._events.append(Connect(self.host, self.port))

    def _lose(self, reason: Reason, text: str, now: float, *, disconnect: bool) -> None:
        """The (main) connection is gone, or no good: at once, or as soon as what we hold of it is used up."""
        if self.state is not LinkState.LOADING and self.state is not LinkState.CATCHING_UP:
            self._fail(reason, text, now, disconnect=disconnect)
        elif self._gone is None:
            self._gone = reason
            self._gone_text = text
            self._out.clear()
            if disconnect:
                self._events.append(Disconnect())
            if self.state is LinkState.LOADING:
                self._events.append(LoadsOn(reason, text))

    def _used_up(self, now: float) -> None:
        """What a lost connection left is loaded and applied."""
        reason, self._gone = self._gone, None
        assert reason is not None
        self._fail(reason, self._gone_text, now, disconnect=False, was_flowing=True)

    def _fail_here(self, reason: Reason, text: str, now: float) -> None:
        """End what goes on for a reason of our own; the connection too, if there is one."""
        disconnect = self._gone is None
        self._gone = None
        self._fail(reason, text, now, disconnect=disconnect)

    def _fail(self, reason: Reason, text: str, now: float, *, disconnect: bool, was_flowing: bool = False) -> None:
        """End this connection, say why, and plan the next."""
        before = self.state
        if self.takes_over and self._awaits_verdict:
            self._may_have_obeyed = True
        up_for_s = now - self._state_since if before is LinkState.CONNECTED else 0.0 if was_flowing else None
        self._settle_position()
        self._move(LinkTrigger.FAIL, now)
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

    def _reason_to_try_again(self, answer: TryLater) -> Reason:
        """As the answer says, unless the other end is the master because it obeyed us and the connection broke before
        we heard of it: then we ask it as any replica does, and the hand-over is not refused."""
        if self._may_have_obeyed and self.takes_over and answer.text == FAILOVER_TO_MASTER:
            self.takes_over = False
            return Reason(Cause.NOT_READY, detail="took_over")
        return answer.reason

    def _move(self, trigger: LinkTrigger, now: float) -> None:
        before, after = self.state, LINK.after(self.state, trigger)
        self.state = after
        self._state_since = now
        if before is not after:
            self._events.append(StateChanged(before, after))

    def _refuse_unless(self, is_legal: bool, what: str) -> None:
        if not is_legal:
            raise PeerError(f"{what} in state {self.state}")

    @property
    @abstractmethod
    def _awaits_verdict(self) -> bool:
        """Is PSYNC out, and not answered?"""

    @abstractmethod
    def _settle_position(self) -> None:
        """A sync is given up: if the data that `held` speaks of went for it, so does the position."""

    @abstractmethod
    def _give_up_connection(self) -> None:
        """Forget all that belongs to the present connections."""
