"""The pending entries of a consumer group, in order and by consumer.

A pending entry was given to a consumer and has not been acknowledged yet. `StreamGroup.pending` (id -> PendingEntry)
holds these entries in no order. Reading new entries and acknowledging them need no order, but XPENDING, XAUTOCLAIM and
the history of a consumer do. So an index is built when one of these first needs it, and kept in the group. The
functions here keep the index up to date; every change of `pending` must go through them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from sortedcontainers import SortedList

from pyrepl.rdb.values import PendingEntry, StreamConsumer, StreamGroup, StreamId

NEVER: Final = -1
"""The `active_ms` of a consumer that has not been given an entry yet."""


@final
class PendingIndex:
    """The pending ids in ascending order: of the whole group, and of each consumer that has any.

    Invariants: `ids` holds exactly the keys of `StreamGroup.pending`. by_consumer[name] holds the ids whose entry
    belongs to that consumer, and is never empty.
    """

    __slots__ = ("by_consumer", "ids")

    def __init__(self, pending: dict[StreamId, PendingEntry]) -> None:
        self.ids: SortedList = SortedList(pending)
        of_consumer: dict[bytes, list[StreamId]] = {}
        for entry_id, entry in pending.items():
            of_consumer.setdefault(entry.consumer, []).append(entry_id)
        self.by_consumer: dict[bytes, SortedList] = {name: SortedList(ids) for name, ids in of_consumer.items()}

    def put(self, consumer: bytes, entry_id: StreamId) -> None:
        """Add an id to those of a consumer. The caller sees to it that the id is in `ids`."""
        ids = self.by_consumer.get(consumer)
        if ids is None:
            ids = self.by_consumer[consumer] = SortedList()
        ids.add(entry_id)

    def take(self, consumer: bytes, entry_id: StreamId) -> None:
        """Remove an id from those of a consumer, which must have it. `ids` stays as it is."""
        ids = self.by_consumer[consumer]
        ids.remove(entry_id)
        if not ids:
            del self.by_consumer[consumer]


def index(group: StreamGroup) -> PendingIndex:
    """The group's index. It is built when the group has none, in O(n log n) of its pending entries."""
    kept = group.index
    if isinstance(kept, PendingIndex):
        return kept
    built = PendingIndex(group.pending)
    group.index = built
    return built


def assign(group: StreamGroup, entry_id: StreamId, consumer: bytes) -> PendingEntry:
    """Make `consumer` the owner of a pending entry, and return that entry; it is made when there is none.

    A new entry has a delivery time of 0 and a count of 1. The caller sets both.
    """
    entry = group.pending.get(entry_id)
    kept = group.index
    if entry is None:
        entry = group.pending[entry_id] = PendingEntry(0, 1, consumer)
        if isinstance(kept, PendingIndex):
            kept.ids.add(entry_id)
            kept.put(consumer, entry_id)
    elif entry.consumer != consumer:
        if isinstance(kept, PendingIndex):
            kept.take(entry.consumer, entry_id)
            kept.put(consumer, entry_id)
        entry.consumer = consumer
    return entry


def remove(group: StreamGroup, entry_id: StreamId) -> bool:
    """Take an entry off the list of pending entries; True if it was on it."""
    entry = group.pending.pop(entry_id, None)
    if entry is None:
        return False
    kept = group.index
    if isinstance(kept, PendingIndex):
        kept.ids.remove(entry_id)
        kept.take(entry.consumer, entry_id)
    return True


def count_of(group: StreamGroup, consumer: bytes) -> int:
    """How many entries a consumer has pending; 0 for a consumer that the group does not know."""
    return len(index(group).by_consumer.get(consumer, ()))


def ids_from(group: StreamGroup, start: StreamId, consumer: bytes | None = None) -> Iterator[StreamId]:
    """The pending ids of `start` (inclusive) and above, ascending; of one consumer, or of all when `consumer` is None.

    The pending entries must not change while the iterator is in use.
    """
    kept = index(group)
    ids = kept.ids if consumer is None else kept.by_consumer.get(consumer)
    return iter(()) if ids is None else ids.irange(start)


def touch_consumer(group: StreamGroup, name: bytes, now_ms: int) -> bool:
    """Note that a consumer has asked the group for something at `now_ms`, a Unix time in ms.

    A consumer that the group does not know is added to it; then the answer is True.
    """
    consumer = group.consumers.get(name)
    if consumer is not None:
        consumer.seen_ms = now_ms
        return False
    group.consumers[name] = StreamConsumer(now_ms, NEVER)
    return True


def remove_consumer(group: StreamGroup, name: bytes) -> int:
    """Remove a consumer, which the group must have, and all its pending entries; how many entries that were."""
    ids = list(ids_from(group, (0, 0), name))
    for entry_id in ids:
        remove(group, entry_id)
    del group.consumers[name]
    return len(ids)
