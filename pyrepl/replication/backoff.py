"""How long a replica waits before it connects again: longer after each failure, and much longer where haste is harm.

Not here: when it connects (link_life.py). A snapshot that cannot be loaded costs the master a fork and the network its
size, and real servers ask for it again at once, some ten times a second; a command that cannot be applied comes
back with the next partial resync. Such causes get the slow row, and only lasting success makes us forget them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from pyrepl.replication.psync import Cause

STEADY_S: Final = 30.0
"""A link that was up so long has recovered: the next failure is the first again."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Waits for one kind of failure, in seconds: the n-th (from 1) is first_s * 2**(n-1), at most most_s."""

    first_s: float
    most_s: float


NETWORK: Final = Pace(0.5, 5.0)
FLOWING: Final = Pace(0.05, 5.0)
"""For a link that stood: while we wait the backlog moves on, and a missed partial resync costs a full one."""
COSTLY: Final = Pace(2.0, 120.0)
PACES: Final[dict[Cause, Pace]] = {
    Cause.LOAD_FAILED: COSTLY,
    Cause.APPLY_FAILED: COSTLY,
    Cause.PROTOCOL: COSTLY,
    Cause.SNAPSHOT_FAILED: COSTLY,
    Cause.REFUSED: Pace(1.0, 30.0),
}


@final
class Backoff:
    """Counts failures and names the next wait.

    `jitter()` is uniform in [0, 1): waits vary by a quarter to both sides, so that many replicas spread.
    Invariant: `failures` counts those since the link was last steady.
    """

    __slots__ = ("_costly", "_jitter", "failures")

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self.failures = 0
        self._costly = 0

    def next_wait_s(self, cause: Cause, up_for_s: float | None) -> float:
        """Seconds to wait after a failure; `up_for_s` is how long the stream had flowed, None if it had not.

        The first loss of a flowing link is retried at once, as Redis does.
        """
        if up_for_s is not None and up_for_s >= STEADY_S:
            self.reset()
        pace = PACES.get(cause, NETWORK)
        self.failures += 1
        if pace is COSTLY:
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
