"""Copies of values. A copy shares the elements, which are immutable, but no collection that can change."""

from __future__ import annotations

from pyrepl.errors import CommandError
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.values import IdmpState, PendingEntry, StreamConsumer, StreamGroup, StreamValue
from pyrepl.rdb.vectors import VectorSetValue


def copied(value: Value) -> Value:
    """An independent value with the same contents, times to live of fields, groups and idempotency ids included.

    Raises CommandError for a vector set: Redis copies none, so no replica could follow.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, ListValue):
        return ListValue(value.items.copy())
    if isinstance(value, SetValue):
        return SetValue(value.members.copy())
    if isinstance(value, HashValue):
        return HashValue(value.fields.copy(), None if value.expires is None else value.expires.copy())
    if isinstance(value, ZsetValue):
        return ZsetValue(value.scores.copy())
    if isinstance(value, VectorSetValue):
        raise CommandError("ERR not supported for this module key")
    return _copied_stream(value)


def _copied_stream(stream: StreamValue) -> StreamValue:
    return StreamValue(
        entries=stream.entries.copy(),
        last_id=stream.last_id,
        first_id=stream.first_id,
        max_deleted_id=stream.max_deleted_id,
        entries_added=stream.entries_added,
        groups={name: _copied_group(group) for name, group in stream.groups.items()},
        idmp=None if stream.idmp is None else _copied_idmp(stream.idmp),
    )


def _copied_idmp(idmp: IdmpState) -> IdmpState:
    producers = {name: entries.copy() for name, entries in idmp.producers.items()}
    return IdmpState(idmp.duration_s, idmp.max_entries, producers, idmp.iids_added, idmp.iids_duplicates)


def _copied_group(group: StreamGroup) -> StreamGroup:
    return StreamGroup(
        group.last_id,
        group.entries_read,
        {
            entry_id: PendingEntry(entry.delivery_ms, entry.delivery_count, entry.consumer)
            for entry_id, entry in group.pending.items()
        },
        {name: StreamConsumer(consumer.seen_ms, consumer.active_ms) for name, consumer in group.consumers.items()},
    )
