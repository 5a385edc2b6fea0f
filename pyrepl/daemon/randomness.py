"""Randomness: the only place where it is drawn; every other room gets it as an argument."""

from __future__ import annotations

import random
import secrets
from typing import final

from pyrepl.units import ReplId


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
