"""`--match PATTERN`: which rows of a stream are wanted, by Redis's glob patterns. Pure."""

from __future__ import annotations

from typing import Final, final

from pyrepl.capture.records import names_in
from pyrepl.changes.batches import Row
from pyrepl.glob import Glob


@final
class Matching:
    """Takes the rows in which a name matches; all of them when there is no pattern."""

    def __init__(self, pattern: str = "") -> None:
        self.pattern: Final = pattern.encode("utf-8", "surrogateescape")
        self._glob: Final = Glob(self.pattern) if pattern else None

    def takes(self, row: Row) -> bool:
        """Is it wanted?"""
        if self._glob is None:
            return True
        matches = self._glob.matches
        return any(matches(name.encode("utf-8", "surrogatepass")) for name in names_in(row))
