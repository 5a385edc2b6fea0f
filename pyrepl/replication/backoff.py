"""How long a replica waits before it connects again: longer after each failure, much longer where haste does harm.

link_life.py asks for the wait after each failure, and connects when it is over.

A snapshot that cannot be loaded costs the master a fork, and the network the snapshot's size. Real servers ask for it
again at once, some ten times a second. A command that cannot be applied comes again
with the next partial resync. Such causes get the pace COSTLY, and only a link that stays up makes us forget them.

Not here: what the causes mean (psync.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from pyrepl.replication.psync import Cause

STEADY_S: Final = 30.0
"""A link whose stream has flowed for so long, inclusive, has recovered: the next failure counts as the first."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Waits for one kind of failure, in seconds: the n-th (from 1) is first_s * 2**(n-1), at most most_s."""

    first_s: float
    most_s: float


NETWORK: Final = Pace(0.5, 5.0)
"""For every cause that PACES does not name."""
FLOWING: Final = Pace(0.05, 5.0)
"""In place of NETWORK, for a link whose stream had flowed: while we wait the master's backlog moves on, and once it no
longer holds what we lack, a partial resync becomes a full one."""
COSTLY: Final = Pace(2.0, 120.0)
"""For failures that cost the master a snapshot, or come again in the same way."""
PACES: Final[dict[Cause, Pace]] = {
    Cause.LOAD_FAILED: COSTLY,
    Cause.APPLY_FAILED: COSTLY,
    Cause.PROTOCOL: COSTLY,
    Cause.SNAPSHOT_FAILED: COSTLY,
    Cause.REFUSED: Pace(1.0, 30.0),
}


@final
class Backoff:
    """Counts failures and says how long the next wait is.

    `jitter()` is uniform in [0, 1): waits vary by a quarter to both sides, so that the replicas of a master do not all
    come back at once. Invariant: `failures` counts the failures since the link was last up for STEADY_S, `_costly`
    those of the pace COSTLY among them.
    """

    __slots__ = ("_costly", "_jitter", "failures")

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self.failures = 0
        self._costly = 0

    def next_wait_s(self, cause: Cause, up_for_s: float | None) -> float:
        """Seconds to wait after a failure, 0 or more; `up_for_s` is how long the stream had flowed, None if it had not.

        After the first loss of a flowing link the wait is 0: Redis tries again at once too.
        """
        if up_for_s is not None and up_for_s >= STEADY_S:
            self.reset()
        pace = PACES.get(cause, NETWORK)
        self.failures += 1
        if pace is COSTLY:
            # Counted apart, so that lost connections before it do not make the first costly failure wait longer.
            self._costly += 1
            count = self._costly
        else:
            count = self.failures
        if pace is NETWORK and up_for_s is not None:
            if count == 1:
                return 0.0
            pace = FLOWING
        wait_s = min(pace.most_s, pace.first_s * 2.0 ** min(count - 1, 30))
        return wait_s * (0.75 + 0.5 * self._jitter())

    def reset(self) -> None:
        """Forget all failures: the link was steady, or an operator named a master."""
        self.failures = 0
        self._costly = 0
