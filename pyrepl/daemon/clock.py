"""Time and randomness: the only place where either is read; every other room gets them as arguments."""

from __future__ import annotations

import random
import secrets
import time
from typing import final

from pyrepl.units import ReplId


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


@final
class Randomness:
    """Randomness as the rooms want it; `seed` makes it repeatable in tests."""

    __slots__ = ("_draw", "_random")

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)
        self._draw = self._random.random

    def below(self, n: int) -> int:
        """Uniform in [0, n), 1 <= n <= 2**53."""
        return int(self._draw() * n)

    def fraction(self) -> float:
        """Uniform in [0, 1): jitter."""
        return self._random.random()

    def replid(self) -> ReplId:
        """40 hexadecimal digits that no other node will choose."""
        return ReplId(secrets.token_hex(20))

    def eof_mark(self) -> bytes:
        """The 40 bytes around a snapshot of unknown size; they must not occur in it by chance."""
        return secrets.token_hex(20).encode()
