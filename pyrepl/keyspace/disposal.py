"""Frees deleted collections a slice at a time, as to free millions of keys at once would stop the node.

The keyspace hands deleted values over; the daemon's housekeeper runs the slices. Until a value is freed it still takes
memory, as with Redis's lazy freeing.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, TypeAlias, final

from sortedcontainers import SortedList

from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.vectors import VectorSetValue

SMALL: Final = 5000
"""Collections of up to so many elements are freed at once, which takes well below a millisecond."""

_EACH: Final = -1
"""Each element of such a collection is a value: the keys of a database."""

Collection: TypeAlias = dict[bytes, Any] | dict[int, Any] | set[bytes] | deque[bytes] | list[Any] | SortedList


@final
class Disposal:
    """Collections to be freed.

    Invariant: nothing else refers to the collections here; another owner would see its collection being emptied.
    """

    __slots__ = ("_waiting", "freed")

    def __init__(self) -> None:
        self._waiting: list[tuple[Collection, int]] = []
        """Each with the values that it counts for: _EACH, or 1 for the last collection of a value, or 0 for others."""
        self.freed = 0
        """Values that had waited and were freed, and keys of dropped databases: INFO's lazyfreed_objects."""

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    @property
    def size(self) -> int:
        """Values that wait, each counted once however many elements it has: INFO's lazyfree_pending_objects."""
        return sum(len(collection) if counts == _EACH else counts for collection, counts in self._waiting)

    @property
    def elements(self) -> int:
        """Elements that wait, those inside of others not counted: how much work there is."""
        return sum(len(collection) for collection, _ in self._waiting)

    def take(self, collection: Collection) -> None:
        """Take over what was kept beside keys and is used no more; what is small is freed as the caller lets it go."""
        if len(collection) > SMALL:
            self._waiting.append((collection, 0))

    def take_keys(self, values: dict[bytes, Any]) -> None:
        """As `take`, for all keys of a database. Even few count as freed, as each flush is a lazy one in Redis 8.2."""
        if len(values) > SMALL:
            self._waiting.append((values, _EACH))
        else:
            self.freed += len(values)

    def take_value(self, value: Value) -> bool:
        """As `take`, for a value that was deleted or replaced; whether it waits now."""
        large = [part for part in _parts(value) if len(part) > SMALL]
        for part in large:
            self._waiting.append((part, 1 if part is large[-1] else 0))
        return bool(large)

    def run(self, max_elements: int) -> bool:
        """Free up to `max_elements`, above 0; whether anything is left."""
        waiting = self._waiting
        while waiting and max_elements > 0:
            # From the front: what is found inside is put behind it.
            collection, counts = waiting[0]
            count = min(max_elements, len(collection))
            max_elements -= count
            if counts == _EACH:
                self.freed += count - self._free_keys(collection, count)
            elif isinstance(collection, dict):
                for _ in range(count):
                    collection.popitem()
            else:
                for _ in range(count):
                    collection.pop()
            if not collection:
                self.freed += max(0, counts)
                del waiting[0]
        return bool(waiting)

    def _free_keys(self, values: Collection, count: int) -> int:
        """Free `count` keys; how many of them wait further, as they are large themselves."""
        assert isinstance(values, dict)
        large = 0
        for _ in range(count):
            value = values.popitem()[1]
            if type(value) is not bytes and self.take_value(value):
                large += 1
        return large


def _parts(value: Value) -> tuple[Collection, ...]:
    """What a value consists of, as far as it grows with its elements."""
    if type(value) is HashValue:
        return (value.fields,)
    if type(value) is ListValue:
        return (value.items,)
    if type(value) is SetValue:
        return (value.members,) if value.order is None else (value.members, value.order, value.gone)
    if type(value) is ZsetValue:
        return (value.scores, value.order) if value.has_order else (value.scores,)
    if type(value) is VectorSetValue:
        return (value.nodes, value.by_id)
    return (value.held,) if type(value) is StreamValue else ()
