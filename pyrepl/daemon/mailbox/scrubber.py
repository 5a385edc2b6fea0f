"""Has texts read that the machine wants to compare with their checksums, by the user's worker, beside its rounds.

Not here: which texts, and how fast (pyrepl.mailbox.scrubbing), and the reading itself (maildir_store.py).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Container
from concurrent.futures import Future
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.node_store import NodeStore
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.scrubbing import ScrubOrder, TextRead


class _Done(NamedTuple):
    reads: tuple[TextRead, ...]
    took_s: float


@final
class Scrubber:
    """One order at a time. `tell` brings what was read into the machine's next round; `pace` is `mailbox-scrub`."""

    def __init__(
        self, workers: Workers, tell: Callable[[Callable[[Node, float], None]], None], pace: Callable[[], int]
    ) -> None:
        self._workers: Final = workers
        self._tell: Final = tell
        self._pace: Final = pace
        self._loop: Final = asyncio.get_running_loop()

    def look(self, node: Node, standing: Container[str], now: float) -> None:
        """In a round: is it time to read something? `standing`: users whose disk refuses."""
        order = node.scrubbing.order(self._pace(), standing, now)
        if order is not None:
            self._workers.run(order.user, lambda store: _read(store, order)).add_done_callback(
                lambda done: self._loop.call_soon_threadsafe(self._done, order, done)
            )

    def _done(self, order: ScrubOrder, done: Future[_Done]) -> None:
        """What failed there, fails in the round."""
        if not done.cancelled():
            self._tell(lambda node, now: node.scrubbing.done(order, *done.result(), now))


def _read(store: NodeStore, order: ScrubOrder) -> _Done:
    """In the worker. Only Maildirs are read again."""
    assert isinstance(store, MaildirStore)
    began = time.monotonic()
    return _Done(store.scrub(order), time.monotonic() - began)
