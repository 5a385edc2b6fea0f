"""Works and looks of a store that may be slow, as it asks a program for each: they are done beside the rounds, so that
a node answers the others, and keeps its lease, however long that takes.

A work is owed at once (standing.py): it is put in the transaction of its rows, and done when that is committed. So
there are works that the store has not done while it is compared with the rows, and rows change while it is looked at.
Of messages that are the matter of works which were owed when a look began, or are since, nothing is told; a listing of
folders counts for nothing if there were such works on the user's mailboxes themselves. It is looked again later.

Not here: the works (doveadm_store.py), and a store whose works are done within the rounds (owing.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, NamedTuple, TypeVar, final

from pyrepl.daemon.mailbox.disk_watch import DiskRefuses
from pyrepl.daemon.mailbox.owed_table import Owed
from pyrepl.daemon.mailbox.owing import Looked, without
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.standing import StandingUsers
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.boxes import names
from pyrepl.mailbox.folders import FolderOrder, FolderResult
from pyrepl.mailbox.gate_states import GateOrder, GateResult
from pyrepl.mailbox.store import Ended, RaiseNext, Result, StoredBox, Work

MOST_AT_ONCE: Final = 50
"""Works of a user that are done before what was asked for meanwhile."""

T = TypeVar("T")


class _Paying(NamedTuple):
    """Works that are under way. `are_all`: the user was owed nothing else when they began."""

    owed: list[Owed]
    are_all: bool
    task: asyncio.Task[list[Result]]


class _Comparing(NamedTuple):
    """A user's mailboxes are read; all works up to `mark` were done."""

    mark: int
    task: asyncio.Task[dict[str, StoredBox] | str]


class _Looking(NamedTuple):
    mark: int
    order: GateOrder
    task: asyncio.Task[list[GateResult]]


class _Listing(NamedTuple):
    mark: int
    order: FolderOrder
    task: asyncio.Task[list[FolderResult]]


@final
class Matters:
    """What works of one user are the matter of that were put since it was asked for, or were not done then. A mark is
    the place of the last work that was done."""

    def __init__(self) -> None:
        self.done = 0
        self._messages: Final[dict[tuple[str, str], int]] = {}
        """(mailbox, GUID) -> the place of the last work."""
        self._boxes = 0
        """The place of the last work on a mailbox itself."""

    def put(self, work: Work, place: int) -> None:
        guid = work.__dict__.get("guid")
        if guid is not None:
            self._messages[work.box, guid] = place
        elif not isinstance(work, RaiseNext):
            self._boxes = place

    def messages(self, box: str, mark: int) -> frozenset[str]:
        """Of this mailbox."""
        return frozenset(guid for (at, guid), place in self._messages.items() if at == box and place > mark)

    def has_boxes(self, mark: int) -> bool:
        return self._boxes > mark

    def forget(self, mark: int) -> None:
        """Nobody asks for what was before."""
        for key in [key for key, place in self._messages.items() if place <= mark]:
            del self._messages[key]


