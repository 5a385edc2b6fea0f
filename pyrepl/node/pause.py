"""CLIENT PAUSE, and the pauses of a failover and a shutdown: until when which commands wait.

The daemon holds the paused clients; this only decides. Each purpose pauses by itself: CLIENT UNPAUSE does not let
writes into a failover, nor does a failover's end cut short what an operator asked for (Redis 7.0 `pause_purpose`).
"""

from __future__ import annotations

import enum
from typing import Final, final

from pyrepl.node.conditions import Condition, Conditions

FOREVER_MS: Final = 1 << 62


class Holder(enum.Enum):
    """Who holds writes for as long as it takes."""

    FAILOVER = "failover"
    SHUTDOWN = "shutdown"


@final
class Pause:
    """A pause of all commands or of writes alone, until a Unix time in ms (exclusive); and of writes, by holders.

    Invariant: the condition PAUSED holds from the beginning of the first pause to the end of the last. One that ends by
    time alone has ended when the daemon calls `end` for it.
    """

    __slots__ = ("_conditions", "_holders", "all_until_ms", "write_until_ms")

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self.all_until_ms = 0
        self.write_until_ms = 0
        self._holders: set[Holder] = set()

    def hold_writes(self, holder: Holder) -> None:
        """Writes wait until this holder lets them go."""
        self._holders.add(holder)
        self._tell()

    def let_go(self, holder: Holder) -> None:
        """The holder needs no pause any more. Harmless if it had none."""
        self._holders.discard(holder)
        self._tell()

    def begin(self, until_ms: int, *, writes_only: bool) -> None:
        """Redis's rule: a later end wins, and a pause of everything is never weakened by one of writes."""
        if writes_only:
            self.write_until_ms = max(self.write_until_ms, until_ms)
        else:
            self.all_until_ms = max(self.all_until_ms, until_ms)
        self._tell()

    def end(self) -> None:
        """End what CLIENT PAUSE began."""
        self.all_until_ms = self.write_until_ms = 0
        self._tell()

    def until_ms(self) -> int:
        """When the last of the pauses ends; 0 when there is none."""
        return FOREVER_MS if self._holders else max(self.all_until_ms, self.write_until_ms)

    def next_end_ms(self, now_ms: int) -> int | None:
        """When the next of CLIENT PAUSE's two ends comes; None if both are over, or were never begun."""
        return min((end for end in (self.all_until_ms, self.write_until_ms) if end > now_ms), default=None)

    def holds(self, now_ms: int, *, may_write: bool) -> bool:
        """Must a command wait now?"""
        if now_ms < self.all_until_ms:
            return True
        return may_write and (bool(self._holders) or now_ms < self.write_until_ms)

    def _tell(self) -> None:
        self._conditions.note(Condition.PAUSED, self.until_ms() > 0)
