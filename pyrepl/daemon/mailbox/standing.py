"""Users whose disk refuses: their mailboxes stand still, and all others go on.

A work that the disk refuses is owed, and so is whatever follows for its user: the works are kept beside the rows, in
the transaction in which these are committed. So ops are acknowledged all the same: rows, works and texts are on disk,
only the Maildir lags. Owed works are tried again, in order, after a pause that doubles each time.

Not here: who tries them (owing.py, beside.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, final

from pyrepl.daemon.mailbox.owed_table import Owed
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.mailbox.store import Ended, Outcome, Result

RETRY_S: Final = 1.0
MOST_PAUSE_S: Final = 60.0


class Refused(Protocol):
    """Who is told."""

    def stopped(self, user: str, reason: str) -> None:
        """Nothing is written for a user any more; told again when the reason changes."""

    def resumed(self, user: str) -> None:
        """All that was owed is done."""


class Standing(NamedTuple):
    """A user whose mailboxes stand still. `is_compared`: were the rows compared with the Maildir since the start?"""

    reason: str
    is_compared: bool
    at: float
    pause_s: float


@final
class StandingUsers:
    """All of them. They are tried again from `at` on."""

    def __init__(self, rows: SqliteRows, hearers: Refused, now: Callable[[], float]) -> None:
        self._rows: Final = rows
        self._hearers: Final = hearers
        self._now: Final = now
        self.users: Final[dict[str, Standing]] = {}

    def begin(self, unread: dict[str, str]) -> None:
        """At a start. `unread`: user -> why the Maildir could not be compared with the rows."""
        for user, reason in unread.items():
            self.stop(user, reason, is_compared=False)
            self.users[user] = self.users[user]._replace(at=self._now())

    def due(self) -> list[tuple[str, Standing]]:
        """Those whose turn it is."""
        return [(user, standing) for user, standing in self.users.items() if self._now() >= standing.at]

    def stop(self, user: str, reason: str, *, is_compared: bool) -> None:
        before = self.users.get(user)
        pause_s = min(2 * before.pause_s, MOST_PAUSE_S) if before else RETRY_S
        self.users[user] = Standing(reason, is_compared, self._now() + pause_s, pause_s)
        if before is None or before.reason != reason:
            self._hearers.stopped(user, reason)

    def resume(self, user: str) -> None:
        del self.users[user]
        self._hearers.resumed(user)

    def tried(self, user: str, owed: Sequence[Owed], results: Sequence[Result], *, are_all: bool) -> list[Ended]:
        """How the first works ended that a user is owed, which were tried in order; what is done of them. `are_all`:
        nothing else was owed."""
        standing = self.users.get(user)
        failed = next((place for place, result in enumerate(results) if _is_refused(result)), len(owed))
        if failed:
            self._rows.drop_owed(user, owed[failed - 1].place)
        if failed < len(owed):
            self.stop(user, results[failed].reason, is_compared=standing is None or standing.is_compared)
        elif are_all and standing is not None and standing.is_compared:
            self.resume(user)
        return [Ended(each.work, result) for each, result in zip(owed[:failed], results, strict=False)]


def _is_refused(result: Result) -> bool:
    return result.outcome in (Outcome.FAILED, Outcome.NOT_THERE)
