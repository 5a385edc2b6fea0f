"""FAILOVER: hand the role of master to a replica that has everything. The old master's machine, up to the hand-over.

Not here: what becomes of our own role then (role.py), the PSYNC ... FAILOVER on the wire (psync.py, link.py), and the
pause of writes, which the shell begins with `begin` and ends when the state is NONE again.

The moves are in the table below, drawn in docs/machines.md: begin, then a replica that has everything (or FORCE and the
time over) takes over, and the link to it says how that went. An abort, the time over or a target that is gone end it.

Theory: while writes are paused and nobody writes PINGs or GETACKs into the stream, its end stands still, so "a replica
has acked the end" stays true until the switch, and the switch costs a partial resync of nothing. One GETACK goes before
the wait: replicas answer at once instead of within their second. Source: Redis 6.2 `failoverCommand`,
`updateFailoverStatus`; redis#4819.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, final

from pyrepl.errors import CommandError
from pyrepl.frozen import Frozen
from pyrepl.machines import Table
from pyrepl.replication.events import SessionState

if TYPE_CHECKING:
    from pyrepl.replication.backlog import Backlog
    from pyrepl.replication.roster import Roster
    from pyrepl.replication.session import Session

NO_REPLICAS: Final = "ERR FAILOVER requires connected replicas."
ALREADY: Final = "ERR FAILOVER already in progress."
FORCE_INTO_NOTHING: Final = "ERR FAILOVER with force option requires both a timeout and target HOST and IP."
NONE_IN_PROGRESS: Final = "ERR No failover in progress."
NOT_A_REPLICA: Final = "ERR FAILOVER target HOST and PORT is not a replica."
ABORTED: Final = "aborted by an operator"
NOT_ONLINE: Final = "ERR FAILOVER target replica is not online."


class FailoverState(enum.StrEnum):
    """The value is INFO's master_failover_state."""

    NONE = "no-failover"
    WAITING = "waiting-for-sync"
    IN_PROGRESS = "failover-in-progress"


class FailoverTrigger(enum.StrEnum):
    """What moves it on."""

    BEGIN = "begin"
    HAND_OVER = "hand_over"
    TAKEN_OVER = "taken_over"
    GIVE_UP = "give_up"


_S = FailoverState
_T = FailoverTrigger
FAILOVER: Final = Table(
    "A failover on the old master",
    (_S.NONE,),
    {
        (_S.NONE, _T.BEGIN): _S.WAITING,
        (_S.WAITING, _T.HAND_OVER): _S.IN_PROGRESS,
        (_S.WAITING, _T.GIVE_UP): _S.NONE,
        (_S.IN_PROGRESS, _T.TAKEN_OVER): _S.NONE,
        (_S.IN_PROGRESS, _T.GIVE_UP): _S.NONE,
    },
)


class HandOver(Frozen):
    """Follow host:port now, asking for it with PSYNC ... FAILOVER; then call `ended`. `forced`: it may lack writes."""

    host: str
    port: int
    forced: bool


class GaveUp(Frozen):
    """Nothing changes hands: let writes go on; if the hand-over had begun, be a master again. `text` is for the log."""

    text: str
    was_handing_over: bool


FailoverEvent = HandOver | GaveUp


