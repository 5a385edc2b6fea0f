"""Memory given back without a pause: dropped data is freed in slices, and the cycle collector sees little at a time.

The collector. Values form no cycles, but CPython's collector walks over all that are collections and looks at each of
their elements, 50 ms for a million. So its generations are small, and what has outlived two of them is frozen at once:
the collector does not look at it again. The dictionaries of the databases are frozen while they are small, as the
collector would walk over all their keys. The price: a cycle that dies after it was frozen is not reclaimed, so what
comes and goes all the time, as connections do, must form none.

Freeing. What `keyspace.disposal` was given is taken apart, at most half of the time.
"""

from __future__ import annotations

import asyncio
import gc
from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.service import Service
from pyrepl.keyspace.database import Keyspace

GC_THRESHOLDS: Final = (2_000, 2, 1 << 30)
"""New collections before the youngest are looked through, below 1 ms with 20 elements each; how often that before the
middle ones are, which are three times as many; never."""
_MIDDLE: Final = 1

_SLICE_S: Final = 0.002
_PAUSE_S: Final = 0.002
_LOOK_EVERY: Final = 500
"""Elements freed between looks at the clock."""


@final
class Housekeeper(Service):
    """Frees what was dropped, and keeps the collector's work small."""

    def __init__(self, keyspace: Keyspace, clock: Clock) -> None:
        self._keyspace = keyspace
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._frozen: list[int] = []
        """id() of the databases' dictionaries that are frozen; a new one has another, or is as small."""
        self._is_watching = False

    def tick(self, now: float) -> None:
        """Begin what is to do."""
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
        if self._timer is None and not self._keyspace.disposal.is_empty:
            self._free()

    def next_deadline(self, now: float) -> float:
        return now

    def stop(self) -> None:
        """Free nothing more; the process ends."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_watching:
            self._is_watching = False
            gc.callbacks.remove(self._collected)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        """Called by the collector: what is left of the middle generation has lived long enough."""
        if phase == "stop" and info["generation"] == _MIDDLE:
            gc.freeze()

    def _free(self) -> None:
        """One slice, and the next after a pause."""
        self._timer = None
        until = self._clock.now() + _SLICE_S
        while self._keyspace.disposal.run(_LOOK_EVERY):
            if self._clock.now() >= until:
                self._timer = self._loop.call_later(_PAUSE_S, self._free)
                return
