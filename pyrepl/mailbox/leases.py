"""Leases: until when a node may act as a member of the majority, on its own monotonic clock.

Not here: who asks whom, and when (root.py).

A lease is counted from the *sending* of a question that was answered, so no delay lengthens it, however long. Clocks
may differ in rate by a tenth: the holder counts 0.9 of a lease, who waits for its end counts 1.1.

Why one root at a time is enough: a new root has the votes of a majority, and the old one's lease hangs on a majority as
well, so somebody is in both. Who has voted answers no question of the old epoch any more. So the old root's lease was
counted from a question that was sent before that vote, and is over one lease after it; and so is every lease that it
granted, as none of them is longer than its own.
"""

from __future__ import annotations

from typing import Final, final

RATE: Final = 0.1
"""By how much the rate of a clock may be wrong."""


@final
class RootLease:
    """The root's: the oldest of the newest answered questions of a majority, and the time that a lease lasts."""

    __slots__ = ("_answered", "_end", "_lasts_s", "_needed")

    def __init__(self, lease_s: float, needed: int) -> None:
        """`needed`: how many others have to have answered, so the majority less the root itself."""
        assert lease_s > 0 and needed >= 0
        self._lasts_s: Final = lease_s * (1 - RATE)
        self._needed: Final = needed
        self._answered: dict[str, float] = {}
        self._end = float("-inf")

    def answered(self, peer: str, sent_at: float) -> None:
        """`peer` answered what was asked at `sent_at`; an older one than it answered before means nothing."""
        self._answered[peer] = max(sent_at, self._answered.get(peer, sent_at))
        if 0 < self._needed <= len(self._answered):
            self._end = sorted(self._answered.values(), reverse=True)[self._needed - 1] + self._lasts_s

    def end(self, now: float) -> float:
        """When it is over, if nobody answers any more; before any majority answered, a time that is past."""
        return self._end if self._needed else now + self._lasts_s

    def forget(self) -> None:
        """A new epoch: what was answered in an older one does not count."""
        self._answered.clear()
        self._end = float("-inf")


@final
class MemberLease:
    """A member's: its own question that the root answered, and what is smaller: a lease, or what the root has left."""

    __slots__ = ("_lasts_s", "end")

    def __init__(self, lease_s: float) -> None:
        assert lease_s > 0
        self._lasts_s: Final = lease_s * (1 - RATE)
        self.end = float("-inf")

    def answered(self, sent_at: float, left_s: float) -> None:
        """The root answered what was asked at `sent_at`, and had `left_s` of its own lease then."""
        self.end = max(self.end, sent_at + min(self._lasts_s, left_s))

    def forget(self) -> None:
        """A new epoch, or none."""
        self.end = float("-inf")


def surely_over_s(lease_s: float) -> float:
    """How long to wait, by one's own clock, until a lease is over on any clock."""
    return lease_s * (1 + RATE)
