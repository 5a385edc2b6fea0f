"""Has mailboxes brought in line for users who are about to log in, beside the machine's rounds.

In threads of its own: doveadm waits for the lock of a mailbox as every Dovecot does, and the user's worker opens the
gate meanwhile.

Not here: which mailboxes, and what for (pyrepl.mailbox.aligning), and how (doveadm.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, final

from pyrepl.daemon.mailbox.doveadm import Doveadm
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError
from pyrepl.daemon.mailbox.maildir_store import TROUBLE, MaildirStore
from pyrepl.daemon.mailbox.node_store import NodeStore
from pyrepl.daemon.mailbox.results import failed
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.aligning import Aligning, AlignOrder
from pyrepl.mailbox.node import Node

THREADS: Final = 4


@final
class Aligner:
    """`tell` brings what was done into the machine's next round."""

    def __init__(
        self,
        workers: Workers,
        tell: Callable[[Callable[[Node, float], None]], None],
        doveadm: Doveadm,
    ) -> None:
        self._workers: Final = workers
        self._tell: Final = tell
        self._doveadm: Final = doveadm
        self._threads: Final = ThreadPoolExecutor(THREADS, thread_name_prefix="mailbox-align")
        self._loop: Final = asyncio.get_running_loop()
        self._done: list[AlignOrder] = []
        """What was done in this round."""

    def look(self, aligning: Aligning, now: float) -> None:
        """At the end of a round, when all is committed: let begin what is to be done."""
        done, self._done = self._done, []
        for order in done:
            self._workers.run(order.user, partial(_end, order))
        for order in aligning.orders(now):
            self._threads.submit(self._align, order).add_done_callback(partial(self._ended_there, order))

    def stop(self) -> None:
        """What is under way ends; nothing else is begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def wait(self) -> None:
        """Until that has ended."""
        self._threads.shutdown(wait=True)

    def _align(self, order: AlignOrder) -> str:
        """In a thread of its own: why it failed, "" if it did not."""
        if not order.messages:
            return ""
        try:
            self._workers.run(order.user, partial(_begin, order)).result()
            self._doveadm.align(order)
        except DoveadmError as error:
            return str(error)
        except TROUBLE as error:
            return failed(error).reason
        return ""

    def _ended_there(self, order: AlignOrder, done: Future[str]) -> None:
        self._loop.call_soon_threadsafe(self._ended, order, done)

    def _ended(self, order: AlignOrder, done: Future[str]) -> None:
        """What failed in another way than the disk and doveadm do, fails in the round."""
        if not done.cancelled():
            self._tell(lambda node, now: self._end(node, order, done.result()))

    def _end(self, node: Node, order: AlignOrder, why: str) -> None:
        assert node.aligning is not None
        if not why:
            self._done.append(order)
        node.aligning.done(order, why)


def _begin(order: AlignOrder, store: NodeStore) -> None:
    """In the user's worker. Only beside gates, which Maildirs have, modseqs are brought in line."""
    assert isinstance(store, MaildirStore)
    store.begin_align(order)


def _end(order: AlignOrder, store: NodeStore) -> None:
    assert isinstance(store, MaildirStore)
    store.end_align(order)
