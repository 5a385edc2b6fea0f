"""The keys of a dictionary, some at a time, while it changes: for work that goes through millions of them in slices.

Compiled it remembers a place in the dictionary and takes nothing along; in the plain form a list of the keys is made
first, which takes as long as there are keys (about 10 ms for a million).
"""

from __future__ import annotations

from typing import Any, Final, final

from pyrepl.store import borrowed_keys

_RESTARTS: Final = 3
"""An exact round that had to begin again so often takes a list of all keys."""


@final
class KeyRound:
    """One round through `source`.

    `exact`: a key that is there from the first `take` to the last comes, and may come twice. Otherwise a few may be
    left out when the dictionary grows meanwhile. What comes or goes meanwhile may come or not.
    """

    __slots__ = ("_exact", "_last", "_listed", "_place", "restarts", "source")

    def __init__(self, source: dict[bytes, Any], *, exact: bool = False) -> None:
        self.source = source
        self._exact = exact
        self._place = 0
        self._last: bytes | None = None
        self.restarts = 0
        """How often an exact round had to begin again, as the dictionary was made anew: all keys come once more."""
        self._listed: list[bytes] | None = None if borrowed_keys.COMPILED else list(source)

    @property
    def is_listed(self) -> bool:
        """Was a list of all keys made, so that none which came since then comes?"""
        return self._listed is not None

    def take(self, count: int) -> list[bytes]:
        """The next keys, at most `count`, above 0; [] at the end. Some may be gone by now."""
        if self._listed is None:
            keys, self._place = borrowed_keys.some_keys(self.source, self._place, self._last, count)
            if self._place < 0:
                return self._begin_again(count)
            if self._exact and keys:
                self._last = keys[-1]
            return keys
        keys = self._listed[self._place : self._place + count]
        self._place += len(keys)
        if not keys:
            self._listed = []
        return keys

    def _begin_again(self, count: int) -> list[bytes]:
        self._place = 0
        self._last = None
        self.restarts += 1
        if self.restarts > _RESTARTS:
            self._listed = list(self.source)
        return self.take(count)
