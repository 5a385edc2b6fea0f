"""The loop around the machine of a node (pyrepl.mailbox.node): in comes what happens, out go works, rows and messages.

    1 tell the node what has come meanwhile, and that time has passed
    2 do the works that follow, on disk
    3 commit the rows
    4 do the works that take away
    5 let go what is said to members and mail processes

All that comes while 2 to 4 wait for the disk is told in the next round, so under load one commit serves many. Nobody
is told of anything that a power cut could take back.

A disk that refuses a work is asked again each second, and nothing goes on before it takes it: the other nodes see one
that says nothing, and do without it. Anything else that fails ends the round and is raised: what the node believes may
not be what is on disk, so whoever runs it begins again from there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias, final

from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.sending import Notice, Reply, Send
from pyrepl.mailbox.store import Outcome, Result, Work

RETRY_S: Final = 1.0
MOST_AT_ONCE: Final = 1000
"""Things that have come, told to the node in one round."""
TRIM_S: Final = 3600.0
"""How often rows of expunged messages are looked at that are old enough to be forgotten."""

Job: TypeAlias = Callable[[Node, float], None]
"""Tells the node that something has happened, at `now`."""


class Hearers(Protocol):
    """Who gets what the node says."""

    def send(self, send: Send) -> None: ...

    def reply(self, reply: Reply) -> None: ...

    def note(self, notice: Notice) -> None: ...

    def unneeded(self, texts: Sequence[str]) -> None:
        """Texts that came and that nothing will take, by their names in the drop folder."""

    def refused(self, work: Work, result: Result) -> None:
        """The disk did not take a work; it is told once for each time that it is tried."""


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
    ) -> None:
        """`workers` None: a witness, which has no works."""
        self.node: Final = node
        self.rounds = 0
        self._rows: Final = rows
        self._workers: Final = workers
        self._hearers: Final = hearers
        self._now: Final = now
        self._tombstones_s: Final = tombstones_s
        self._jobs: deque[Job] = deque()
        self._wake: Final = asyncio.Event()
        self._trim_at = now()

    def tell(self, job: Job) -> None:
        """Something has happened: the node hears of it in the next round."""
        self._jobs.append(job)
        self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled, or something fails."""
        while True:
            await self.round()
            await self._wait()

    async def round(self) -> None:
        """One round, as above."""
        self.rounds += 1
        self._wake.clear()
        for _ in range(min(len(self._jobs), MOST_AT_ONCE)):
            self._jobs.popleft()(self.node, self._now())
        self.node.tick(self._now())
        self._trim()
        core = self.node.core
        works = core.works()
        core.ended(works, await self._perform(works))
        if self._rows.is_dirty:
            await asyncio.get_running_loop().run_in_executor(None, self._rows.commit)
        await self._perform(core.removals())
        if works and self._workers is not None:
            self._workers.settle(works)
        self._hearers.unneeded(core.unneeded())
        for send in core.sends():
            self._hearers.send(send)
        for reply in core.replies():
            self._hearers.reply(reply)
        for notice in core.notices():
            self._hearers.note(notice)

    async def _wait(self) -> None:
        """Until something happens, or time has passed that matters."""
        if self._jobs:
            return
        left = self.node.next_deadline(self._now()) - self._now()
        try:
            async with asyncio.timeout(max(left, 0.001) if left < TRIM_S else TRIM_S):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _perform(self, works: list[Work]) -> list[Result]:
        """All of them, in order; those that the disk refuses are tried until it does not."""
        ended: dict[int, Result] = {}
        left = list(range(len(works)))
        while left:
            assert self._workers is not None
            results = await self._workers.perform([works[index] for index in left])
            ended |= dict(zip(left, results, strict=True))
            for index in left:
                if ended[index].outcome in (Outcome.FAILED, Outcome.NO_TEXT):
                    self._hearers.refused(works[index], ended[index])
            left = [index for index in left if ended[index].outcome is Outcome.FAILED]
            if left:
                await asyncio.sleep(RETRY_S)
        return [ended[index] for index in range(len(works))]

    def _trim(self) -> None:
        if self._now() >= self._trim_at:
            self._trim_at = self._now() + TRIM_S
            self._rows.trim_gone(self._tombstones_s)
