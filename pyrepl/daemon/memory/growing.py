"""Makes tables of keys larger before they are full, step by step, so that no client waits while a large table moves.

This module decides when; `pyrepl.rdb.compiled.room` says how it is done, and why commands notice nothing. A table that
fills faster than this can follow grows at once, as any dictionary does, and so do all tables in the plain form.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.memory.slice_timer import SliceTimer
from pyrepl.daemon.service import Service
from pyrepl.keyspace.database import Keyspace
from pyrepl.store.store import Growable, Growth

_AHEAD: Final = 20
"""A table is made larger if it will be full within so many ticks, at the lower rate of the last two ticks."""
_LEAST_TENTHS: Final = 6
"""A table with fewer tenths in use is left as it is, however fast it fills."""
_NEARLY_FULL: Final = 20
"""A table of which less than one part of so many is left is made larger whether it fills or not."""
_SLICE_S: Final = 0.001
_PAUSE_S: Final = 0.001
_STEP: Final = 2000
"""Keys moved between two looks at the clock."""
_REST: Final = 2000
"""The last step may still move so many keys."""


@final
class Growing(Service):
    """Grows the tables of all databases, one at a time. Not while a snapshot is loaded: the load knows how large tables
    will be, and makes room itself (`rooms`)."""

    def __init__(self, keyspace: Keyspace, is_loading: Callable[[], bool], clock: Clock) -> None:
        """`is_loading` returns whether a snapshot is being loaded."""
        self._keyspace = keyspace
        self._is_loading = is_loading
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._made: list[int] = [0] * (2 * len(keyspace.databases))
        """The entries of each table at the last tick."""
        self._gained: list[int] = [0] * len(self._made)
        """How many entries each table had gained between the last two ticks. A load counts as one large gain, so the
        lower one of two gains is used."""
        self._timer = SliceTimer()
        self._growing: Growable | None = None
        """The table that is being made larger."""
        self._is_stopped = False

    def tick(self, now: float) -> None:
        """Note how fast the tables fill, and begin to grow one that is soon full."""
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
        """Begin nothing more, and leave the table that was growing as it is: the process ends."""
        self._timer.stop()
        self._growing = None
        self._is_stopped = True

    def _begin(self, table: Growable, entries: int) -> None:
        """Begin to move `table`, which has room for `entries`, to the next larger size. If its keys fill less than half
        of the room, the same size is enough, as entries of deleted keys are left behind."""
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
        """Move keys for one slice, and plan the next slice after a pause."""
        table = self._growing
        if table is None or table not in self._keyspace.growable():
            # The table was emptied or exchanged for another, or we have been stopped.
            self._growing = None
            return
        until = self._clock.now() + _SLICE_S
        while (left := growth.step(_STEP)) > _REST:
            if self._clock.now() >= until:
                self._timer.set(_PAUSE_S, lambda: self._step(growth))
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
