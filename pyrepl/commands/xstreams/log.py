"""The entries of a stream as a sorted log: find, range, append, delete, trim. Arguments and replies are elsewhere.

The log is the list `StreamValue.held` from index `head` on (see there). An index below is always one into `held`.
What deletion and trimming do to `first_id` and `max_deleted_id`, and how a group's lag follows from them, is Redis
8.2's rule: trimming leaves no tombstone, deleting does. A pending entry whose log entry is gone stays in its group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from pyrepl.rdb.values import ENTRIES_READ_UNKNOWN, ZERO_ID, StreamEntry, StreamGroup, StreamId, StreamValue

NODE_ENTRIES: Final = 100
"""How many entries make a node where stream-node-max-entries does not say (0)."""

_DROPPED: Final[StreamEntry] = (ZERO_ID, ())
_LEAST_DROPPED: Final = 64
_FEW: Final = 8
_SHIFT_COST: Final = 16
"""Moving an entry up by a slice costs about so many times what `del` costs for each entry behind it, a memmove."""


def size(stream: StreamValue) -> int:
    """XLEN."""
    return len(stream.held) - stream.head


def first(stream: StreamValue) -> StreamEntry | None:
    """The entry with the least id."""
    return stream.held[stream.head] if stream.head < len(stream.held) else None


def last(stream: StreamValue) -> StreamEntry | None:
    """The entry with the greatest id; `StreamValue.last_id` may be above it."""
    return stream.held[-1] if stream.head < len(stream.held) else None


def index_of(stream: StreamValue, entry_id: StreamId) -> int:
    """Where the first entry at or after an id stands; len(held) when there is none."""
    return bisect_left(stream.held, (entry_id, ()), stream.head)


def find(stream: StreamValue, entry_id: StreamId) -> StreamEntry | None:
    """The entry with exactly this id."""
    index = index_of(stream, entry_id)
    if index < len(stream.held) and stream.held[index][0] == entry_id:
        return stream.held[index]
    return None


def between(stream: StreamValue, start: StreamId, end: StreamId, limit: int | None = None) -> list[StreamEntry]:
    """At most `limit` entries with start <= id <= end, ascending."""
    held = stream.held
    low = index_of(stream, start)
    if end >= stream.last_id:
        high = len(held)
    else:
        high = index_of(stream, end)
        if high < len(held) and held[high][0] == end:
            high += 1
    if limit is not None and high - low > limit:
        high = low + limit
    return held[low:high]


def between_reversed(
    stream: StreamValue, start: StreamId, end: StreamId, limit: int | None = None
) -> list[StreamEntry]:
    """At most `limit` entries with start <= id <= end, descending."""
    held = stream.held
    low = index_of(stream, start)
    high = index_of(stream, end)
    if high < len(held) and held[high][0] == end:
        high += 1
    if limit is not None and high - low > limit:
        low = high - limit
    return held[low:high][::-1]


def append(stream: StreamValue, entry_id: StreamId, fields: tuple[bytes, ...]) -> None:
    """Add an entry whose id is above `last_id`."""
    assert entry_id > stream.last_id
    if stream.head == len(stream.held):
        stream.first_id = entry_id
    stream.held.append((entry_id, fields))
    stream.entries_added += 1
    stream.last_id = entry_id


def delete(stream: StreamValue, ids: Sequence[StreamId]) -> int:
    """Remove entries by id and remember the greatest of them as a tombstone; how many there were."""
    deleted = _delete_many(stream, ids) if len(ids) > _FEW else _delete_few(stream, ids)
    if deleted:
        _note_first(stream)
    return deleted


def drop_first(stream: StreamValue, count: int) -> None:
    """Trim the oldest `count` entries, 0 <= count <= size. Amortized O(count)."""
    held = stream.held
    assert 0 <= count <= len(held) - stream.head
    held[stream.head : stream.head + count] = [_DROPPED] * count
    stream.head += count
    _let_go(stream)
    _note_first(stream)


def whole_nodes(stream: StreamValue, count: int, limit: int | None, node_entries: int) -> int:
    """How many of the oldest `count` entries an approximate trim removes, at most `limit`: whole nodes only."""
    if limit is not None and limit < count:
        count = limit
    return count if count == size(stream) else count - count % node_entries


def has_tombstones(stream: StreamValue, start: StreamId) -> bool:
    """May one of the entries from `start` (inclusive) on have been deleted? Those before the first do not count."""
    tombstone = stream.max_deleted_id
    return size(stream) > 0 and tombstone != ZERO_ID and stream.first_id <= tombstone and start <= tombstone


def entries_up_to(stream: StreamValue, entry_id: StreamId) -> int:
    """How many entries were ever added up to an id, itself included; ENTRIES_READ_UNKNOWN when nobody can tell.

    Redis 8.2, `streamEstimateDistanceFromFirstEverEntry`.
    """
    added = stream.entries_added
    if not added:
        return 0
    if size(stream) == 0 and entry_id <= stream.last_id:
        return added
    if entry_id != ZERO_ID and entry_id < stream.max_deleted_id:
        return ENTRIES_READ_UNKNOWN
    if entry_id == stream.last_id:
        return added
    if entry_id > stream.last_id:
        return ENTRIES_READ_UNKNOWN
    if stream.max_deleted_id == ZERO_ID or stream.max_deleted_id < stream.first_id:
        if entry_id < stream.first_id:
            return added - size(stream)
        if entry_id == stream.first_id:
            return added - size(stream) + 1
    return ENTRIES_READ_UNKNOWN


def advance(stream: StreamValue, group: StreamGroup, entry_id: StreamId) -> None:
    """Move a group on to an entry that it has just been given, and its count of entries read with it."""
    counted = group.entries_read != ENTRIES_READ_UNKNOWN and group.last_id >= stream.first_id
    if counted and not has_tombstones(stream, group.last_id):
        group.entries_read += 1
    elif stream.entries_added:
        group.entries_read = entries_up_to(stream, entry_id)
    group.last_id = entry_id


def lag(stream: StreamValue, group: StreamGroup) -> int | None:
    """How many entries the group has still to be given; None when nobody can tell."""
    if not stream.entries_added or not size(stream):
        return 0
    if group.last_id < stream.first_id and stream.max_deleted_id < stream.first_id:
        return size(stream)
    read = group.entries_read
    if read == ENTRIES_READ_UNKNOWN or has_tombstones(stream, group.last_id):
        read = entries_up_to(stream, group.last_id)
    return None if read == ENTRIES_READ_UNKNOWN else stream.entries_added - read


def _delete_few(stream: StreamValue, ids: Sequence[StreamId]) -> int:
    deleted = 0
    for entry_id in ids:
        index = index_of(stream, entry_id)
        if index < len(stream.held) and stream.held[index][0] == entry_id:
            _remove(stream, index)
            stream.max_deleted_id = max(stream.max_deleted_id, entry_id)
            deleted += 1
    return deleted


def _remove(stream: StreamValue, index: int) -> None:
    """Close the gap from the cheaper side: queues delete near the head."""
    held, head = stream.held, stream.head
    if (index - head) * _SHIFT_COST < len(held) - index:
        held[head + 1 : index + 1] = held[head:index]
        drop_first(stream, 1)
    else:
        del held[index]
        _let_go(stream)


def _delete_many(stream: StreamValue, ids: Sequence[StreamId]) -> int:
    """In one pass over the log."""
    held = stream.held
    doomed = sorted({entry_id for entry_id in ids if find(stream, entry_id) is not None})
    if not doomed:
        return 0
    kept: list[StreamEntry] = []
    start = stream.head
    for entry_id in doomed:
        index = index_of(stream, entry_id)
        kept += held[start:index]
        start = index + 1
    kept += held[start:]
    stream.held = kept
    stream.head = 0
    stream.max_deleted_id = max(stream.max_deleted_id, doomed[-1])
    return len(doomed)


def _let_go(stream: StreamValue) -> None:
    """Cut off what has been dropped once it is half of the list, so that each entry dropped pays for one moved."""
    if stream.head >= _LEAST_DROPPED and 2 * stream.head >= len(stream.held):
        del stream.held[: stream.head]
        stream.head = 0


def _note_first(stream: StreamValue) -> None:
    entry = first(stream)
    stream.first_id = ZERO_ID if entry is None else entry[0]
