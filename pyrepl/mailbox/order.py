"""In which order SAVEs of one mailbox go out: ascending by UID, without waiting for the number of LOCKs to reach zero.

Not here: what becomes of a SAVE that goes out, and whose turn it is to LOCK (tracker.py).

Several mail processes may hold a LOCK at once and give out UIDs under the store's own lock, so their SAVEs arrive out
of order. A LOCK remembers the greatest UID that was received before it: whatever its holder gives out lies above. A
SAVE waits for the LOCKs under which a lower UID may still come, and goes when the last of them is gone.

    on LOCK:                 prev[lock] = greatest UID of any SAVE received
    on SAVE u of it:         u waits for the open locks whose prev < u, its own included
    after each:              while the smallest held SAVE waits for nothing: it goes out

A LOCK whose holder sends in ascending order is *weak* from its first SAVE on: it holds back only what lies above its
last SAVE. Then one holder's SAVEs pass as they come, and of several the one with the smallest next UID is read on
(`may_read`), so that at most one SAVE of each waits.

Source: the design note, 1.2.1. It takes the UID of the last SAVE for prev; the greatest one is never weaker. And it
lets all SAVEs of a LOCK wait for what the first one waits for, which is right only if its UIDs follow on each other: if
another holder's UID lies between them, the later SAVE has to wait for that holder as well. So each is looked at.
"""

from __future__ import annotations

import heapq
from typing import Final, Generic, TypeVar, final

Item = TypeVar("Item")


@final
class SaveOrder(Generic[Item]):
    """The SAVEs of one mailbox on their way out; an item is whatever the caller wants back.

    Invariant: UIDs go out strictly ascending.
    """

    def __init__(self) -> None:
        self.greatest = 0
        """The greatest UID of any SAVE received."""
        self.sent = 0
        """The greatest UID that went out."""
        self._prev: Final[dict[str, int]] = {}
        self._last: Final[dict[str, int]] = {}
        """Of each LOCK whose holder sends in ascending order: its last UID, once it has sent one."""
        self._ascending: Final[set[str]] = set()
        self._held: list[tuple[int, str, frozenset[str]]] = []
        self._items: Final[dict[int, Item]] = {}

    @property
    def is_idle(self) -> bool:
        """Is no LOCK open, so that anybody may give out a UID?"""
        return not self._prev

    @property
    def is_holding(self) -> bool:
        """Does any SAVE wait for others?"""
        return bool(self._held)

    def lock(self, lock: str, *, ascending: bool = False) -> None:
        """A LOCK was granted."""
        assert lock not in self._prev
        self._prev[lock] = self.greatest
        if ascending:
            self._ascending.add(lock)

    def why_not(self, lock: str, uid: int) -> str | None:
        """Why a SAVE cannot be: what the mail process did wrong."""
        if lock not in self._prev:
            return "SAVE with a UID needs a LOCK that is open"
        if uid <= self.sent or uid in self._items:
            return f"UID {uid} was given out before; the next is {max(self.sent, self.greatest) + 1}"
        if lock in self._ascending and uid <= self._last.get(lock, 0):
            return f"LOCK ascending=1 and then UID {uid} behind {self._last[lock]}"
        return None

    def save(self, lock: str, uid: int, item: Item) -> list[Item]:
        """A SAVE came; what goes out now."""
        assert self.why_not(lock, uid) is None
        deps = frozenset(other for other, prev in self._prev.items() if prev < uid) | {lock}
        self.greatest = max(self.greatest, uid)
        self._items[uid] = item
        heapq.heappush(self._held, (uid, lock, deps))
        if lock in self._ascending:
            self._last[lock] = uid
        return self._release()

    def unlock(self, lock: str) -> list[Item]:
        """A LOCK ended; what goes out now."""
        self._prev.pop(lock, None)
        self._last.pop(lock, None)
        self._ascending.discard(lock)
        return self._release()

    def passed(self, uid: int) -> None:
        """This UID was given out otherwise, while no LOCK was open."""
        self.greatest = max(self.greatest, uid)
        self.sent = max(self.sent, uid)

    def may_read(self, lock: str) -> bool:
        """May more be read of this LOCK's holder? Not while a SAVE of it waits for others, if it sends in order."""
        return lock not in self._ascending or all(other != lock for _, other, _ in self._held)

    def _release(self) -> list[Item]:
        found: list[Item] = []
        while self._held and not self._waits(self._held[0]):
            uid, _, _ = heapq.heappop(self._held)
            assert uid > self.sent
            self.sent = uid
            found.append(self._items.pop(uid))
        return found

    def _waits(self, held: tuple[int, str, frozenset[str]]) -> bool:
        uid, _, deps = held
        return any(lock in self._prev and uid > self._last.get(lock, 0) for lock in deps)
