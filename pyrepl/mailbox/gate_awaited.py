"""Messages of mailboxes with gates that are not compared: their ops come again after a crash, or their texts are on
their way.

A Dovecot may have changed them meanwhile, so a mailbox is looked at again when what was awaited has come; where more is
to come, not too often. Not here: the look (gates.py), and the comparison (compare.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.peers import is_missing

REST_S: Final = 1.0
"""So long a mailbox is not looked at again because a part of it has come."""


@final
class Awaited:
    """All mailboxes'."""

    def __init__(self, core: Core) -> None:
        self._core: Final = core
        self._boxes: Final[dict[str, frozenset[str]]] = {}
        self._rest_until = float("-inf")

    def compare(self, box: str) -> frozenset[str]:
        """The messages that may not be compared now; the others are."""
        named = {message for at, message in self._core.missing if at == box}
        named |= self._core.merger.kept.get(box, {}).keys()
        awaited = frozenset(message for message in named if self._is_awaited(box, message))
        self.drop(box)
        if awaited:
            self._boxes[box] = awaited
        return awaited

    def drop(self, box: str) -> None:
        """It is not here any more."""
        self._boxes.pop(box, None)

    def come(self, now: float) -> list[str]:
        """Mailboxes of which something has come that was awaited."""
        found, is_due = [], now >= self._rest_until
        for box, awaited in list(self._boxes.items()):
            left = {message for message in awaited if self._is_awaited(box, message)}
            if not left or (is_due and left != awaited):
                del self._boxes[box]
                self._rest_until = now + REST_S
                found.append(box)
        return found

    def _is_awaited(self, box: str, message: str) -> bool:
        """One that cannot be compared: its op comes again, or its text is on its way, and the store has none yet."""
        return message in self._core.merger.kept.get(box, ()) or is_missing(self._core.missing, box, message)
