"""What HSCAN, SSCAN and ZSCAN get of the collection that they go through: a reader, which changes nothing.

The verbs `scan` of `hash_verbs`, `set_verbs` and `zset_verbs` make it. It is good for one command, and for making the
order of a large collection in slices. Cursors and their promise stand in `scan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final, Generic, TypeVar, final

from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.scan import SMALL_COLLECTION, HashOrder
from pyrepl.store.key_round import KeyRound

Content = TypeVar("Content")


class ElementScan:
    """Reads a collection's elements by cursor: a set's members, a hash's fields."""

    __slots__ = ("_db", "_elements", "_key")

    def __init__(self, db: Database, key: bytes, elements: dict[bytes, Any] | set[bytes]) -> None:
        """`elements` is what the keyspace has stored at `key`, shared and not copied."""
        self._db = db
        self._key = key
        self._elements = elements

    def is_far(self, cursor: int, count: int) -> bool:
        """Would `window` first have to make an order of many elements?"""
        return self._db.keyspace.scans.is_far(self._db.index, self._key, self._elements, cursor, count)

    def order_making(self) -> OrderMaking:
        """Makes the order that `window` needs, in steps, while the collection may change."""
        return OrderMaking(self._db.keyspace, self._elements)

    def window(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """(next cursor, about `count` elements, all of which are in the collection); next cursor 0 means the end."""
        elements = self._elements
        next_cursor, found = self._db.keyspace.scans.window(self._db.index, self._key, elements, cursor, count)
        if cursor or len(elements) > SMALL_COLLECTION:
            found = [element for element in found if element in elements]
        return next_cursor, found


@final
class ContentScan(ElementScan, Generic[Content]):
    """As ElementScan, where each element has a content: a field's value, a member's score."""

    __slots__ = ("_contents",)

    def __init__(self, db: Database, key: bytes, contents: dict[bytes, Content]) -> None:
        super().__init__(db, key, contents)
        self._contents = contents

    def content(self, element: bytes) -> Content:
        """The content of an element that `window` gave."""
        return self._contents[element]


@final
class OrderMaking:
    """Makes the order of a collection's elements in steps, while the collection may change.

    A dictionary is gone through as it changes. A set is gone through only while nothing at all changes; then its
    members are taken at once.
    """

    __slots__ = ("_dirty", "_keyspace", "_members", "_restarts", "_round", "_taken", "order")

    _STEP: Final = 1000

    def __init__(self, keyspace: Keyspace, elements: dict[bytes, Any] | set[bytes]) -> None:
        self._keyspace = keyspace
        self.order = HashOrder()
        """Complete when `step` has returned True."""
        self._round: KeyRound | None = None
        self._restarts = 0
        self._members: set[bytes] | None = None
        """The set that `_taken` iterates over, as long as nothing has changed."""
        self._taken: Iterator[bytes] = iter(())
        self._dirty = keyspace.dirty
        if isinstance(elements, dict):
            self._round = KeyRound(elements, exact=True)
        else:
            self._members = elements
            self._taken = iter(elements)

    def step(self) -> bool:
        """Take _STEP elements. True when none is left."""
        found = self._next_members() if self._round is None else self._next_fields(self._round)
        self.order.add(found)
        return not found

    def _next_fields(self, fields: KeyRound) -> list[bytes]:
        found = fields.take(self._STEP)
        if fields.restarts != self._restarts:
            self._restarts = fields.restarts
            self.order = HashOrder()
        return found

    def _next_members(self) -> list[bytes]:
        if self._members is None or self._dirty == self._keyspace.dirty:
            # A set that expires meanwhile is taken apart without counting as a change: Python then raises here.
            with suppress(RuntimeError):
                return list(islice(self._taken, self._STEP))
        assert self._members is not None
        self.order = HashOrder()
        self._taken = iter(list(self._members))
        self._members = None
        return list(islice(self._taken, self._STEP))
