"""Time: the only place where it is read; every other room gets it as an argument."""

from __future__ import annotations

import time
from typing import final


@final
class Clock:
    """Time as the rooms want it."""

    __slots__ = ()

    # The functions themselves, as both are asked for each batch of commands.
    now = staticmethod(time.monotonic)
    """Monotonic seconds, for deadlines and spans."""
    precise = staticmethod(time.perf_counter)
    """Monotonic seconds of the finest clock, for the time a command took."""

    def unix_ms(self) -> int:
        """Unix time in ms, for times to live and for people."""
        return time.time_ns() // 1_000_000

    def unix_ms_exact(self) -> float:
        """Unix time in ms with decimals, for the offset between the two clocks."""
        return time.time() * 1000.0

    def unix_us(self) -> int:
        """Unix time in microseconds, for machines that put together what several nodes tell."""
        return time.time_ns() // 1000
