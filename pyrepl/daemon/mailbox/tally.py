"""What is counted of mailboxes since the process started, however often what is kept was opened anew meanwhile."""

from __future__ import annotations

from collections import Counter
from typing import Final, final

from pyrepl.mailbox.sending import Counted


@final
class Tally:
    """`notices`: by name, as the machine tells them."""

    def __init__(self) -> None:
        self.notices: Final[Counter[str]] = Counter()
        self.counted: Final[Counter[Counted]] = Counter()
        self.ops_sent = 0
        self._apart_s = 0.0
        self._apart_at: float | None = None

    def apart(self, is_apart: bool, now: float) -> None:
        """The node is apart from now on, or is not."""
        self._apart_s += self.apart_for_s(now)
        self._apart_at = now if is_apart else None

    def apart_for_s(self, now: float) -> float:
        """For how long it is apart by now; 0 if it is not."""
        return 0.0 if self._apart_at is None else now - self._apart_at

    def apart_s(self, now: float) -> float:
        """How long it was apart, until now."""
        return self._apart_s + self.apart_for_s(now)
