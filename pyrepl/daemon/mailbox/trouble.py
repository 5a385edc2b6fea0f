"""Why a node does nothing to its mailboxes now, and since when.

It is told in the log when it begins, when the reason changes, each minute, and when it is over.

Not here: what comes of it (server.py), and users whose mailboxes stand still (standing.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pyrepl.observability.telling.mailboxes import MailboxTeller

TOLD_EVERY_S: Final = 60.0


@final
class Trouble:
    """It is open, and then `why` is ""; or it is tried again and again to open it."""

    def __init__(self, teller: MailboxTeller, now: Callable[[], float]) -> None:
        self._teller: Final = teller
        self._now: Final = now
        self.why = ""
        self._since = 0.0
        self._told_at = 0.0

    @property
    def for_s(self) -> float:
        """How long it has lasted."""
        return self._now() - self._since if self.why else 0.0

    def disk_refuses(self, why: str) -> None:
        """The disk of all Maildirs refuses."""
        if self._is_news(why):
            self._teller.refused(why)

    def cannot_open(self, why: str) -> None:
        """What is kept cannot be opened again."""
        if self._is_news(why):
            self._teller.begun_again(why)

    def over(self) -> None:
        """All is open."""
        if self.why:
            self._teller.kept_again(self.why, self.for_s)
            self.why = ""

    def _is_news(self, why: str) -> bool:
        """Is it to be told? Remembered as the reason from now on."""
        now = self._now()
        if not self.why:
            self._since = now
        is_news = why != self.why or now >= self._told_at + TOLD_EVERY_S
        self.why = why
        if is_news:
            self._told_at = now
        return is_news
