"""A span of time that a child goes by and its parent may change while the child runs: a setting such as repl-timeout.

Not here: who goes by it (snapshot_sinks) and who changes it (replicas).
"""

from __future__ import annotations

import mmap
from typing import Final, final

_BYTES: Final = 8
"""Of a C double."""


@final
class SharedSeconds:
    """One number in memory that children forked later share, instead of getting a copy of it."""

    def __init__(self, seconds: float) -> None:
        self._cell: Final = memoryview(mmap.mmap(-1, _BYTES)).cast("d")
        self.seconds = seconds

    @property
    def seconds(self) -> float:
        """As set last, by whichever process."""
        return self._cell[0]

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        self._cell[0] = seconds
