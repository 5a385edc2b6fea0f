"""Folders that the kernel watches no more of (`fs.inotify.max_user_watches`): one after the other is looked at as if
something had happened there.

Not here: what is done then (pyrepl.mailbox.gates, pyrepl.mailbox.folders), and who watches (gate_watch.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, final


@final
class Unwatched:
    """Mailboxes, or users, by name. `add` and `remove` are called by threads, everything else in the loop.

    Invariant: while there is any, the timer runs; each has its turn before one has its second.
    """

    def __init__(self, every_s: float, wake: Callable[[], None]) -> None:
        """Each `every_s` seconds one has its turn; `wake` is called then."""
        self._every_s: Final = every_s
        self._wake: Final = wake
        self._names: Final[OrderedDict[str, None]] = OrderedDict()
        self._lock: Final = threading.Lock()
        self._turns: list[str] = []
        self._loop: Final = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(tuple(self._names))

    def add(self, name: str) -> None:
        """It is not watched; its turn is behind all that are here."""
        with self._lock:
            self._names.setdefault(name)
        self._loop.call_soon_threadsafe(self._start)

    def remove(self, name: str) -> None:
        """It is watched, or gone."""
        with self._lock:
            self._names.pop(name, None)

    def take(self) -> list[str]:
        """Whose turn came since it was asked last."""
        turns, self._turns = self._turns, []
        return turns

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _start(self) -> None:
        if self._timer is None and self._names:
            self._timer = self._loop.call_later(self._every_s, self._turn)

    def _turn(self) -> None:
        self._timer = None
        with self._lock:
            name = next(iter(self._names), None)
            if name is not None:
                self._names.move_to_end(name)
        if name is not None:
            self._turns.append(name)
            self._wake()
        self._start()
