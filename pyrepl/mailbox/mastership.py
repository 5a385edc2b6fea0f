"""The mastership of one mailbox on one node: open LOCKs, waiting ones, and who else wants it.

Not here: which mailboxes there are, elections and leases (tracker.py tells of them), and the wire.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import Reason
from pyrepl.mailbox.tracker_states import TRACKER, Phase, TrackerTrigger
from pyrepl.mailbox.words import Token, Vector


class Granted(NamedTuple):
    """A LOCK may give out UIDs under this token."""

    box: str
    lock: str
    token: Token


class Refused(NamedTuple):
    """A LOCK's time is over."""

    box: str
    lock: str
    reason: Reason


class AskFor(NamedTuple):
    """TAKE: `wanted_by` wants the mailbox, and `peer` may have it."""

    box: str
    peer: str
    wanted_by: str
    hops: int


class StillUsed(NamedTuple):
    """IN-USE: `to` waits, and LOCKs are open."""

    box: str
    to: str
    token: Token


class HandOver(NamedTuple):
    """GIVE, behind every SAVE that was made under the old token."""

    box: str
    to: str
    token: Token


class Arrived(NamedTuple):
    """It is ours, under this token; on disk before anything else is said of it."""

    box: str
    token: Token


class StaleGive(NamedTuple):
    """For the log: a GIVE whose token was not higher."""

    box: str
    token: Token


class Overdue(NamedTuple):
    """It was given to us, LOCKs wait, and of what has to be applied first these did not come for some time."""

    box: str
    needs: Vector


class Lost(NamedTuple):
    """Nobody seems to have the mailbox: the root wants a new epoch."""

    box: str


_UNDER_WAY: Final = frozenset({Phase.ASKING, Phase.ARRIVING, Phase.CLEARING})
TrackerEvent = Granted | Refused | AskFor | StillUsed | HandOver | Arrived | StaleGive | Overdue | Lost


class Want(NamedTuple):
    """Another node wants the mailbox."""

    node: str
    hops: int


@final
class Mastership:
    """One mailbox.

    Invariants: `locks` is not empty in CLEARING; a LOCK is in `locks` or in `waiting`, not in both; `takes` names a
    node once, and never this one.
    """

    def __init__(self, name: str, box: str, token: Token, hint: str, out: list[TrackerEvent]) -> None:
        """`name` is this node's. `hint`: who has it, "" for the root. Events are put into `out`."""
        self.name: Final = name
        self.box: Final = box
        self.phase = Phase.ELSEWHERE
        self.token = token
        self.hint = hint
        self.locks: dict[str, Token] = {}
        self.waiting: dict[str, float] = {}
        """LOCK -> until when it may wait."""
        self.takes: list[Want] = []
        self.asked_at = float("-inf")
        """When it was asked for last; while it arrives, when what it needs was looked for last."""
        self.tenure_until = float("-inf")
        self.needs: Vector = ()
        self.drains_since = float("-inf")
        self.said_at = float("-inf")
        """While it drains, when it was said last that it is in use."""
        self.out: Final = out

    @property
    def is_ours(self) -> bool:
        return self.phase in (Phase.HELD, Phase.DRAINING)

    @property
    def is_busy(self) -> bool:
        """Does anything wait, here or elsewhere?"""
        return bool(self.waiting or self.takes) or self.phase in _UNDER_WAY

    def grant(self, lock: str, token: Token) -> None:
        self.waiting.pop(lock, None)
        self.locks[lock] = token
        self.out.append(Granted(self.box, lock, token))

    def grant_waiting(self, token: Token) -> None:
        """All that wait may go on."""
        for lock in list(self.waiting):
            self.grant(lock, token)

    def unlock(self, lock: str, now: float) -> None:
        """A LOCK ends, whether it waited or was granted."""
        self.waiting.pop(lock, None)
        if self.locks.pop(lock, None) is not None:
            self.serve(now)

    def want(self, want: Want, now: float) -> None:
        """Another node wants it, and has to wait here for its turn."""
        if all(other.node != want.node for other in self.takes):
            self.takes.append(want)
        self.serve(now)

    def hold(self, now: float, tenure_s: float) -> None:
        """It is ours and may be used."""
        self.move(TrackerTrigger.APPLIED)
        self.tenure_until = now + tenure_s
        self.needs = ()
        self.out.append(Arrived(self.box, self.token))
        self.grant_waiting(self.token)
        self.serve(now)

    def serve(self, now: float) -> None:
        """Let go, if somebody else waits and nothing holds it back."""
        if not self.is_ours or not self.takes:
            return
        if not self.locks:
            self._hand_over(now)
        elif self.phase is Phase.HELD and now >= self.tenure_until:
            self.move(TrackerTrigger.DRAIN)
            self.drains_since = self.said_at = now

    def say_in_use(self, token: Token) -> None:
        """To all who wait here for their turn: LOCKs are open under this token."""
        self.out.extend(StillUsed(self.box, want.node, token) for want in self.takes)

    def _hand_over(self, now: float) -> None:
        first, *rest = self.takes
        self.takes = []
        self.token = Token(self.token.epoch, self.token.term + 1)
        self.hint = first.node
        self.move(TrackerTrigger.HAND_OVER)
        self.out.append(HandOver(self.box, first.node, self.token))
        self.out.extend(AskFor(self.box, first.node, want.node, want.hops + 1) for want in rest)
        if self.waiting:
            self.move(TrackerTrigger.WANT)
            self.asked_at = now
            self.out.append(AskFor(self.box, first.node, self.name, 1))

    def expire(self, now: float, reason: Reason) -> None:
        """Refuse the LOCKs that waited long enough."""
        for lock in [lock for lock, until in self.waiting.items() if until <= now]:
            del self.waiting[lock]
            self.out.append(Refused(self.box, lock, reason))

    def move(self, trigger: TrackerTrigger) -> None:
        self._move(trigger)

    def _move(self, trigger: TrackerTrigger) -> None:
        self.phase = TRACKER.after(self.phase, trigger)
