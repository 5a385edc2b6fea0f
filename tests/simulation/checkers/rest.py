"""What is due is done by a tick, and then is not due any more."""

from __future__ import annotations

from tests.simulation.checkers.broken import Broken

MOST = 5000
"""Looks in a row at which something is overdue; catching up in small slices is a few hundred."""


class RestWatch:
    """One node's deadlines."""

    def __init__(self) -> None:
        self._overdue = 0

    def check(self, who: str, deadline: float | None, now: float) -> None:
        """After everything was carried out: `deadline` is when the next tick is wanted."""
        self._overdue = self._overdue + 1 if deadline is not None and deadline <= now else 0
        if self._overdue > MOST:
            raise Broken(
                f"rest: {who} has had something overdue {MOST} times in a row, now by {now - (deadline or 0)} s"
            )