@final
class Failover:
    """One node's failover, when there is one.

    Shell's contract: after `begin` pause writes and keep the stream's end where it is (`Roster.is_quiet`); call `tick`
    often while `state` is WAITING; carry out `events()` after each call; when `state` is NONE again, end the pause.
    Invariant: `target` is set in IN_PROGRESS, and in WAITING exactly if the operator named one.
    """

    def __init__(self, roster: Roster, backlog: Backlog) -> None:
        self.state = FailoverState.NONE
        self.target: tuple[str, int] | None = None
        self._roster: Final = roster
        self._backlog: Final = backlog
        self._force = False
        self._deadline: float | None = None
        self._events: list[FailoverEvent] = []

    def begin(self, target: tuple[str, int] | None, *, force: bool, timeout_s: float | None, now: float) -> None:
        """Begin to wait for a replica that has everything: `target` (host, port), or whichever is first.

        With `force` the target takes over when the time is over, complete or not.
        Raises CommandError with Redis's text when it cannot begin; arguments have been checked.
        """
        if self.state is not FailoverState.NONE:
            raise CommandError(ALREADY)
        if not self._roster.sessions:
            raise CommandError(NO_REPLICAS)
        if force and (target is None or timeout_s is None):
            raise CommandError(FORCE_INTO_NOTHING)
        if target is not None:
            session = self._session(target)
            if session is None:
                raise CommandError(NOT_A_REPLICA)
            if session.state is not SessionState.ONLINE:
                raise CommandError(NOT_ONLINE)
        self._move(FailoverTrigger.BEGIN)
        self.target = target
        self._force = force
        self._deadline = None if timeout_s is None else now + timeout_s
        self._roster.ask_acks()

    def tick(self, now: float) -> None:
        """Look whether somebody has everything, or the time is over."""
        if self.state is not FailoverState.WAITING:
            return
        if self.target is not None and self._session(self.target) is None:
            self._give_up("the target replica is gone")
            return
        if not self._roster.sessions:
            self._give_up("no replica is left")
            return
        complete = self._complete()
        if complete is not None:
            self._hand_over(complete, forced=False)
        elif self._deadline is not None and now >= self._deadline:
            if self._force and self.target is not None:
                self._hand_over(self.target, forced=True)
            else:
                self._give_up("the time is over and no replica has everything")

    def ended(self, refusal: str) -> None:
        """How the hand-over went: `refusal` is empty if the target took over, else why it did not."""
        if self.state is not FailoverState.IN_PROGRESS:
            return
        if refusal:
            self._give_up(refusal)
        else:
            self._clear(FailoverTrigger.TAKEN_OVER)

    def abort(self) -> None:
        """FAILOVER ABORT. Raises CommandError when there is nothing to abort.

        In IN_PROGRESS the request may be on its way, and obeyed: nobody can call it back (as in Redis).
        """
        if self.state is FailoverState.NONE:
            raise CommandError(NONE_IN_PROGRESS)
        text = ABORTED
        if self.state is FailoverState.IN_PROGRESS and self.target is not None:
            host, port = self.target
            text += f"; if our request has reached {host}:{port}, that is a master too: make one follow the other"
        self._give_up(text)

    def events(self) -> list[FailoverEvent]:
        """What has happened since the last call, in order."""
        events, self._events = self._events, []
        return events

    def _complete(self) -> tuple[str, int] | None:
        """A replica that may take over now."""
        end = self._backlog.end
        for session in self._roster.sessions.values():
            address = (session.ip, session.told.listening_port)
            wanted = address == self.target if self.target is not None else session.told.listening_port > 0
            if wanted and session.state is SessionState.ONLINE and session.ack_cut == end:
                return address
        return None

    def _session(self, target: tuple[str, int]) -> Session | None:
        for session in self._roster.sessions.values():
            if (session.ip, session.told.listening_port) == target:
                return session
        return None

    def _hand_over(self, target: tuple[str, int], *, forced: bool) -> None:
        self._move(FailoverTrigger.HAND_OVER)
        self.target = target
        self._events.append(HandOver(*target, forced))

    def _give_up(self, text: str) -> None:
        self._events.append(GaveUp(text, self.state is FailoverState.IN_PROGRESS))
        self._clear(FailoverTrigger.GIVE_UP)

    def _clear(self, trigger: FailoverTrigger) -> None:
        self._move(trigger)
        self.target = None
        self._force = False
        self._deadline = None

    def _move(self, trigger: FailoverTrigger) -> None:
        self.state = FAILOVER.after(self.state, trigger)
