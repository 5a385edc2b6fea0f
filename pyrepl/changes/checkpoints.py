"""Places in the replication stream where reading may begin: unit boundaries whose selected database is known.

Not here: the bytes (a backlog) and their meaning (units.py).

Why: the oldest byte a backlog holds lies anywhere in a command, and the SELECT that applies to it may be gone. Noting
a place now and then, not for each write, is enough to read from any token behind the oldest place.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Final, final

SPACING_BYTES: Final = 16 * 1024
"""Least distance of two places: what is parsed in vain to find a token is about as much."""


@final
class Checkpoints:
    """Invariant: `_cuts` ascend strictly, each with its database in `_dbs`."""

    __slots__ = ("_cuts", "_dbs", "last")

    def __init__(self) -> None:
        self._cuts: list[int] = []
        self._dbs: dict[int, int] = {}
        self.last = -SPACING_BYTES
        """The newest cut noted: below `last + SPACING_BYTES` noting another is in vain."""

    def note(self, cut: int, db: int) -> None:
        """Between two units, at `cut`, the database `db` is selected (-1: the next command brings its SELECT)."""
        if cut in self._dbs:
            return
        insort(self._cuts, cut)
        self._dbs[cut] = db
        self.last = max(self.last, cut)

    def before(self, token: int) -> tuple[int, int] | None:
        """The last (cut, db) at or before `token`."""
        index = bisect_right(self._cuts, token) - 1
        if index < 0:
            return None
        cut = self._cuts[index]
        return cut, self._dbs[cut]

    def is_due(self, cut: int) -> bool:
        """Is `cut` far enough from the place before it to be noted?"""
        found = self.before(cut)
        return found is None or cut - found[0] >= SPACING_BYTES

    def forget_before(self, start: int) -> None:
        """Bytes left of `start` are gone, and with them the places there."""
        if not self._cuts or self._cuts[0] >= start:
            return
        index = bisect_right(self._cuts, start - 1)
        for cut in self._cuts[:index]:
            del self._dbs[cut]
        del self._cuts[:index]

    def clear(self) -> None:
        """Another stream begins."""
        self._cuts.clear()
        self._dbs.clear()
        self.last = -SPACING_BYTES

    @property
    def oldest(self) -> int | None:
        """The first place, None without any."""
        return self._cuts[0] if self._cuts else None

    def __len__(self) -> int:
        return len(self._cuts)
