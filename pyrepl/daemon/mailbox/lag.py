"""For how long other members have lacked what was done here: when each op of this node was made, roughly.

Not here: what members have (their vectors, in pyrepl.mailbox.core).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

MOST_NOTED: Final = 2048


@final
class Lag:
    """Invariants: `_seqs` and `_made_at` ascend and are equally long, at most MOST_NOTED."""

    def __init__(self) -> None:
        self._seqs: list[int] = []
        self._made_at: list[float] = []

    def note(self, seq: int, now: float) -> None:
        """Our ops up to `seq` are made by now."""
        if self._seqs and seq <= self._seqs[-1]:
            return
        self._seqs.append(seq)
        self._made_at.append(now)
        if len(self._seqs) > MOST_NOTED:
            # The first stays: it says how old the oldest is.
            del self._seqs[1:-1:2], self._made_at[1:-1:2]

    def lag_s(self, held: int, now: float) -> float:
        """How old the oldest op is behind `held`, as far as this run knows; 0 if there is none."""
        place = bisect_right(self._seqs, held)
        return now - self._made_at[place] if place < len(self._seqs) else 0.0
