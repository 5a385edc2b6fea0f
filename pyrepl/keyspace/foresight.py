"""How far the sizes are believed that a snapshot promises, so that its tables are made before the keys come.

A promise (RESIZEDB) is a claim that nobody verifies: 80 bytes can promise a thousand million keys in each database. So
what is believed is paid for with bytes of the snapshot, of which every key takes some, in sum over all tables:

    promised    what the believed keys take at least
    kept        what the keys that came take at least
    to come     the rest of the snapshot, where its length is known; of one that ends with a mark (diskless),
                FIRST_BYTES and a part of what has come (PROOF)

Invariant: promised - kept <= to come <= MOST_BYTES at the moment of each promise. Room for a key takes 30 to 90 bytes,
and the smallest key that would fill it about 150, so a promise never takes more memory than the snapshot can fill.
Where the length is not known, only the index of a table is made, 6 to 12 bytes for a key: the memory for the entries is
not touched before the keys come.
How room is made is `RoomMaker`'s, or the reader's at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, final

from pyrepl.store.store import Growable

KEY_BYTES: Final = 4
"""Type, key and value of the smallest key, a length and a byte each, the value empty."""
TTL_BYTES: Final = 5
"""The shortest expiry, in front of a key."""
FIRST_BYTES: Final = 16 << 20
"""Believed at first where the length is not known: four million keys, an index of 32 MB."""
PROOF: Final = 2
"""Where the length is not known: so many bytes that have come stand for one that is to come."""
MANY_KEYS: Final = 500_000
"""Where the length is not known, and less is believed than was promised: a table with fewer keys than this may grow by
itself, which takes a few milliseconds."""
MOST_BYTES: Final = (KEY_BYTES + TTL_BYTES) << 23
"""Eight million keys that expire: a table for so many has a third of a gigabyte."""


class RoomMaker(Protocol):
    """Makes room for many keys beside the load, so that nobody waits while memory is touched."""

    @property
    def is_making(self) -> bool:
        """Is room being made for a table that is empty? What is loaded until then may have to move twice."""

    def make(self, table: Growable, count: int, *, is_sure: bool) -> bool:
        """For `count` keys in all; False when it is not worth it, or cannot be done. Unless it `is_sure` that so many
        come, memory is only touched as they do."""

    def move_in(self) -> None:
        """Let tables have the room that was made, or move a part of their keys there."""


@final
@dataclass(slots=True)
class _Promise:
    """`count` entries are said to come into `table`, `believed` of them are believed by now."""

    table: Growable
    count: int
    entry_bytes: int
    believed: int = 0


@final
class Foresight:
    """The promises of one snapshot."""

    __slots__ = ("_came", "_kept", "_open", "_promised", "rooms")

    def __init__(self, rooms: RoomMaker | None) -> None:
        self.rooms: Final = rooms
        self._promised = 0
        self._kept = 0
        self._came = 0
        self._open: list[_Promise] = []
        """Those that may be believed further."""

    def promise(self, table: Growable, count: int, entry_bytes: int, left_bytes: int | None) -> int:
        """The snapshot promises `count` entries of KEY_BYTES or TTL_BYTES; `left_bytes` of it are to come, None where
        nobody knows. For how many the caller is to make room at once: 0 if that is seen to. Raises MemoryError."""
        promise = _Promise(table, count, entry_bytes)
        self._believe(promise, left_bytes)
        if left_bytes is None and promise.believed < count:
            self._open.append(promise)
        return 0 if self._make(promise, is_sure=left_bytes is not None) else promise.believed

    def keep(self, keys: int, ttls: int) -> None:
        """So many keys have come, and so many times to live."""
        self._kept += keys * KEY_BYTES + ttls * TTL_BYTES

    def look(self, came_bytes: int) -> None:
        """Believe more of what was promised, now that so much of the snapshot has come; called after each slice."""
        self._came = came_bytes
        if self.rooms is None or not self._open:
            return
        for promise in self._open:
            if self._believe(promise, None):
                self._make(promise, is_sure=False)
        self._open = [promise for promise in self._open if promise.believed < promise.count]

    def _believe(self, promise: _Promise, left_bytes: int | None) -> bool:
        """As much of it as is allowed. Without a length: all of it, or what a large table needs soon, since growing
        moves the keys that have come, and is to be done once and by a lot, not often and by a little."""
        to_come = self._to_come() if left_bytes is None else left_bytes
        allowed = min(to_come, MOST_BYTES) - max(0, self._promised - self._kept)
        more = min(promise.count - promise.believed, max(0, allowed) // promise.entry_bytes)
        if left_bytes is None and self._came and promise.believed + more < promise.count:
            keys = len(promise.table)
            if keys < MANY_KEYS or 8 * keys < 7 * promise.believed or more < keys:
                return False
        promise.believed += more
        self._promised += more * promise.entry_bytes
        return more > 0

    def _to_come(self) -> int:
        """For how many bytes more of a snapshot without a length there is room. Without a maker of rooms none, as the
        reader would touch all of the memory."""
        return 0 if self.rooms is None else FIRST_BYTES + self._came // PROOF

    def _make(self, promise: _Promise, *, is_sure: bool) -> bool:
        return self.rooms is not None and self.rooms.make(promise.table, promise.believed, is_sure=is_sure)
