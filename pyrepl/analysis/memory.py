"""Gives memory back to the system that this process needs no more.

What is freed stays the process's own otherwise: Arrow's allocator keeps it for each of its threads, some 90 MB over the
answers for 10,000 nodes, and the C library keeps what lies between things that are still held. The driver of a large
fleet would seem to hold what it has only once held.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable
from typing import Final

CHOSEN: Final = "ARROW_DEFAULT_MEMORY_POOL"
"""Arrow's own variable: whoever sets it chooses the allocator."""


def keep_none() -> None:
    """Let Arrow take its memory from the C library, unless the user has chosen another allocator."""
    import pyarrow

    if CHOSEN not in os.environ:
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def give_back() -> None:
    """What the C library has and nobody uses goes back now, where it can: that is glibc."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def giving_back(step: Callable[[str], None]) -> Callable[[str], None]:
    """`step`, which is told that a step begins, and gives back what the one before has left."""

    def begin(name: str) -> None:
        give_back()
        step(name)

    return begin