@final
class Beside:
    """All of them. Everything is called in the loop, and what it reads of the rows only within a round.

    Invariant: of one user's works a portion is under way at most.
    """

    def __init__(
        self,
        rows: SqliteRows,
        workers: Workers,
        standing: StandingUsers,
        behind: set[str],
        wake: Callable[[], None],
    ) -> None:
        """`behind` has from now on the users whose works are under way, but those who stand still; `wake` is called
        when something has ended."""
        self._rows: Final = rows
        self._workers: Final = workers
        self._standing: Final = standing
        self._behind: Final = behind
        self._wake: Final = wake
        self._due: Final = set(rows.owing())
        """Users who are owed works."""
        self._matters: Final[dict[str, Matters]] = {}
        self._paying: Final[dict[str, _Paying]] = {}
        self._comparing: Final[dict[str, _Comparing]] = {}
        self._looking: list[_Looking] = []
        self._listing: list[_Listing] = []

    # Works

    async def perform(self, works: Sequence[Work]) -> list[Ended]:
        """Have the texts of works on disk, and put the works as rows; none is done when this returns. Raises
        DiskRefuses."""
        why = await self._workers.keep(works)
        if why:
            raise DiskRefuses(why)
        for work in works:
            self._of(work.user).put(work, self._rows.put_owed(work))
            self._due.add(work.user)
            self._behind.add(work.user)
        return []

    async def pay(self) -> list[Ended]:
        """What was done since it was asked last, and how it ended."""
        ended: list[Ended] = []
        for user in [user for user, paying in self._paying.items() if paying.task.done()]:
            paying = self._paying.pop(user)
            done = self._standing.tried(user, paying.owed, paying.task.result(), are_all=paying.are_all)
            if done:
                self._of(user).done = paying.owed[len(done) - 1].place
            ended += done
        self._forget()
        return ended

    async def compared(self) -> dict[str, dict[str, StoredBox]]:
        """What was read since it was asked last of users whose mailboxes could not be read before."""
        found = {}
        for user in [user for user, comparing in self._comparing.items() if comparing.task.done()]:
            mark, task = self._comparing.pop(user)
            stored, matters = task.result(), self._of(user)
            if isinstance(stored, str):
                self._standing.stop(user, stored, is_compared=False)
            else:
                found[user] = {
                    guid: _without_messages(there, matters.messages(guid, mark)) for guid, there in stored.items()
                }
                self._standing.resume(user)
        return found

    def committed(self) -> None:
        """All that was put is on disk: let begin what can."""
        due = dict(self._standing.due())
        for user in sorted(self._due | due.keys()):
            if user in self._paying or user in self._comparing or (user in self._standing.users and user not in due):
                continue
            owed = self._rows.owed(user, MOST_AT_ONCE)
            if owed:
                works = [each.work for each in owed]
                task = self._begin(self._workers.try_again(user, works))
                self._paying[user] = _Paying(owed, len(owed) < MOST_AT_ONCE, task)
                continue
            self._due.discard(user)
            if user in due and not due[user].is_compared:
                reading = self._begin(self._workers.stored(user, names(self._rows, user)))
                self._comparing[user] = _Comparing(self._of(user).done, reading)
            elif user in due:
                self._standing.resume(user)
        caught_up = {user for user in self._behind if user not in self._due or user in self._standing.users}
        if caught_up:
            self._behind.difference_update(caught_up)
            self._wake()

    # Looks

    async def look(self, orders: Sequence[GateOrder], listings: Sequence[FolderOrder]) -> Looked:
        """Let these begin; those that ended since it was asked last."""
        for order in orders:
            task = self._begin(self._workers.do_gates([order]))
            self._looking.append(_Looking(self._of(order.user).done, order, task))
        for listing in listings:
            asked = self._begin(self._workers.list_folders([listing]))
            self._listing.append(_Listing(self._of(listing.user).done, listing, asked))
        looked = [each for each in self._looking if each.task.done()]
        listed = [each for each in self._listing if each.task.done()]
        self._looking = [each for each in self._looking if each not in looked]
        self._listing = [each for each in self._listing if each not in listed]
        return Looked(
            [(each.order, self._looked(each)) for each in looked], [(each.order, self._listed(each)) for each in listed]
        )

    def next_deadline(self) -> float:
        """Of users who stand still; who is tried at this moment has none."""
        busy = self._paying.keys() | self._comparing.keys()
        return min((each.at for user, each in self._standing.users.items() if user not in busy), default=float("inf"))

    def stop(self) -> None:
        """What is under way ends, and is not told."""
        under_way: list[asyncio.Task[Any]] = [
            *(each.task for each in self._paying.values()),
            *(each.task for each in self._comparing.values()),
            *(each.task for each in self._looking),
            *(each.task for each in self._listing),
        ]
        for task in under_way:
            task.cancel()

    # Inside

    def _of(self, user: str) -> Matters:
        return self._matters.setdefault(user, Matters())

    def _begin(self, what: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(what)
        task.add_done_callback(lambda _: self._wake())
        return task

    def _looked(self, looking: _Looking) -> GateResult:
        [result], matters = looking.task.result(), self._of(looking.order.user)
        if result.found is None:
            return result
        return GateResult(without(result.found, matters.messages(looking.order.box, looking.mark)))

    def _listed(self, listing: _Listing) -> FolderResult:
        [result] = listing.task.result()
        is_old = result.found is not None and self._of(listing.order.user).has_boxes(listing.mark)
        return FolderResult(is_busy=True) if is_old else result

    def _forget(self) -> None:
        """What works that are done were about is asked for by those alone who began before."""
        marks = {user: matters.done for user, matters in self._matters.items()}
        begun = [
            *((each.order.user, each.mark) for each in self._looking),
            *((each.order.user, each.mark) for each in self._listing),
            *((user, each.mark) for user, each in self._comparing.items()),
        ]
        for user, mark in begun:
            marks[user] = min(marks[user], mark)
        looked_at = {user for user, _ in begun}
        for user, mark in marks.items():
            self._matters[user].forget(mark)
            if user not in self._due and user not in looked_at:
                del self._matters[user]


def _without_messages(there: StoredBox, untold: frozenset[str]) -> StoredBox:
    return there._replace(messages={guid: has for guid, has in there.messages.items() if guid not in untold})
