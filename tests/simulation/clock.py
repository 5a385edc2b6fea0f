"""Virtual time: what is due is done in order, at once."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Clock:
    """A queue of (time, what to do); `now` only moves from one entry to the next."""

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Do it at `when`, or now if that has passed; in order of the calls among equals."""
        self._count += 1
        heapq.heappush(self._queue, (max(when, self.now), self._count, what))

    def after(self, delay: float, what: Callable[[], None]) -> None:
        self.at(self.now + delay, what)

    def run_until(self, end: float) -> None:
        while self._queue and self._queue[0][0] <= end:
            self.now, _, what = heapq.heappop(self._queue)
            what()
        self.now = end
