"""What a node remembers of another member, and of a text that it has to fetch from one.

Not here: who asks members for what (resync.py, mending.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, final

from pyrepl.mailbox.words import Vector

MOST_ORIGINS: Final = 1000
"""Origins in what a member told of itself; there is one for each database that a member ever had."""


@final
class Peer:
    """Another member, as far as it is known."""

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.is_up = False
        self.is_live = False
        """It has got all that it asked for, and gets our ops as they happen."""
        self.held: dict[str, int] = {}
        """What it has applied, as far as it told."""

    def tells(self, vector: Vector, known: dict[str, int]) -> None:
        """It told what it has applied; `known` is our vector. No member makes us remember more than MOST_ORIGINS."""
        for dot in vector:
            self.held[dot.origin] = max(dot.seq, self.held.get(dot.origin, 0))
        if len(self.held) > MOST_ORIGINS:
            self.held = {origin: seq for origin, seq in self.held.items() if origin in known}


class Missing(NamedTuple):
    """A text that is to be fetched. `is_damaged`: the store has one, which it is to take the place of."""

    user: str
    is_damaged: bool = False


def is_missing(missing: Mapping[tuple[str, str], Missing], box: str, guid: str) -> bool:
    """Has the store no text of a message, be it a damaged one?"""
    found = missing.get((box, guid))
    return found is not None and not found.is_damaged
