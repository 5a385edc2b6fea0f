"""What nobody can reach any more, taken apart a slice at a time: to free millions of keys at once holds up the node.

Who runs the slices is the daemon's. What is here still takes memory until then, as with Redis's lazy freeing.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, TypeAlias, final

from sortedcontainers import SortedList

from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.values import StreamValue

SMALL: Final = 5000
"""Collections of up to so many elements are freed where they are dropped: well below a millisecond."""

Collection: TypeAlias = dict[bytes, Any] | set[bytes] | deque[bytes] | list[Any] | SortedList


@final
class Disposal:
    """Collections to be freed.

    Invariant: nothing here is referred to by anybody else, or it would be emptied under their hands.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Collection] = []

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    @property
    def size(self) -> int:
        """Elements that wait, those inside of others not counted: INFO's lazyfree_pending_objects."""
        return sum(map(len, self._waiting))

    def take(self, collection: Collection) -> None:
        """Take over what nobody uses any more; what is small is freed as the caller lets it go."""
        if len(collection) > SMALL:
            self._waiting.append(collection)

    def take_value(self, value: Value) -> None:
        """As `take`, for a value that was deleted or replaced."""
        if type(value) is HashValue:
            self.take(value.fields)
        elif type(value) is ListValue:
            self.take(value.items)
        elif type(value) is SetValue:
            self.take(value.members)
            if value.order is not None:
                self.take(value.order)
                self.take(value.gone)
        elif type(value) is ZsetValue:
            self.take(value.scores)
            if value.has_order:
                self.take(value.order)
        elif type(value) is StreamValue:
            self.take(value.held)

    def run(self, max_elements: int) -> bool:
        """Free up to `max_elements`, above 0; whether anything is left."""
        waiting = self._waiting
        while waiting and max_elements > 0:
            # From the front: what is found inside is put behind it.
            collection = waiting[0]
            count = min(max_elements, len(collection))
            max_elements -= count
            if isinstance(collection, dict):
                for _ in range(count):
                    value = collection.popitem()[1]
                    if type(value) is not bytes:
                        self.take_value(value)
            else:
                for _ in range(count):
                    collection.pop()
            if not collection:
                del waiting[0]
        return bool(waiting)
