"""CLIENT PAUSE, and the pauses of a failover and a shutdown: decides which commands wait, and until when.

The daemon holds the paused clients. Each purpose has a pause of its own: CLIENT UNPAUSE does not end the pause of a
failover, and the end of a failover does not end the pause of an operator (Redis 7.0 `pause_purpose`).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.node.conditions import Condition, Conditions
from pyrepl.replication.role import Holder

FOREVER_MS: Final = 1 << 62


@final
class Pause:
    """The pauses of a node: of all commands and of writes alone, until a Unix time in ms (exclusive); and of writes, by
    holders.

    Invariant: the condition PAUSED holds from the beginning of the first pause to the end of the last one. When the
    time of a pause is over, the condition holds on until the daemon calls `end`.
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
        """CLIENT PAUSE until the Unix time `until_ms`. Redis's rule: of two pauses the later end counts, and a pause of
        all commands is not weakened by a pause of writes."""
        if writes_only:
            self.write_until_ms = max(self.write_until_ms, until_ms)
        else:
            self.all_until_ms = max(self.all_until_ms, until_ms)
        self._tell()

    def end(self) -> None:
        """End the pauses that CLIENT PAUSE began; those of holders stay."""
        self.all_until_ms = self.write_until_ms = 0
        self._tell()

    def until_ms(self) -> int:
        """When the last of the pauses ends, in Unix ms: 0 when there is none, FOREVER_MS while a holder has one."""
        return FOREVER_MS if self._holders else max(self.all_until_ms, self.write_until_ms)

    def next_end_ms(self, now_ms: int) -> int | None:
        """When the next pause of CLIENT PAUSE ends, of all commands or of writes, in Unix ms; None if neither lasts."""
        return min((end for end in (self.all_until_ms, self.write_until_ms) if end > now_ms), default=None)

    def holds(self, now_ms: int, *, may_write: bool) -> bool:
        """Must a command wait at `now_ms` (Unix)? `may_write`: the command may change something."""
        if now_ms < self.all_until_ms:
            return True
        return may_write and (bool(self._holders) or now_ms < self.write_until_ms)

    def _tell(self) -> None:
        self._conditions.note(Condition.PAUSED, self.until_ms() > 0)
