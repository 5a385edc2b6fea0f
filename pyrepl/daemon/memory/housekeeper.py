"""Frees memory without long pauses: deleted data is freed in slices, and the cycle collector looks at little at a time.

The collector. Values form no cycles, but CPython's collector walks over all values that are collections and looks at
each of their elements: 50 ms for a million. So its generations are kept small, and objects that have outlived two of
them are frozen (`gc.freeze`): the collector does not look at them again. The dictionaries of the databases are frozen
while they are small, as the collector would walk over all their keys. The price: a cycle that dies after it was frozen
is never reclaimed, so objects that come and go all the time, as connections do, must not form cycles.

Freeing. Values that were given to `keyspace.disposal` are taken apart in slices, in half of the time at most.
"""

from __future__ import annotations

import gc
from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.memory.slice_timer import SliceTimer
from pyrepl.daemon.service import Service
from pyrepl.keyspace.database import Keyspace

GC_THRESHOLDS: Final = (2_000, 2, 1 << 30)
"""For `gc.set_threshold`, one number for each generation. The youngest is looked through when so many collections are
new, which takes below 1 ms with 20 elements each. The middle one, three times as large, is looked through after so many
looks at the youngest. The oldest is never looked through."""
_MIDDLE: Final = 1

_SLICE_S: Final = 0.002
_PAUSE_S: Final = 0.002
_LOOK_EVERY: Final = 500
"""Elements freed between two looks at the clock."""


@final
class Housekeeper(Service):
    """The service that frees deleted data and keeps the collector's work small."""

    def __init__(self, keyspace: Keyspace, clock: Clock) -> None:
        self._keyspace = keyspace
        self._clock = clock
        self._timer = SliceTimer()
        self._frozen: list[int] = []
        """id() of the databases' dictionaries that are frozen. A new dictionary has another id, or takes the place of a
        freed one and is still small."""
        self._is_watching = False

    def tick(self, now: float) -> None:
        """Freeze new dictionaries and what has outlived two generations, and begin to free deleted data."""
        if not self._is_watching:
            self._is_watching = True
            gc.callbacks.append(self._collected)
        tables = [db.table_id for db in self._keyspace.databases]
        if tables != self._frozen:
            self._frozen = tables
            gc.freeze()
        elif gc.get_count()[2]:
            gc.collect()
            gc.freeze()
        if not self._timer.is_set and not self._keyspace.disposal.is_empty:
            self._free()

    def next_deadline(self, now: float) -> float:
        return now

    def stop(self) -> None:
        """Free nothing more: the process ends."""
        self._timer.stop()
        if self._is_watching:
            self._is_watching = False
            gc.callbacks.remove(self._collected)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        """Called by the collector after each run: objects that the middle generation keeps are frozen."""
        if phase == "stop" and info["generation"] == _MIDDLE:
            gc.freeze()

    def _free(self) -> None:
        """Free for one slice, and plan the next slice after a pause."""
        until = self._clock.now() + _SLICE_S
        while self._keyspace.disposal.run(_LOOK_EVERY):
            if self._clock.now() >= until:
                self._timer.set(_PAUSE_S, self._free)
                return
