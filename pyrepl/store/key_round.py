"""Gives the keys of a dictionary, some at a time, while it changes: for work on millions of keys in slices.

The compiled form remembers a place in the dictionary and copies nothing. The plain form first makes a list of all keys,
which takes about 10 ms for a million.
"""

from __future__ import annotations

from typing import Any, Final, final

from pyrepl.store import borrowed_keys

_RESTARTS: Final = 3
"""An exact round that has to begin again more often than this makes a list of all keys."""


@final
class KeyRound:
    """One round through `source`.

    With `exact`, each key that is there from the first `take` to the last is given, perhaps twice. Without it, a few
    keys may be left out when the dictionary grows meanwhile. A key that is added or deleted meanwhile may be given or
    not.
    """

    __slots__ = ("_exact", "_last", "_listed", "_place", "restarts", "source")

    def __init__(self, source: dict[bytes, Any], *, exact: bool = False) -> None:
        self.source = source
        self._exact = exact
        self._place = 0
        self._last: bytes | None = None
        self.restarts = 0
        """How often an exact round has begun again because the dictionary moved its keys: all keys are given again."""
        self._listed: list[bytes] | None = None if borrowed_keys.COMPILED else list(source)

    @property
    def is_listed(self) -> bool:
        """Was a list of all keys made? Keys that are added after that are not given."""
        return self._listed is not None

    def take(self, count: int) -> list[bytes]:
        """The next keys, at most `count` (above 0); [] at the end. Some may have been deleted."""
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
