"""Pending entries of a consumer group, in order and by consumer: given to a consumer, and not acknowledged yet.

`StreamGroup.pending` (id -> PendingEntry) holds the data, in no order. Reading new entries and acknowledging them need
no order, but XPENDING, XAUTOCLAIM and the history of a consumer do. An index is built when one of these first needs it,
and kept in the group. The functions here keep it up to date, so every change of `pending` must go through them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from sortedcontainers import SortedList

from pyrepl.rdb.values import PendingEntry, StreamConsumer, StreamGroup, StreamId

NEVER: Final = -1


@final
class PendingIndex:
    """Ids in order, of the group and of each consumer that has any.

    Invariants: `ids` holds exactly the keys of `pending`; by_consumer[c] those whose consumer is c, and is never empty.
    """

    __slots__ = ("by_consumer", "ids")

    def __init__(self, pending: dict[StreamId, PendingEntry]) -> None:
        self.ids: SortedList = SortedList(pending)
        of_consumer: dict[bytes, list[StreamId]] = {}
        for entry_id, entry in pending.items():
            of_consumer.setdefault(entry.consumer, []).append(entry_id)
        self.by_consumer: dict[bytes, SortedList] = {name: SortedList(ids) for name, ids in of_consumer.items()}

    def put(self, consumer: bytes, entry_id: StreamId) -> None:
        """Note an id under a consumer; it is in `ids` already or put there by the caller."""
        ids = self.by_consumer.get(consumer)
        if ids is None:
            ids = self.by_consumer[consumer] = SortedList()
        ids.add(entry_id)

    def take(self, consumer: bytes, entry_id: StreamId) -> None:
        """Forget an id under a consumer."""
        ids = self.by_consumer[consumer]
        ids.remove(entry_id)
        if not ids:
            del self.by_consumer[consumer]


def index(group: StreamGroup) -> PendingIndex:
    """The group's index, built when it has none."""
    kept = group.index
    if isinstance(kept, PendingIndex):
        return kept
    built = PendingIndex(group.pending)
    group.index = built
    return built


def assign(group: StreamGroup, entry_id: StreamId, consumer: bytes) -> PendingEntry:
    """The pending entry of an id, made if there is none, now owned by `consumer`; times and counts are the caller's."""
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
    """Acknowledge or drop; True if it was pending."""
    entry = group.pending.pop(entry_id, None)
    if entry is None:
        return False
    kept = group.index
    if isinstance(kept, PendingIndex):
        kept.ids.remove(entry_id)
        kept.take(entry.consumer, entry_id)
    return True


def count_of(group: StreamGroup, consumer: bytes) -> int:
    """How many entries a consumer has pending."""
    return len(index(group).by_consumer.get(consumer, ()))


def ids_from(group: StreamGroup, start: StreamId, consumer: bytes | None = None) -> Iterator[StreamId]:
    """Pending ids at or after `start`, ascending, of one consumer or of all. Nothing may change while it runs."""
    kept = index(group)
    ids = kept.ids if consumer is None else kept.by_consumer.get(consumer)
    return iter(()) if ids is None else ids.irange(start)


def touch_consumer(group: StreamGroup, name: bytes, now_ms: int) -> bool:
    """Note that a consumer has asked for something; True if that is how the group gets to know it."""
    consumer = group.consumers.get(name)
    if consumer is not None:
        consumer.seen_ms = now_ms
        return False
    group.consumers[name] = StreamConsumer(now_ms, NEVER)
    return True


def remove_consumer(group: StreamGroup, name: bytes) -> int:
    """Forget a consumer and all it has pending; how many entries that were."""
    ids = list(ids_from(group, (0, 0), name))
    for entry_id in ids:
        remove(group, entry_id)
    del group.consumers[name]
    return len(ids)
