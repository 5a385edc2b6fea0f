"""The newest rows of tables of happenings, found without a look at all of them.

Each share of the nodes tells when the newest of its rows was, the second newest, the fourth, and so on (steps()). From
all of these follows a time since when there are as many rows as are wanted, and about twice as many at the most
(since()): only those are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl

NEWEST: Final = ("syncs", "cuts", "forks", "storms")
"""Tables of happenings, which have the column at_us."""


def steps(at_us: pl.Series) -> list[int]:
    """The 1st, 2nd, 4th, 8th ... newest of some times; nulls are none."""
    newest = at_us.drop_nulls().sort(descending=True)
    found: list[int] = newest.gather([(1 << step) - 1 for step in range(len(newest).bit_length())]).to_list()
    return found


def since(shares: Iterable[Sequence[int]], wanted: int) -> int | None:
    """A time since when there are at least `wanted` rows, Unix us, inclusive; None where it may take all rows.

    `shares` are the steps of each.
    """
    told = [(at_us, max(1, 1 << step >> 1)) for own in shares for step, at_us in enumerate(own)]
    found = 0
    for at_us, more in sorted(told, reverse=True):
        found += more
        if found >= wanted:
            return at_us
    return None
