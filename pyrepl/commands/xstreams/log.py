"""The entries of a stream as a sorted log: find, range, append, delete, trim. Arguments and replies are elsewhere.

The log is the list `StreamValue.held` from index `head` on (see there). An index in this module is an index into
`held`. The entries before `head` have been dropped and are empty; they stay in the list for a while because cutting
them off moves all others.

The rules for `first_id`, `max_deleted_id` and a group's lag are those of Redis 8.2. A deletion inside the log raises
`max_deleted_id`, the tombstone; a trim of the oldest entries does not. When an entry leaves the log while a group still
has it pending, it stays on the group's list.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from pyrepl.rdb.values import ENTRIES_READ_UNKNOWN, ZERO_ID, StreamEntry, StreamGroup, StreamId, StreamValue

NODE_ENTRIES: Final = 100
"""How many entries make a node where stream-node-max-entries does not say (0)."""

_DROPPED: Final[StreamEntry] = (ZERO_ID, ())
"""What stands in `held` in place of an entry that was dropped, so that the entry's memory is free at once."""
_LEAST_CUT_OFF: Final = 64
"""Fewer dropped entries than this are not cut off `held`: a short list costs nothing."""
_MOST_ONE_BY_ONE: Final = 8
"""Up to this many ids (inclusive) are deleted one after the other; more are deleted in one pass over the log."""
_SHIFT_COST: Final = 16
"""How many times more it costs to move one entry up by a slice than to move one down by `del`, which is a memmove."""


def size(stream: StreamValue) -> int:
    """The number of entries in the log, as XLEN answers it."""
    return len(stream.held) - stream.head


def first(stream: StreamValue) -> StreamEntry | None:
    """The entry with the least id, or None when the log is empty."""
    return stream.held[stream.head] if stream.head < len(stream.held) else None


def last(stream: StreamValue) -> StreamEntry | None:
    """The entry with the greatest id, or None when the log is empty.

    `StreamValue.last_id` may be above its id: the entry with that id may have been deleted, and XSETID may raise it.
    """
    return stream.held[-1] if stream.head < len(stream.held) else None


def index_of(stream: StreamValue, entry_id: StreamId) -> int:
    """The index of the first entry whose id is `entry_id` or above; len(held) when there is none. O(log n)."""
    return bisect_left(stream.held, (entry_id, ()), stream.head)


def find(stream: StreamValue, entry_id: StreamId) -> StreamEntry | None:
    """The entry with exactly this id, or None. O(log n)."""
    index = index_of(stream, entry_id)
    if index < len(stream.held) and stream.held[index][0] == entry_id:
        return stream.held[index]
    return None


def between(stream: StreamValue, start: StreamId, end: StreamId, limit: int | None = None) -> list[StreamEntry]:
    """The entries with start <= id <= end, ascending; only the first `limit` of them unless it is None."""
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
    """The entries with start <= id <= end, descending; only the last `limit` of them unless it is None."""
    held = stream.held
    low = index_of(stream, start)
    high = index_of(stream, end)
    if high < len(held) and held[high][0] == end:
        high += 1
    if limit is not None and high - low > limit:
        low = high - limit
    return held[low:high][::-1]


def append(stream: StreamValue, entry_id: StreamId, fields: tuple[bytes, ...]) -> None:
    """Add an entry at the end. Its id must be above `last_id`; `fields` are field, value, field, value, ..."""
    assert entry_id > stream.last_id
    if stream.head == len(stream.held):
        stream.first_id = entry_id
    stream.held.append((entry_id, fields))
    stream.entries_added += 1
    stream.last_id = entry_id


def delete(stream: StreamValue, ids: Sequence[StreamId]) -> int:
    """Remove the entries with these ids, in any order, and return how many of them were in the log.

    Raises `max_deleted_id` to the greatest id removed. An id that is not in the log is skipped.
    """
    deleted = _delete_in_one_pass(stream, ids) if len(ids) > _MOST_ONE_BY_ONE else _delete_one_by_one(stream, ids)
    if deleted:
        _update_first_id(stream)
    return deleted


def drop_first(stream: StreamValue, count: int) -> None:
    """Trim the oldest `count` entries, 0 <= count <= size. Leaves no tombstone. Amortized O(count)."""
    held = stream.held
    assert 0 <= count <= len(held) - stream.head
    held[stream.head : stream.head + count] = [_DROPPED] * count
    stream.head += count
    _cut_off_dropped(stream)
    _update_first_id(stream)


