"""Which UIDs who may give out, so that no UID gets two meanings, whoever is apart from whom.

UIDs are divided into blocks of `gap` (`mailbox-gap`), numbered from 0. Who has the mastership gives out UIDs of the
blocks whose number is a multiple of (members + 1); the member at place p, without a mastership, those whose number
leaves the rest p. So sides that do not hear of each other give out different UIDs, however little they know of each
other, and however often they part.

A message may get a UID only at or above the next one of each node, as a client may have seen all below. What arrives
too late for that is *unplaced*, and gets another UID by the next mastership (RENUMBER).

A root that takes over from one who could not clear begins where its epoch says: a block is divided among epochs. So two
roots that know nothing of each other's messages give out different UIDs, whatever each knows of older ones. And when
messages of an older epoch come to who has the mastership, it does not go on behind the highest of them, where there may
be more that nobody told of yet, but where its own epoch says again.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.mailbox.words import LAST_UID

MASTER: Final = 0
"""The rest of the blocks of masters."""
NO_UID: Final = LAST_UID + 1
SHORT_UID: Final = LAST_UID - LAST_UID // 10
"""From this UID on one tenth is left at most."""
LAST_UIDVALIDITY: Final = 2**32 - 1
WHY_NO_UID: Final = "no UID is left in the mailbox"
TAKEOVER_PART: Final = 100
"""1/100 of a gap is the least room that a takeover leaves: for what was given out and nobody heard of."""


def next_uidvalidity(newest: int, unix_s: int) -> int:
    """Of a new mailbox: above `newest`, the greatest one of its user, and no less than Unix time. Where somebody has
    used up all that are greater, it is the time."""
    return max(newest + 1, unix_s) if newest < LAST_UIDVALIDITY else unix_s


@final
class UidBlocks:
    """The blocks of a cluster."""

    __slots__ = ("_count", "gap")

    def __init__(self, gap: int, members: int) -> None:
        assert gap > 0 and members > 0
        self.gap: Final = gap
        self._count: Final = members + 1

    def place(self, uid: int) -> int:
        """Who may give out this UID."""
        return uid // self.gap % self._count

    def first(self, uidnext: int, place: int) -> int:
        """The lowest UID at or above `uidnext` that `place` may give out, where it stands in its block like `uidnext`.

        NO_UID when they have run out: the mailbox needs a new UIDVALIDITY.
        """
        block = uidnext // self.gap
        return min(uidnext + (place - block) % self._count * self.gap, NO_UID)

    def are_apart(self, one: int, other: int) -> bool:
        """Are these UIDs of different places, or of different epochs' parts of the blocks of masters?"""
        if MASTER not in (self.place(one), self.place(other)):
            return self.place(one) != self.place(other)
        return one // self.gap != other // self.gap or self._part(one) != self._part(other)

    def some(self, uidnext: int, place: int, count: int) -> list[int]:
        """The next `count` of them, or as many as are left."""
        found: list[int] = []
        for _ in range(count):
            uid = self.first(uidnext, place)
            if uid == NO_UID:
                break
            found.append(uid)
            uidnext = uid + 1
        return found

    @property
    def room(self) -> int:
        """How many UIDs a takeover leaves at the least for what nobody heard of."""
        return max(1, self.gap // TAKEOVER_PART)

    def _part(self, uid: int) -> int:
        return uid % self.gap // (2 * self.room)

    def takeover(self, uidnext: int, epoch: int) -> int:
        """The first UID of a root that takes over in `epoch` from one who could not clear, and knows `uidnext`.

        It depends on `uidnext` only by the block: roots of two epochs meet only if as many epochs lie between them as
        have a place in a block, or if one gives out more than there is in its place. NO_UID when UIDs have run out.
        """
        places = max(1, self.gap // (2 * self.room))
        least = uidnext + self.room
        uid = least // self.gap * self.gap + epoch % places * 2 * self.room
        return self.first(uid if uid >= least else uid + self.gap, MASTER)
