"""Works that are done within the rounds, and owed to users whose disk refuses them (standing.py).

A user whose Maildir could not be read at the start is compared with it when all is done that is owed.

Where the disk of all Maildirs is missing or refuses, the round fails: that is no user's trouble, and the node closes
until the disk is back (disk_watch.py), so that the others do without it.

Not here: the works (maildir_store.py), rounds (driver.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.disk_watch import DiskRefuses
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.standing import StandingUsers
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.boxes import names
from pyrepl.mailbox.compare import FoundBox
from pyrepl.mailbox.folders import FolderOrder, FolderResult
from pyrepl.mailbox.gate_states import GateOrder, GateResult
from pyrepl.mailbox.store import Ended, Outcome, Result, StoredBox, Work

MOST_AT_ONCE: Final = 200
"""Owed works of a user that are tried at once."""


_ALL: Final = 2**31


class Looked(NamedTuple):
    """How orders ended."""

    gates: list[tuple[GateOrder, GateResult]]
    folders: list[tuple[FolderOrder, FolderResult]]


@final
class Owing:
    """All that is owed. Invariant: who owes works is among those who stand still."""

    def __init__(self, rows: SqliteRows, workers: Workers, standing: StandingUsers) -> None:
        self._rows: Final = rows
        self._workers: Final = workers
        self._standing: Final = standing

    async def perform(self, works: Sequence[Work]) -> list[Ended]:
        """Do works, in order; those that are done, and how each ended. The others are owed, and put as rows. Raises
        DiskRefuses."""
        owed = [work for work in works if work.user in self._standing.users]
        left = [work for work in works if work.user not in self._standing.users]
        results = await self._workers.perform(left)
        why = await self._workers.keep(owed) or next(
            (result.reason for result in results if result.outcome is Outcome.NOT_THERE), ""
        )
        if why:
            raise DiskRefuses(why)
        return self._sorted(left, results, owed)

    async def pay(self) -> list[Ended]:
        """Try what is owed, of users whose turn it is; what is done of it."""
        ended: list[Ended] = []
        for user, _ in self._standing.due():
            owed = self._rows.owed(user, MOST_AT_ONCE)
            results = await self._workers.try_again(user, [each.work for each in owed])
            ended += self._standing.tried(user, owed, results, are_all=len(owed) < MOST_AT_ONCE)
        return ended

    async def compared(self) -> dict[str, dict[str, StoredBox]]:
        """What there is of a user who owes nothing any more, and whose Maildir could not be read before. One at a time,
        as the round waits for it: a disk that is mounted late may bring hundreds."""
        for user, standing in self._standing.due():
            if not standing.is_compared and not self._rows.owed(user, 1):
                stored = await self._workers.stored(user, names(self._rows, user))
                if not isinstance(stored, str):
                    self._standing.resume(user)
                    return {user: stored}
                self._standing.stop(user, stored, is_compared=False)
        return {}

    async def look(self, orders: Sequence[GateOrder], listings: Sequence[FolderOrder]) -> Looked:
        """Do what gates and folders ask for; how each ended."""
        results = await self._workers.do_gates(orders) if orders else []
        lists = await self._workers.list_folders(listings) if listings else []
        told = [self._told(order, result) for order, result in zip(orders, results, strict=True)]
        return Looked(list(zip(orders, told, strict=True)), list(zip(listings, lists, strict=True)))

    def _told(self, order: GateOrder, result: GateResult) -> GateResult:
        """Of a user who stands still nothing is told of messages that works are owed about."""
        if result.found is None or order.user not in self._standing.users:
            return result
        works = (each.work for each in self._rows.owed(order.user, _ALL))
        owed = frozenset(work.__dict__["guid"] for work in works if work.box == order.box and "guid" in work.__dict__)
        return result._replace(found=without(result.found, owed))

    def committed(self) -> None:
        """Nothing waits for it: works are done before their rows are committed."""

    def next_deadline(self) -> float:
        return min((standing.at for standing in self._standing.users.values()), default=float("inf"))

    def stop(self) -> None:
        """Nothing is under way between two rounds."""

    def _sorted(self, works: list[Work], results: list[Result], owed: list[Work]) -> list[Ended]:
        ended: list[Ended] = []
        for work, result in zip(works, results, strict=True):
            if result.outcome is Outcome.FAILED and work.user not in self._standing.users:
                self._standing.stop(work.user, result.reason, is_compared=True)
            if work.user in self._standing.users:
                owed.append(work)
            else:
                ended.append(Ended(work, result))
        for work in owed:
            self._rows.put_owed(work)
        return ended


def without(found: FoundBox, untold: frozenset[str]) -> FoundBox:
    """Nothing is told of these messages."""
    if not untold:
        return found
    return found._replace(messages=tuple(each for each in found.messages if each.guid not in untold), untold=untold)
