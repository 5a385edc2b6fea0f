"""Random positions without repetition. The caller hands in the source of randomness and looks up the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Below = Callable[[int], int]
"""`below(n)` is a uniformly random integer in [0, n), n >= 1."""

_DENSE: Final = 3
"""When a third of all positions or more is wanted, it is faster to shuffle a list of all of them than to draw again
each time a position comes twice."""


def distinct_positions(count: int, size: int, below: Below) -> list[int]:
    """`count` different positions of range(size) in random order; all of them when `count` reaches `size`.

    O(count), not O(size), while `count` is below a third of `size`.
    """
    if count * _DENSE >= size:
        return _shuffled_prefix(min(count, size), size, below)
    chosen: dict[int, None] = {}
    while len(chosen) < count:
        chosen[below(size)] = None
    return list(chosen)


def _shuffled_prefix(count: int, size: int, below: Below) -> list[int]:
    """The first `count` places of a Fisher-Yates shuffle of range(size)."""
    positions = list(range(size))
    for i in range(count):
        j = i + below(size - i)
        positions[i], positions[j] = positions[j], positions[i]
    del positions[count:]
    return positions
