"""Since when a node is apart, as its gates see it.

Not here: what a node that is apart may do (mastering.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.store import RaiseNext
from pyrepl.mailbox.words import APART, Token

PATIENCE_S: Final = 3.0
"""So long a node is apart until its gates are opened all the same: clients can wait, and UIDs that were given out apart
may have to change."""


@final
class Parting:
    """One node's."""

    def __init__(self, core: Core, mastering: Mastering) -> None:
        self._core: Final = core
        self._mastering: Final = mastering
        self._since = float("inf")
        """Infinity if it is not apart."""
        self.is_parted = False
        """Gives the store of a node that is apart UIDs of its own?"""

    @property
    def patient_until(self) -> float:
        """Until when it is not done as by one who is apart; infinity if the node is not."""
        return self._since + PATIENCE_S

    def tick(self, now: float) -> bool:
        """Has it just come back to the others?"""
        is_apart = self._mastering.tracker.is_apart
        is_back = self._since <= now and not is_apart
        self._since = min(self._since, now) if is_apart else float("inf")
        return is_back

    def part_uids(self, boxes: Iterable[BoxRow], now: float) -> None:
        """A Dovecot that nothing keeps from giving out UIDs gives out its node's own from now on, when the node is
        apart for more than a moment: what others save meanwhile has other ones, so that those of one side stay."""
        is_due = now >= self.patient_until
        if is_due and not self.is_parted:
            token = Token(self._mastering.root.epoch, APART)
            for box in boxes:
                self._core.want(RaiseNext(box.user, box.guid, self._mastering.first_uid(box, token)))
        self.is_parted = is_due
