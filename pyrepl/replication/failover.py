"""FAILOVER: hand the role of master to a replica that has everything. The old master's machine, up to the hand-over.

daemon/failovers.py is the shell: it calls the methods for the commands FAILOVER and FAILOVER ABORT, pauses writes, and
carries out the two events. The roster's sessions say which replica has everything.

Not here: what becomes of our own role then (role.py), the PSYNC ... FAILOVER on the wire (psync.py, link.py), and the
pause of writes, which the shell begins with `begin` and ends when the state is NONE again.

The moves are in the table below, drawn in docs/machines.md. After `begin` we wait. The hand-over begins when a replica
has everything, with FORCE also when the time is over. Then we follow that replica, and the link to it reports whether
it took over (`ended`). An abort ends the failover at any point; so do the time and a target that is gone, while we
wait.

Theory: while writes are paused, and no PING or GETACK is written into the stream, the stream's end stands still. So a
replica that has acknowledged the end has everything, and still has everything when the roles change: the old master
then continues behind it by a partial resync of 0 bytes. One GETACK is written just before the wait, as replicas answer
it at once; without it their next ACK may be a second away. Source: Redis 6.2 `failoverCommand`,
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
    """How far the failover is. The value is INFO's master_failover_state, in Redis's words."""

    NONE = "no-failover"
    WAITING = "waiting-for-sync"
    """Writes are paused, and we wait for a replica that has everything."""
    IN_PROGRESS = "failover-in-progress"
    """We follow the target, and ask it by PSYNC ... FAILOVER to take over."""


class FailoverTrigger(enum.StrEnum):
    """What moves a failover on."""

    BEGIN = "begin"
    """The command FAILOVER."""
    HAND_OVER = "hand_over"
    """A replica has everything, or FORCE and the time is over."""
    TAKEN_OVER = "taken_over"
    """The target answered as our master."""
    GIVE_UP = "give_up"
    """FAILOVER ABORT, the time is over, the target is gone, or it refused."""


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
    """Follow host:port now and ask it by PSYNC ... FAILOVER to take over; call `ended` when the answer is known.

    `forced`: the time is over, and the replica may lack writes.
    """

    host: str
    port: int
    forced: bool


class GaveUp(Frozen):
    """The failover came to nothing: let writes go on, and if `was_handing_over`, be a master again.

    `text` says why, for the log.
    """

    text: str
    was_handing_over: bool


FailoverEvent = HandOver | GaveUp


@final
class Failover:
    """The failover of a node: one at a time, on the master that hands its role over.

    Shell's contract: after `begin` pause writes and keep the stream's end where it is (`Roster.is_quiet`); call `tick`
    often while `state` is WAITING; carry out `events()` after each call; when `state` is NONE again, end the pause.
    Invariant: `target` is set in IN_PROGRESS, and in WAITING exactly if the operator named one.
    """

    def __init__(self, roster: Roster, backlog: Backlog) -> None:
        self.state = FailoverState.NONE
        self.target: tuple[str, int] | None = None
        """(host, port) as the replica announced them: `Session.ip` and the listening port it told."""
        self._roster: Final = roster
        self._backlog: Final = backlog
        self._force = False
        self._deadline: float | None = None
        self._events: list[FailoverEvent] = []

    def begin(self, target: tuple[str, int] | None, *, force: bool, timeout_s: float | None, now: float) -> None:
        """Begin to wait for a replica that has everything: `target` (host, port), or whichever is first.

        `timeout_s` is how long to wait, None for ever; `now` is monotonic seconds. With `force` the target takes over
        when the time is over, whether it has everything or not; that needs a target and a timeout.
        Raises CommandError with Redis's text when a failover runs, no replica is attached, or the target is not an
        online replica. The command has checked its arguments.
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
        """Look whether a replica has everything, or the time is over; without effect unless we wait.

        A replica that has everything wins over a time that is over.
        """
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
        """The link reports how the hand-over went: `refusal` is empty if the target took over, else why it did not."""
        if self.state is not FailoverState.IN_PROGRESS:
            # The failover was aborted before the report came.
            return
        if refusal:
            self._give_up(refusal)
        else:
            self._clear(FailoverTrigger.TAKEN_OVER)

    def abort(self) -> None:
        """FAILOVER ABORT. Raises CommandError when there is nothing to abort.

        In IN_PROGRESS the target may have our request already, and obey it. The request cannot be called back (as in
        Redis), so there may be two masters: the text of GaveUp tells the operator.
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
        """The address of a replica that may take over now: online, and it has acknowledged the stream's end."""
        end = self._backlog.end
        for session in self._roster.sessions.values():
            # Without a target, only a replica that told its port counts: otherwise we could not connect to it.
            address = (session.ip, session.told.listening_port)
            wanted = address == self.target if self.target is not None else session.told.listening_port > 0
            if wanted and session.state is SessionState.ONLINE and session.ack_cut == end:
                return address
        return None

    def _session(self, target: tuple[str, int]) -> Session | None:
        """The replica at `target`, None if none that is attached told this address."""
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
        """Back to NONE; nothing is remembered of the failover that ended."""
        self._move(trigger)
        self.target = None
        self._force = False
        self._deadline = None

    def _move(self, trigger: FailoverTrigger) -> None:
        self.state = FAILOVER.after(self.state, trigger)
