"""A number of seconds that the parent may change while a child that reads it runs: a setting such as repl-timeout.

`feeding/replicas.py` makes and changes it; `snapshot_sinks` reads it in the child.
"""

from __future__ import annotations

import mmap
from typing import Final, final

_BYTES: Final = 8
"""The size of a C double."""


@final
class SharedSeconds:
    """One number, in memory that children forked later share with us instead of getting a copy."""

    def __init__(self, seconds: float) -> None:
        self._cell: Final = memoryview(mmap.mmap(-1, _BYTES)).cast("d")
        self.seconds = seconds

    @property
    def seconds(self) -> float:
        """The value that was set last, by any of the processes."""
        return self._cell[0]

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        self._cell[0] = seconds
