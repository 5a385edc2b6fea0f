"""Cursors of SCAN over the keys of a dict, which Python cannot enter in the middle.

The promise is Redis's: a key that is there from the start of a full iteration to its end is returned at least once; a
key that comes or goes meanwhile may be returned or not; some keys may be returned twice.

`KeyOrder` lists the keys in the order of their insertion. It is made at the first SCAN or RANDOMKEY, and `PlainStore`
appends every key that is added later. An iteration walks from the end to the front, so it never meets keys that are
added meanwhile, and it ends however fast keys come. A cursor says how many places are left. Deleted keys leave gaps.
When there are more gaps than keys, the list is made anew from the dict, which has the same order, and a table
translates the old positions. (A key that is deleted and put back counts as new: a caller that replaces a value must
overwrite it, not delete and add it.)

Cursors stay below 2**53, since some clients read them into floating point. Cursors over the elements of one collection
are `pyrepl.keyspace.scan`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final, final

EPOCHS: Final = 2**16
"""A key cursor is position * EPOCHS + epoch."""
_STRIDE: Final = 256
"""The translation table has one entry for so many positions; a translated cursor repeats fewer places than this."""
_MAX_TABLES: Final = 16
_MIN_GAPS: Final = 4096
_IDLE_MS: Final = 300_000
"""When an order would have to be made anew, but no SCAN or RANDOMKEY has used it for this long, it is dropped."""


@final
class KeyOrder:
    """All keys of one dict in the order of their insertion, with gaps where keys were deleted.

    Invariants: every key of `source` stands in `keys` at least once; the last place of each is in the order of
    `source`; a key that came back after `drop` has that place in `_moved`. `used_at_ms`: Unix ms of the last SCAN.
    """

    __slots__ = ("_dropped", "_moved", "_tables", "epoch", "keys", "live", "source", "used_at_ms")

    def __init__(self, source: Mapping[bytes, object], now_ms: int, keys: list[bytes] | None = None) -> None:
        """`keys`: all keys of `source` in its order, with gaps, if the caller has listed them already."""
        self.source = source
        self.keys: list[bytes] = list(source) if keys is None else keys
        self.live: int = len(source)
        """How many keys `source` has, by the calls of `append` and `drop`. If it has another number, keys were loaded
        without these calls, and the order must be made anew."""
        self.epoch: int = now_ms % EPOCHS
        """A number by which cursors of this list differ from those of earlier lists, and of another process."""
        self.used_at_ms = now_ms
        self._tables: dict[int, list[int]] = {}
        """Epoch -> for every _STRIDE-th position of that epoch's list, its position in the present one."""
        self._dropped: set[bytes] = set()
        self._moved: dict[bytes, int] = {}

    def window(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """(next cursor, the keys at the next `count` places); next cursor 0 means the end.

        Some keys may have been deleted: the caller looks up each of them. An unknown cursor starts from the beginning.
        """
        end = self._position(cursor)
        start = max(0, end - count)
        found = self.keys[start:end]
        if self._moved:
            moved = self._moved
            found = [key for at, key in enumerate(found, start) if moved.get(key, at) == at]
        found.reverse()
        return start * EPOCHS + self.epoch if start else 0, found

    def _position(self, cursor: int) -> int:
        """How many places are left to visit."""
        position, epoch = divmod(cursor, EPOCHS)
        if epoch == self.epoch and position:
            return min(position, len(self.keys))
        table = self._tables.get(epoch)
        if table is None or not position:
            return len(self.keys)
        return _translated(table, position)

    def append(self, key: bytes) -> None:
        """Take in a key that is about to enter `source`."""
        if key in self._dropped:
            self._dropped.remove(key)
            self._moved[key] = len(self.keys)
        self.keys.append(key)
        self.live += 1

    def drop(self, key: bytes) -> None:
        """Note that a key has left `source`; without this note, a key that comes back would be returned twice."""
        self._dropped.add(key)
        self.live -= 1

    @property
    def is_sparse(self) -> bool:
        """Are there so many more gaps than keys that `renew` is due?"""
        return len(self.keys) > 2 * len(self.source) + _MIN_GAPS

    def renew(self) -> None:
        """Make the list anew, without gaps, and keep a table that translates old cursors to new positions."""
        old, new = self.keys, list(self.source)
        table = _translation(old, new)
        old_epoch = self.epoch
        self._tables = {
            epoch: [_translated(table, place) for place in places]
            for epoch, places in islice(self._tables.items(), max(0, len(self._tables) - _MAX_TABLES + 1), None)
        }
        self._tables[old_epoch] = table
        self.epoch = (old_epoch + 1) % EPOCHS
        self._tables.pop(self.epoch, None)
        self.keys = new
        self.live = len(new)
        self._dropped.clear()
        self._moved.clear()


def _translation(old: list[bytes], new: list[bytes]) -> list[int]:
    """For each position 0, _STRIDE, 2 * _STRIDE, ... of `old`: how many keys of `new` have their last place before it.

    One more entry, for all of `old`, ends the table.

    It goes from the back, because the keys of `new` are in the order of their last places in `old`. Keys of `new` that
    are not in `old` make the numbers before them too big: then more keys are repeated, but none is left out.
    """
    table = [0] * (len(old) // _STRIDE + 1)
    table.append(len(new))
    j = len(new)
    for i in range(len(old) - 1, -1, -1):
        if (i + 1) % _STRIDE == 0:
            table[(i + 1) // _STRIDE] = j
        if j and old[i] == new[j - 1]:
            j -= 1
    return table


def _translated(table: list[int], position: int) -> int:
    """The position in the new list for one in the old list, rounded up: some keys may be repeated, none left out."""
    return table[min((position + _STRIDE - 1) // _STRIDE, len(table) - 1)]


def order_of(order: KeyOrder | None, source: Mapping[bytes, object], now_ms: int) -> KeyOrder:
    """The order to scan `source` with: `order` if it belongs to this dict, else a new one."""
    if order is None or order.source is not source:
        return KeyOrder(source, now_ms)
    order.used_at_ms = now_ms
    if order.is_sparse or order.live != len(source):
        order.renew()
    return order


def with_added(order: KeyOrder, key: bytes, now_ms: int) -> KeyOrder | None:
    """The order with `key` added, which is about to enter the dict; None when the order is not worth keeping."""
    kept = _tidied(order, now_ms)
    if kept is not None:
        kept.append(key)
    return kept


def without(order: KeyOrder, key: bytes, now_ms: int) -> KeyOrder | None:
    """The order with a note that `key` has left the dict; None when the order is not worth keeping."""
    order.drop(key)
    return _tidied(order, now_ms)


def _tidied(order: KeyOrder, now_ms: int) -> KeyOrder | None:
    if order.is_sparse:
        if now_ms - order.used_at_ms > _IDLE_MS:
            return None
        order.renew()
    return order
