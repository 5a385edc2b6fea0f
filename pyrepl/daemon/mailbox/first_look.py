"""How long a Dovecot has to wait for this node's start: until each gate was shut once, as before that it may give out
UIDs that another node gives out too.

It is not waited for ever, as the disk of one user may refuse: when no further gate was shut for PATIENCE_S after the
Maildirs were compared, or could not be, the Dovecot may start all the same, and that is told.

Not here: who is told (pyrepl.daemon.supervision), and the gates (pyrepl.mailbox.gates).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

PATIENCE_S: Final = 20.0


@final
class FirstLook:
    """The one of a process: once it is over, it stays so."""

    def __init__(self, given_up: Callable[[float, str], None]) -> None:
        """`given_up` is told after how many seconds, and what was not done."""
        self._given_up: Final = given_up
        self._is_over = False
        self._left: int | None = None
        """The least number of gates that were not shut; None as long as nobody knows."""
        self._until = float("inf")

    def failed(self, now: float) -> None:
        """What is kept failed, or cannot be opened, and is tried again."""
        self._until = min(self._until, now + PATIENCE_S)

    def why_not(self, left: int | None, now: float) -> str:
        """What a Dovecot has to wait for, "" if for nothing. `left`: how many gates were not shut yet; None while
        Maildirs are compared, or nothing is open."""
        if self._is_over:
            return ""
        if left is not None and (self._left is None or left < self._left):
            self._left, self._until = left, now + PATIENCE_S
        why = "Maildirs are compared" if left is None else f"{left} gates are being shut" if left else ""
        self._is_over = not why or now >= self._until
        if why and self._is_over:
            self._given_up(PATIENCE_S, why)
        return "" if self._is_over else f"{why}, and Dovecot waits for that"
