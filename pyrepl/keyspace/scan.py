"""Cursors of HSCAN, SSCAN and ZSCAN over the elements of one collection (over keys: `pyrepl.store.key_order`).

The promise is Redis's: an element that is there from the start of a full iteration to its end is returned at least
once; an element that comes or goes meanwhile may be returned or not; some elements may be returned twice. The commands
parse arguments and filter elements.

`ElementScans` orders the elements of a large collection by hash. A cursor is a hash: all elements with a lower hash
have been returned. The order that is kept is only a cache, made anew when an iteration starts; if it is lost, the next
call takes longer, but no element is lost. Small collections are returned whole, as Redis does with compact encodings.

Cursors stay below 2**53, since some clients read them into floating point.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sized
from typing import Final, final

HASH_BITS: Final = 48
_BUCKETS: Final = 1024
_BUCKET_SHIFT: Final = HASH_BITS - 10
SMALL_COLLECTION: Final = 128
"""Collections of up to so many elements are returned in one reply, whatever COUNT says."""
_MANY_ELEMENTS: Final = 5000
"""Collections of up to so many elements are put in order at once, which takes a few milliseconds."""
_MAX_CACHED_SCANS: Final = 16
_MAX_CACHED_ELEMENTS: Final = 1_000_000


def element_hash(element: bytes) -> int:
    """The place of an element in the order of a scan, 0 <= place < 2**HASH_BITS; the same until the process ends."""
    return (hash(element) >> (64 - HASH_BITS)) & ((1 << HASH_BITS) - 1)


@final
class HashOrder:
    """The elements of a collection as they were at one moment, by ascending hash.

    The elements are in buckets by the highest bits of their hash, and each bucket is sorted at its first use: so the
    order can be made and used a part at a time.
    """

    __slots__ = ("_buckets", "_is_sorted", "size")

    def __init__(self, elements: Iterable[bytes] = ()) -> None:
        self.size = 0
        """How many elements were added."""
        self._buckets: list[list[bytes]] = [[] for _ in range(_BUCKETS)]
        self._is_sorted = bytearray(_BUCKETS)
        self.add(elements)

    def add(self, elements: Iterable[bytes]) -> None:
        """Add elements; only before the first `window`. An element that is added twice stands in a window once."""
        buckets = self._buckets
        for element in elements:
            buckets[element_hash(element) >> _BUCKET_SHIFT].append(element)
            self.size += 1

    def window(self, start: int, count: int) -> tuple[int, list[bytes]]:
        """(hash to go on from, elements from hash `start` on); the hash is 0 at the end.

        Gives `count` elements, and more only if they have the same hash as the last of those.
        """
        found: list[bytes] = []
        place = start >> _BUCKET_SHIFT
        while place < _BUCKETS:
            bucket = self._sorted(place)
            first = bisect_left(bucket, start, key=element_hash) if start else 0
            if first < len(bucket) and len(found) >= count:
                return element_hash(bucket[first]), found
            end = min(first + max(0, count - len(found)), len(bucket))
            while first < end < len(bucket) and element_hash(bucket[end]) == element_hash(bucket[end - 1]):
                end += 1
            found += bucket[first:end]
            if end < len(bucket):
                return element_hash(bucket[end]), found
            place += 1
        return 0, found

    def _sorted(self, place: int) -> list[bytes]:
        bucket = self._buckets[place]
        if not self._is_sorted[place]:
            self._is_sorted[place] = True
            bucket = self._buckets[place] = sorted(set(bucket), key=element_hash)
        return bucket


@final
class ElementScans:
    """Iterations over the elements of large collections: HSCAN, SSCAN and ZSCAN share one object of this class.

    Bounded: the _MAX_CACHED_SCANS orders used last are kept, and fewer while they hold more than _MAX_CACHED_ELEMENTS
    together, but at least one.
    """

    __slots__ = ("_cached", "_offered")

    def __init__(self) -> None:
        self._cached: dict[tuple[int, bytes], HashOrder] = {}
        self._offered: HashOrder | None = None

    def window(
        self, db_index: int, key: bytes, elements: Collection[bytes], cursor: int, count: int
    ) -> tuple[int, list[bytes]]:
        """(next cursor, about `count` elements to look at); next cursor 0 means the end.

        `elements` are the collection's (a set, a dict's keys). When the cursor is not 0 or the order was offered, an
        element that is returned may have been removed since: the caller looks up each of them. A collection that has
        become small is returned whole.
        """
        if len(elements) <= max(count, SMALL_COLLECTION):
            return 0, list(elements)
        order = self._order(db_index, key, elements, fresh=cursor == 0)
        next_cursor, found = order.window(min(cursor, 2**HASH_BITS), count)
        if not next_cursor:
            self._cached.pop((db_index, key), None)
        return next_cursor, found

    def is_far(self, db_index: int, key: bytes, elements: Sized, cursor: int, count: int) -> bool:
        """Would `window` first have to make an order of many elements, as no order is offered or cached?"""
        if len(elements) <= max(count, _MANY_ELEMENTS) or self._offered is not None:
            return False
        return cursor == 0 or (db_index, key) not in self._cached

    def offer(self, order: HashOrder | None) -> None:
        """Let the next `window` use `order` instead of making one; None ends the offer."""
        self._offered = order

    def _order(self, db_index: int, key: bytes, elements: Collection[bytes], *, fresh: bool) -> HashOrder:
        place = (db_index, key)
        order = self._cached.pop(place, None)
        if self._offered is not None:
            order = self._offered
        elif order is None or fresh:
            order = HashOrder(elements)
        self._cached[place] = order
        total = sum(cached.size for cached in self._cached.values())
        while len(self._cached) > 1 and (len(self._cached) > _MAX_CACHED_SCANS or total > _MAX_CACHED_ELEMENTS):
            oldest = next(iter(self._cached))
            total -= self._cached.pop(oldest).size
        return order
