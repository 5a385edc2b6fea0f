"""The loop around the machine of a node (pyrepl.mailbox.node): in comes what happens, out go works, rows and messages.

    0 tell the gates what was seen in mailboxes, do what they need, and tell the node what was found
    1 tell the node what has come meanwhile, and that time has passed
    2 do the works that follow, on disk
    3 commit the rows
    4 do the works that take away, and commit what follows from them
    5 let go what is said to members, mail processes and operators
    6 have a text read again, if it is time for one, and mailboxes aligned; what came of it is told as something that
      has come

All that comes while 2 to 4 wait for the disk is told in the next round, so under load one commit serves many. Nobody
is told of anything that a power cut could take back.

Works and looks of a store that may be slow are done beside the rounds (beside.py): 0 and 2 only let them begin, and
hear what has ended.

What the disk of one user refuses is owed (owing.py), and the others go on. Anything else that fails, as the disk of all
Maildirs, ends the round and is raised: what the node believes may not be what is on disk, so whoever runs it begins
again from there.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias, final

from pyrepl.daemon.mailbox.aligner import Aligner
from pyrepl.daemon.mailbox.beside import Beside
from pyrepl.daemon.mailbox.doveadm import Doveadm
from pyrepl.daemon.mailbox.lag import Lag
from pyrepl.daemon.mailbox.owing import Owing
from pyrepl.daemon.mailbox.scrubber import Scrubber
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.standing import Refused, Standing, StandingUsers
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.gate_states import Blind, GateWork, Seen
from pyrepl.mailbox.gates import Gates
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.sending import Counted, Notice, Reply, Send
from pyrepl.mailbox.store import Ended, Work
from pyrepl.mailbox.told import Row, told

LEAST_PAUSE_S: Final = 0.001
MOST_AT_ONCE: Final = 1000
"""Things that have come, told to the node in one round."""
TRIM_S: Final = 3600.0
"""How often rows of expunged messages are looked at that are old enough to be forgotten."""

Job: TypeAlias = Callable[[Node, float], None]
"""Tells the node that something has happened, at `now`."""
Watcher: TypeAlias = Callable[[], bool]
"""Looks at the node when a round is over, and what it changed is on disk. True if it has seen what it waited for."""


class Hearers(Refused, Protocol):
    """Who gets what the node says."""

    def send(self, send: Send) -> None: ...

    def reply(self, reply: Reply) -> None: ...

    def note(self, notice: Notice) -> None: ...

    def count(self, counted: Counter[Counted]) -> None: ...

    @property
    def listens(self) -> bool:
        """Are rows wanted?"""

    def told(self, row: Row) -> None:
        """An op was applied, as observers are told."""

    def unneeded(self, texts: Sequence[str]) -> None:
        """Texts that came and that nothing will take, by their names in the drop folder."""


class Watch(Protocol):
    """Who hears from the file system what happens in mailboxes that have a gate."""

    def take(self, ours: Sequence[str]) -> list[tuple[str, Seen]]:
        """What happened since it was asked last, by mailbox; who read the lock files of `ours`, was this process."""

    def take_users(self) -> list[str]:
        """Whose folders changed since it was asked last."""

    @property
    def unwatched(self) -> Blind:
        """Of which mailboxes and users the kernel tells nothing."""


@final
class Driver:
    """Drives one node. `rows` belong to it from now on."""

    def __init__(
        self,
        node: Node,
        rows: SqliteRows,
        workers: Workers | None,
        hearers: Hearers,
        now: Callable[[], float],
        tombstones_s: int,
        watch: Watch | None = None,
        scrub_pace: Callable[[], int] | None = None,
        doveadm: Doveadm | None = None,
        *,
        is_slow: bool = False,
    ) -> None:
        """`workers` None: a witness, which has no works. `watch`: with gates. `scrub_pace`: `mailbox-scrub` as it is
        now, of a store that is scrubbed. `doveadm`: of a node that aligns. `is_slow`: no round waits for the store."""
        self.node: Final = node
        self.lag: Final = Lag()
        self.rounds = 0
        self.rows: Final = rows
        self._workers: Final = workers
        self._standing: Final = StandingUsers(rows, hearers, now)
        self._owing: Final = None if workers is None else self._owing_by(workers, is_slow)
        self._hearers: Final = hearers
        self._now: Final = now
        self._tombstones_s: Final = tombstones_s
        self._first: deque[Job] = deque()
        self._jobs: deque[Job] = deque()
        self._watchers: list[Watcher] = []
        self._wake: Final = asyncio.Event()
        self._is_hurried = False
        self._watch: Final = watch
        self._scrubber: Final = (
            None if workers is None or scrub_pace is None else Scrubber(workers, self.tell, scrub_pace)
        )
        self._aligner: Final = None if workers is None or doveadm is None else Aligner(workers, self.tell, doveadm)
        self.is_settled = False
        """What a crash left is dealt with, so what gates find is Dovecot's."""
        self._trim_at = now()
        if hearers.listens:
            node.core.listened = []

    def _owing_by(self, workers: Workers, is_slow: bool) -> Owing | Beside:
        if is_slow:
            return Beside(self.rows, workers, self._standing, self.node.core.behind, self.wake)
        return Owing(self.rows, workers, self._standing)

    @property
    def standing(self) -> Mapping[str, Standing]:
        """Users whose disk refuses."""
        return self._standing.users

    def owed(self) -> dict[str, int]:
        """User -> how many works the disk has not taken. In a round."""
        return self.rows.owing()

    def begin(self, unread: dict[str, str]) -> None:
        """`unread`: user -> why the rows could not be compared with the Maildir at the start."""
        self._standing.begin(unread)

    def stop(self) -> None:
        """Nothing is begun any more beside the rounds."""
        if self._aligner is not None:
            self._aligner.stop()
        if self._owing is not None:
            self._owing.stop()

    def wait(self) -> None:
        """Until what was begun there has ended; the workers' threads are others'."""
        if self._aligner is not None:
            self._aligner.wait()

    def wake(self) -> None:
        """There is something to do, as the watch has seen."""
        self._wake.set()

    def tell(self, job: Job, *, first: bool = False) -> None:
        """Something has happened: the node hears of it in the next round. `first`: before all else that has."""
        (self._first if first else self._jobs).append(job)
        self._wake.set()

    def watch(self, watcher: Watcher) -> None:
        """Called at the end of this round, and of each that follows until it has seen what it waits for."""
        self._watchers.append(watcher)

    async def run(self) -> None:
        """Until it is cancelled, or something fails."""
        while True:
            await self.round()
            await self._wait()

    async def round(self) -> None:
        """One round, as above."""
        self.rounds += 1
        self._wake.clear()
        await self._do_gates()
        core = self.node.core
        if self._owing is not None:
            # As in `_do_gates`: what the round brings is in the rows before it is in the files.
            core.recover(await self._owing.compared())
        for jobs in (self._first, self._jobs):
            for _ in range(min(len(jobs), MOST_AT_ONCE)):
                jobs.popleft()(self.node, self._now())
        self.node.tick(self._now())
        self._trim()
        ended = [] if self._owing is None else await self._owing.pay()
        ended += await self._perform(core.works())
        core.ended(ended)
        await self._commit()
        removed = await self._perform(core.removals())
        if self.node.gates is not None and self.node.folders is not None:
            # A mailbox that is gone gives its mastership away.
            self.node.gates.worked(ended + removed, self._now())
            self.node.folders.worked(ended + removed, self._now())
        if self._owing is not None:
            await self._commit()
            self._owing.committed()
        if ended and self._workers is not None:
            self._workers.settle([each.work for each in ended])
        self._hearers.unneeded(core.unneeded())
        for send in core.sends():
            self._hearers.send(send)
        for reply in core.replies():
            self._hearers.reply(reply)
        for notice in core.notices():
            self._hearers.note(notice)
        for row in told(self.rows, core.take_listened()):
            self._hearers.told(row)
        self._hearers.count(core.counted())
        self.lag.note(core.causal.held.get(core.origin, 0), self._now())
        if self._scrubber is not None and self.is_settled:
            self._scrubber.look(self.node, self.standing, self._now())
        if self._aligner is not None and self.node.aligning is not None and self.is_settled:
            self._aligner.look(self.node.aligning, self._now())
        self._watchers = [watcher for watcher in self._watchers if not watcher()]

    async def _commit(self) -> None:
        if self.rows.is_dirty:
            await asyncio.get_running_loop().run_in_executor(None, self.rows.commit)

    async def _do_gates(self) -> None:
        """All works are done here, or known to be owed, so files and rows may be compared; nothing is told to the node
        meanwhile."""
        gates, folders = self.node.gates, self.node.folders
        if gates is None or folders is None or self._watch is None or self._owing is None or not self.is_settled:
            return
        gates.unwatched(self._watch.unwatched)
        for user in self._watch.take_users():
            folders.seen(user, self._now())
        self._tell_seen(gates, self._watch.take([]))
        orders, listings = gates.orders(self.standing, self._now()), folders.orders(self.standing, self._now())
        looked = await self._owing.look(orders, listings)
        shut = [order.box for order in orders if order.work is GateWork.SHUT]
        # Whoever tells of a delivery comes behind its mail; all else the watch tells when more of it is together.
        seen = self._watch.take(shut) if shut or self._first or self._jobs else []
        for order, result in looked.gates:
            gates.done(order, result, self._now())
        self._tell_seen(gates, seen)
        for listing, listed in looked.folders:
            folders.done(listing, listed, self._now())

    def _tell_seen(self, gates: Gates, seen: Sequence[tuple[str, Seen]]) -> None:
        for box, what in seen:
            gates.seen(box, what, self._now())

    async def _wait(self) -> None:
        """Until something happens, or time has passed that matters."""
        if self._first or self._jobs:
            return
        at = self.node.next_deadline(self._now())
        if self._owing is not None:
            at = min(at, self._owing.next_deadline())
        left = at - self._now()
        if left <= 0 and not self._is_hurried:
            # What a round left to be done is done at once; but a round that cannot do it is not begun again and again.
            self._is_hurried = True
            return
        self._is_hurried = False
        try:
            async with asyncio.timeout(max(left, LEAST_PAUSE_S) if left < TRIM_S else TRIM_S):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _perform(self, works: list[Work]) -> list[Ended]:
        if not works:
            return []
        assert self._owing is not None, "a witness has no works"
        return await self._owing.perform(works)

    def _trim(self) -> None:
        if self._now() >= self._trim_at:
            self._trim_at = self._now() + TRIM_S
            self.rows.trim_gone(self._tombstones_s)
