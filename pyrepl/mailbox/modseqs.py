"""Modseqs of the cluster: what a change is numbered, and what becomes of its number where others came before it.

Every change carries the modseq that its origin gave it: one more than the highest that it knew. Where a higher one or
the same was already seen, a client may have asked for changes beyond it, so the change gets a higher one there, and all
are told by MODSEQ. In the end each has the highest that any node gave it.

A Dovecot numbers the changes of its own files by itself, and each node's does so for itself: `Clock` has the numbers
that all of them are raised to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, final

from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.verbs import Modseqs
from pyrepl.mailbox.words import Box

MOST_MODSEQ: Final = 2**62
"""What anybody says, and the highest number of an op. Where a member has said so much, nothing is numbered higher: what
is beyond it would be refused by all others, and so would this node."""
_US: Final = 1_000_000
MOST_AHEAD_US: Final = 86_400 * _US
"""A member whose clock is further ahead than a day has none."""


def modseq_after(highest: int) -> int:
    """The modseq of the next change."""
    return min(highest + 1, MOST_MODSEQ)


class Landing(NamedTuple):
    """What an op's modseq becomes here: of what it touches, of the mailbox; `crossed`: tell the others."""

    modseq: int
    highest: int
    crossed: bool


def land(highest: int, modseq: int, *, is_own: bool, touches: bool) -> Landing:
    """`highest` is the mailbox's here, before the op; `touches`: it changes a message that clients can see."""
    if is_own or not touches or modseq > highest:
        return Landing(modseq, max(highest, modseq), False)
    return Landing(modseq_after(highest), modseq_after(highest), True)


class Crossed(NamedTuple):
    """An op came behind changes that were numbered higher: its messages have this modseq here, which all are told."""

    box: BoxRow
    guids: tuple[str, ...]
    modseq: int

    def told(self) -> Iterator[Modseqs]:
        """The ops that tell it. A DELETE may be about more messages than a line can name."""
        for part in portions(self.guids):
            yield Modseqs(user=self.box.user, box=Box(self.box.guid, True), guids=tuple(part), modseq=self.modseq)


@final
class Implied:
    """The modseqs of ops that state none, on one connection: of each the one before it for its mailbox, plus one [P2].

    Invariant: holds at most MOST mailboxes; of one that was forgotten, a modseq has to be stated.
    """

    MOST: Final = 1000

    def __init__(self) -> None:
        self._last: Final[dict[tuple[str, Box], int]] = {}

    def resolve(self, user: str, box: Box, stated: int | None) -> int | None:
        """The modseq that is meant; None if nothing was stated yet to count from."""
        before = self._last.pop((user, box), None)
        if stated is None and before is not None:
            stated = modseq_after(before)
        if stated is not None:
            self._last[user, box] = stated
            if len(self._last) > self.MOST:
                del self._last[next(iter(self._last))]
        return stated


@final
class Clock:
    """Microseconds of Unix time, by the clock that is furthest ahead among those of the members that were heard.

    A Dovecot gives each change the modseq after the one before it, and no mailbox has a million changes in a second. So
    one that was raised to the time of an earlier moment never reaches the time of a later one: whatever a client saw on
    another node, which may be dead by now, is below what is read here now.
    """

    def __init__(self, unix_s: float) -> None:
        """`unix_s`: Unix time when `now` was 0."""
        self._unix_s: Final = unix_s
        self._ahead = 0
        """So many microseconds the furthest clock is ahead of ours, at least; never below 0."""

    def read(self, now: float) -> int:
        return self._own(now) + self._ahead

    def heard(self, theirs: int, now: float) -> None:
        """A member has read its clock, not long ago."""
        ahead = theirs - self._own(now)
        if ahead <= MOST_AHEAD_US:
            self._ahead = max(self._ahead, ahead)

    def _own(self, now: float) -> int:
        return int((self._unix_s + now) * _US)
