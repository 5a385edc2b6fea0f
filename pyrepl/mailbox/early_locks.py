"""LOCKs that come too early: where sides that were apart have met again, and not all has come yet.

When messages come that were saved apart, or under a master of an older epoch, the next UID of their mailbox is one of
those that others give out, and whoever gives out UIDs goes on above these. But the messages may come one portion after
the other, and of those that come behind such a UID each has to get another. So a LOCK of such a mailbox waits until all
is applied that linked members had, for PATIENCE_S at most.

Not here: the blocks (uids.py), and who gets a LOCK that does not wait any more (tracker.py).
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.words import Dot, Vector

PATIENCE_S: Final = 3.0
"""Of a member that has lost its link again, nothing comes."""


class Early(NamedTuple):
    """One that waits, and its own patience: until when it may."""

    box: str
    lock: str
    until: float


class _Awaited(NamedTuple):
    """What is to be applied before a mailbox's LOCKs are tried, and until when that is waited for."""

    until: float
    dots: Vector


@final
class EarlyLocks:
    """All mailboxes'. Time is monotonic seconds.

    Invariant: a mailbox with a LOCK that waits has something that is awaited.
    """

    def __init__(self, core: Core) -> None:
        self._core: Final = core
        self._locks: Final[dict[str, Early]] = {}
        self._awaited: Final[dict[str, _Awaited]] = {}

    def keep(self, early: Early, now: float) -> bool:
        """Has this LOCK to wait? It is kept here then. To be asked where the next UID is one that others give
        out."""
        awaited = self._awaited.get(early.box)
        if awaited is None or now >= awaited.until + PATIENCE_S:
            # What was awaited long ago, by LOCKs that have ended since, says nothing of what is to come now.
            awaited = self._all_told(now)
        if self._has_come(awaited, now):
            if all(other.box != early.box for other in self._locks.values()):
                self._awaited.pop(early.box, None)
            return False
        self._awaited[early.box] = awaited
        self._locks[early.lock] = early
        return True

    def drop(self, lock: str) -> None:
        """It has ended, whether it waited or not."""
        self._locks.pop(lock, None)

    def due(self, now: float) -> list[Early]:
        """Those that need not wait any more, in their order; they are not kept from now on."""
        if not self._locks:
            return []
        come = {box for box, awaited in self._awaited.items() if self._has_come(awaited, now)}
        for box in come:
            del self._awaited[box]
        found = [early for early in self._locks.values() if early.box in come or early.until <= now]
        for early in found:
            del self._locks[early.lock]
        return found

    def next_deadline(self) -> float:
        """Infinity if nothing waits."""
        if not self._locks:
            return float("inf")
        return min(min(early.until, self._awaited[early.box].until) for early in self._locks.values())

    def _all_told(self, now: float) -> _Awaited:
        told: dict[str, int] = {}
        for peer in self._core.peers.values():
            for origin, seq in peer.held.items() if peer.is_up else ():
                told[origin] = max(seq, told.get(origin, 0))
        return _Awaited(now + PATIENCE_S, tuple(Dot(*dot) for dot in told.items()))

    def _has_come(self, awaited: _Awaited, now: float) -> bool:
        held = self._core.causal.held
        return now >= awaited.until or all(held.get(origin, 0) >= seq for origin, seq in awaited.dots)
