"""Decides for how many keys tables are made before the keys come, when a snapshot says how many it holds.

The number in a snapshot (RESIZEDB) is a promise that nobody verifies: 80 bytes can promise a thousand million keys in
each database. So a promise is believed only as far as the bytes still to come can keep it: every key takes some bytes.
The sums are over all tables:

    promised    the least bytes that the believed keys take
    kept        the least bytes that the keys take that have come
    to come     the rest of the snapshot, where its length is known; for a snapshot that ends with a mark (diskless),
                FIRST_BYTES and a part of the bytes that have come (PROOF)

Invariant: promised - kept <= to come <= MOST_BYTES at the moment of each promise. Room for a key takes 30 to 90 bytes,
and the smallest key that would fill it about 150, so a promise never takes more memory than the snapshot can fill.
Where the length is not known, only the index of a table is made, 6 to 12 bytes for a key: the memory for the entries is
not touched before the keys come.
The `RoomMaker` makes the room, or the reader of the snapshot makes it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, final

from pyrepl.store.store import Growable

KEY_BYTES: Final = 4
"""The bytes of the smallest key in a snapshot: its type 1, its name 2 (length and one byte), its empty value 1."""
TTL_BYTES: Final = 5
"""The bytes of the shortest time to live, which stands in front of a key."""
FIRST_BYTES: Final = 16 << 20
"""Believed at first where the length is not known: four million keys, an index of 32 MB."""
PROOF: Final = 2
"""Where the length is not known: for each PROOF bytes that have come, one more byte is expected."""
MANY_KEYS: Final = 500_000
"""Where the length is not known, and less is believed than was promised: while a table has fewer keys than this, no
room is made for it again. It grows by itself, which takes a few milliseconds."""
MOST_BYTES: Final = (KEY_BYTES + TTL_BYTES) << 23
"""The bytes of eight million keys that expire: a table for so many keys takes a third of a gigabyte."""


class RoomMaker(Protocol):
    """Makes room for many keys in another thread than the load's: clients need not wait while memory is touched."""

    @property
    def is_making(self) -> bool:
        """Is room being made for a table that has few keys? The load waits then: keys that it loads before the room is
        there would have to be moved."""

    def make(self, table: Growable, count: int, *, is_sure: bool) -> bool:
        """Make room for `count` keys in all. False when that is not worth it, or cannot be done. Unless it `is_sure`
        that so many keys come, the memory for the entries is not touched before the keys come."""

    def move_in(self) -> None:
        """Give tables the room that was made for them, or move a part of their keys into it."""


@final
@dataclass(slots=True)
class _Promise:
    """The snapshot says that `count` entries will come into `table`; `believed` of them are believed so far."""

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
        """Promises of which more may be believed later."""

    def promise(self, table: Growable, count: int, entry_bytes: int, left_bytes: int | None) -> int:
        """Note that the snapshot promises `count` entries of `entry_bytes` (KEY_BYTES or TTL_BYTES).

        `left_bytes` of the snapshot are to come, None where its length is not known. Returns for how many entries the
        caller has to make room at once: 0 if `rooms` makes the room. Raises MemoryError.
        """
        promise = _Promise(table, count, entry_bytes)
        self._believe(promise, left_bytes)
        if left_bytes is None and promise.believed < count:
            self._open.append(promise)
        return 0 if self._make(promise, is_sure=left_bytes is not None) else promise.believed

    def keep(self, keys: int, ttls: int) -> None:
        """Note that `keys` more keys and `ttls` more times to live have come."""
        self._kept += keys * KEY_BYTES + ttls * TTL_BYTES

    def look(self, came_bytes: int) -> None:
        """Believe more of the promises, now that `came_bytes` of the snapshot have come; called after each slice."""
        self._came = came_bytes
        if self.rooms is None or not self._open:
            return
        for promise in self._open:
            if self._believe(promise, None):
                self._make(promise, is_sure=False)
        self._open = [promise for promise in self._open if promise.believed < promise.count]

    def _believe(self, promise: _Promise, left_bytes: int | None) -> bool:
        """Believe as much of a promise as is allowed; True if more of it is believed now.

        Where the length is not known and bytes have come, a promise that cannot be believed in full is believed further
        only when its table is large, will soon be full, and would at least double. Growing moves the keys that have
        come, so tables are to grow seldom and by much.
        """
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
        """How many more bytes are expected of a snapshot whose length is not known. Without a `RoomMaker` 0, as the
        reader would touch all of the memory that it makes room in."""
        return 0 if self.rooms is None else FIRST_BYTES + self._came // PROOF

    def _make(self, promise: _Promise, *, is_sure: bool) -> bool:
        return self.rooms is not None and self.rooms.make(promise.table, promise.believed, is_sure=is_sure)
