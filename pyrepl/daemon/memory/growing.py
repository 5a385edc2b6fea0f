"""Tables of keys that are soon full made larger while others are served, instead of at once when they are.

How that is done, and why nobody sees anything of it, stands in `pyrepl.rdb.compiled.room`; here is when. A table that
fills faster than this can follow grows as any dictionary does, and so do all in the plain form.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.service import Service
from pyrepl.keyspace.database import Keyspace
from pyrepl.store.store import Growable, Growth

_AHEAD: Final = 20
"""Ticks within which a table must be full to be looked after, at the lower rate of the last two."""
_LEAST_TENTHS: Final = 6
"""Of it in use, before which it is left as it is, however fast it fills."""
_NEARLY_FULL: Final = 20
"""Once one part of so many is left, it is looked after whether it fills or not."""
_SLICE_S: Final = 0.001
_PAUSE_S: Final = 0.001
_STEP: Final = 2000
"""Keys between looks at the clock."""
_REST: Final = 2000
"""Keys that the last part may still have to find a place for."""


@final
class Growing(Service):
    """Looks after the tables of all databases, one at a time; but while a snapshot is loaded: it says how much room it
    needs."""

    def __init__(self, keyspace: Keyspace, is_loading: Callable[[], bool], clock: Clock) -> None:
        """`is_loading` tells whether a snapshot is being loaded."""
        self._keyspace = keyspace
        self._is_loading = is_loading
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._made: list[int] = [0] * (2 * len(keyspace.databases))
        """Entries of each table, as of the last tick."""
        self._gained: list[int] = [0] * len(self._made)
        """How many of them had come since the one before. A table that was loaded gains all of its entries once."""
        self._timer: asyncio.TimerHandle | None = None
        self._growing: Growable | None = None
        """The table that is looked after."""
        self._is_stopped = False

    def tick(self, now: float) -> None:
        """Begin what is to do."""
        if self._is_loading():
            return
        for place, table in enumerate(self._keyspace.growable()):
            made, left = table.filling()
            gained, self._made[place] = made - self._made[place], made
            before, self._gained[place] = self._gained[place], gained
            if (
                self._growing is None
                and not self._is_stopped
                and made
                and _is_soon_full(min(before, gained), made, left)
            ):
                self._begin(table, made + left)

    def next_deadline(self, now: float) -> float:
        return now

    def stop(self) -> None:
        """Begin and go on with nothing more; the process ends."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._growing = None
        self._is_stopped = True

    def _begin(self, table: Growable, entries: int) -> None:
        """Twice as many, unless half of the entries are of keys that are gone: to leave those behind is enough then."""
        size = table.size_for(entries if 2 * len(table) < entries else entries + 1)
        if not size:
            return
        try:
            room = table.room(size)
        except MemoryError:
            return
        self._growing = table
        made = self._loop.run_in_executor(None, room.make)
        made.add_done_callback(lambda _: self._step(table.growth(room)))

    def _step(self, growth: Growth) -> None:
        """One slice, and the next after a pause."""
        self._timer = None
        table = self._growing
        if table is None or table not in self._keyspace.growable():
            # Emptied or exchanged, or we have been stopped.
            self._growing = None
            return
        until = self._clock.now() + _SLICE_S
        while (left := growth.step(_STEP)) > _REST:
            if self._clock.now() >= until:
                self._timer = self._loop.call_later(_PAUSE_S, self._step, growth)
                return
        self._growing = None
        old = growth.finish() if left >= 0 else None
        if old is not None:
            self._loop.run_in_executor(None, old.give_back)


def _is_soon_full(gained: int, made: int, left: int) -> bool:
    entries = made + left
    if _NEARLY_FULL * left < entries:
        return True
    return 10 * made > _LEAST_TENTHS * entries and left < _AHEAD * gained
