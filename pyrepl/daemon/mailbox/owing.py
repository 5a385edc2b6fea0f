"""Users whose disk refuses: their mailboxes stand still, and all others go on.

A work that the disk refuses is owed, and so is whatever follows for its user: the works are kept beside the rows, in
the transaction in which these are committed. So ops are acknowledged all the same: rows, works and texts are on disk,
only the Maildir lags. Owed works are tried again, in order, after a pause that doubles each time. A user whose
Maildir could not be read at the start is compared with it when all is done that is owed.

Where the disk of all Maildirs is missing or refuses, nothing goes on before it is back: that is no user's trouble, and
the other nodes see one that says nothing, and do without it.

Not here: the works (maildir_store.py), rounds (driver.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, final

from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.store import Ended, Outcome, Result, StoredBox, Work

RETRY_S: Final = 1.0
MOST_PAUSE_S: Final = 60.0
MOST_AT_ONCE: Final = 200
"""Owed works of a user that are tried at once."""


class Refused(Protocol):
    """Who is told."""

    def refused(self, reason: str) -> None:
        """The disk of all Maildirs refuses; told once for each time that it is tried."""

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
class Owing:
    """All that is owed. Invariant: who owes works is among `standing`."""

    def __init__(self, rows: SqliteRows, workers: Workers, hearers: Refused, now: Callable[[], float]) -> None:
        self._rows: Final = rows
        self._workers: Final = workers
        self._hearers: Final = hearers
        self._now: Final = now
        self.standing: Final[dict[str, Standing]] = {}

    def begin(self, unread: dict[str, str]) -> None:
        """At a start. `unread`: user -> why the Maildir could not be compared with the rows."""
        for user, reason in unread.items():
            self._stop(user, reason, is_compared=False)
            self.standing[user] = self.standing[user]._replace(at=self._now())

    async def perform(self, works: Sequence[Work]) -> list[Ended]:
        """Do works, in order; those that are done, and how each ended. The others are owed, and put as rows."""
        owed = [work for work in works if work.user in self.standing]
        left = [work for work in works if work.user not in self.standing]
        while left or owed:
            results = await self._workers.perform(left)
            why = await self._workers.keep(owed) or next(
                (result.reason for result in results if result.outcome is Outcome.NOT_THERE), ""
            )
            if not why:
                return self._sorted(left, results, owed)
            self._hearers.refused(why)
            await asyncio.sleep(RETRY_S)
        return []

    async def pay(self) -> list[Ended]:
        """Try what is owed, of users whose turn it is; what is done of it."""
        ended: list[Ended] = []
        for user, standing in list(self.standing.items()):
            if self._now() >= standing.at:
                ended += await self._pay(user, standing)
        return ended

    def next_deadline(self) -> float:
        return min((standing.at for standing in self.standing.values()), default=float("inf"))

    async def compared(self) -> dict[str, dict[str, StoredBox]]:
        """What there is of users who owe nothing any more, and whose Maildirs could not be read before."""
        found = {}
        for user, standing in list(self.standing.items()):
            if not standing.is_compared and self._now() >= standing.at and not self._rows.owed(user, 1):
                stored = await self._workers.stored(user)
                if isinstance(stored, str):
                    self._stop(user, stored, is_compared=False)
                else:
                    found[user] = stored
                    self._resume(user)
        return found

    # Inside

    def _sorted(self, works: list[Work], results: list[Result], owed: list[Work]) -> list[Ended]:
        ended: list[Ended] = []
        for work, result in zip(works, results, strict=True):
            if result.outcome is Outcome.FAILED and work.user not in self.standing:
                self._stop(work.user, result.reason, is_compared=True)
            if work.user in self.standing:
                owed.append(work)
            else:
                ended.append(Ended(work, result))
        for work in owed:
            self._rows.put_owed(work)
        return ended

    async def _pay(self, user: str, standing: Standing) -> list[Ended]:
        owed = self._rows.owed(user, MOST_AT_ONCE)
        results = await self._workers.try_again(user, [each.work for each in owed])
        done = list(zip(owed, results, strict=True))
        failed = next((place for place, (_, result) in enumerate(done) if _is_refused(result)), len(done))
        if failed:
            self._rows.drop_owed(user, owed[failed - 1].place)
        if failed < len(done):
            self._stop(user, results[failed].reason, is_compared=standing.is_compared)
        elif len(owed) < MOST_AT_ONCE and standing.is_compared:
            self._resume(user)
        return [Ended(each.work, result) for each, result in done[:failed]]

    def _stop(self, user: str, reason: str, *, is_compared: bool) -> None:
        before = self.standing.get(user)
        pause_s = min(2 * before.pause_s, MOST_PAUSE_S) if before else RETRY_S
        self.standing[user] = Standing(reason, is_compared, self._now() + pause_s, pause_s)
        if before is None or before.reason != reason:
            self._hearers.stopped(user, reason)

    def _resume(self, user: str) -> None:
        del self.standing[user]
        self._hearers.resumed(user)


def _is_refused(result: Result) -> bool:
    return result.outcome in (Outcome.FAILED, Outcome.NOT_THERE)