def whole_nodes(stream: StreamValue, count: int, limit: int | None, node_entries: int) -> int:
    """How many entries an approximate trim (`~`) removes when `count` of the oldest are too many.

    It removes whole nodes of `node_entries` entries, and no more than `limit` entries unless `limit` is None. The last
    node may be shorter, so a trim of the whole log is always exact.
    """
    if limit is not None and limit < count:
        count = limit
    return count if count == size(stream) else count - count % node_entries


def has_tombstones(stream: StreamValue, start: StreamId) -> bool:
    """May an entry with an id of `start` or above have been deleted? Deletions before the first entry do not count.

    Only the greatest deleted id is known, so True does not say where or how many.
    """
    tombstone = stream.max_deleted_id
    return size(stream) > 0 and tombstone != ZERO_ID and stream.first_id <= tombstone and start <= tombstone


def entries_up_to(stream: StreamValue, entry_id: StreamId) -> int:
    """How many entries were ever added to the stream with ids up to `entry_id`, inclusive.

    ENTRIES_READ_UNKNOWN when that cannot be derived from the counters: a deletion inside the log hides it. The rule is
    Redis 8.2's (`streamEstimateDistanceFromFirstEverEntry`).
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
    """Move the group's position to an entry that it has just been given, and update its count of entries read.

    The count goes up by 1 as long as it is exact. Otherwise it is derived again from the stream's counters.
    """
    counted = group.entries_read != ENTRIES_READ_UNKNOWN and group.last_id >= stream.first_id
    if counted and not has_tombstones(stream, group.last_id):
        group.entries_read += 1
    elif stream.entries_added:
        group.entries_read = entries_up_to(stream, entry_id)
    group.last_id = entry_id


def lag(stream: StreamValue, group: StreamGroup) -> int | None:
    """How many entries of the log the group has not been given yet; None when deletions make that unknown.

    XINFO GROUPS and XINFO STREAM FULL show it (Redis 7.0 and later).
    """
    if not stream.entries_added or not size(stream):
        return 0
    if group.last_id < stream.first_id and stream.max_deleted_id < stream.first_id:
        return size(stream)
    read = group.entries_read
    if read == ENTRIES_READ_UNKNOWN or has_tombstones(stream, group.last_id):
        read = entries_up_to(stream, group.last_id)
    return None if read == ENTRIES_READ_UNKNOWN else stream.entries_added - read


def _delete_one_by_one(stream: StreamValue, ids: Sequence[StreamId]) -> int:
    """Search and remove each entry by itself; how many there were. `first_id` is left to the caller."""
    deleted = 0
    for entry_id in ids:
        index = index_of(stream, entry_id)
        if index < len(stream.held) and stream.held[index][0] == entry_id:
            _remove_at(stream, index)
            stream.max_deleted_id = max(stream.max_deleted_id, entry_id)
            deleted += 1
    return deleted


def _remove_at(stream: StreamValue, index: int) -> None:
    """Remove the entry at an index by moving the entries on the cheaper side of it.

    Clients that use a stream as a queue delete near its head, where moving the few entries before the gap is cheaper
    than moving all that follow.
    """
    held, head = stream.held, stream.head
    if (index - head) * _SHIFT_COST < len(held) - index:
        held[head + 1 : index + 1] = held[head:index]
        drop_first(stream, 1)
    else:
        del held[index]
        _cut_off_dropped(stream)


def _delete_in_one_pass(stream: StreamValue, ids: Sequence[StreamId]) -> int:
    """Build the log again without these entries, in one pass; how many there were. `first_id` is left to the caller."""
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


def _cut_off_dropped(stream: StreamValue) -> None:
    """Cut the dropped entries off the list once they are at least half of it.

    Cutting moves every entry that is left. As these are no more than the dropped ones, each dropped entry pays for
    moving one, and dropping stays O(1) on average.
    """
    if stream.head >= _LEAST_CUT_OFF and 2 * stream.head >= len(stream.held):
        del stream.held[: stream.head]
        stream.head = 0


def _update_first_id(stream: StreamValue) -> None:
    entry = first(stream)
    stream.first_id = ZERO_ID if entry is None else entry[0]
