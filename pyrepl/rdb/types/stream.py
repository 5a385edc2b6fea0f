"""Streams: the nodes, the counters, then the consumer groups with their pending entries (given, not acknowledged).

| type | since | added |
|---|---|---|
| 15 | 9 | |
| 19 | 10 | first id, greatest deleted id, entries ever added; per group: entries read |
| 21 | 11 | per consumer: active time |
| 26 | 13 | what the stream remembers of idempotency ids (IDMP); Redis alone |

In order: number of nodes; each key (a string of 16 bytes) and listpack (a string, see stream_node.py); number of
live entries; last id; type 19's counters; number of groups; each group: name, last id, entries read, its pending
entries (number; each id in 16 bytes, delivery time, delivery count), its consumers (number; each name, seen time,
active time, the ids of its pending entries: number, 16 bytes each). Ids are two lengths where nothing else is said,
times are Unix ms in 8 bytes.

Type 26 ends with: seconds an idempotency id is kept, how many a producer may have, number of producers; each: its id,
its number of idempotency ids, each of them (a string) with the id of its entry, oldest first; how many ids were ever
added, how many came again.

An older type lacks what later types added. Counters that it lacks are computed as Redis 7 does on loading.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final, final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import decode_count, decode_length, encode_length
from pyrepl.rdb.strings import decode_string
from pyrepl.rdb.types.row import CannotHold, Decode, Encoded, Form, ValueType
from pyrepl.rdb.types.stream_node import ID_BYTES, decode_id, decode_node, encode_id, encode_nodes
from pyrepl.rdb.values import (
    ENTRIES_READ_UNKNOWN,
    MAX_IDMP_DURATION_S,
    MAX_IDMP_MAX_ENTRIES,
    ZERO_ID,
    IdmpState,
    PendingEntry,
    StreamConsumer,
    StreamGroup,
    StreamId,
    StreamValue,
)
from pyrepl.rdb.versions import LISTPACKS, both, redis_only

STREAM: Final = 15
STREAM2: Final = 19
STREAM3: Final = 21
STREAM4: Final = 26

IDMP_VERSIONS: Final = redis_only(13)
"""The versions in which streams keep their idempotency ids."""

_FIRST_VERSION: Final = 9

_HALF: Final = 1 << 63
_WHOLE: Final = 1 << 64

_MS: Final = Struct("<q")


@final
class _StreamDecoder:
    """A machine whose steps each take one item of the input and say which step comes next (None: done)."""

    __slots__ = (
        "consumer",
        "group",
        "idmp",
        "kind",
        "left",
        "left_consumers",
        "left_groups",
        "left_producers",
        "producer",
        "step",
        "stream",
        "unowned",
    )

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.stream = StreamValue()
        self.group = StreamGroup(ZERO_ID)
        self.consumer = b""
        self.left = 0
        self.left_groups = 0
        self.left_consumers = 0
        self.left_producers = 0
        self.unowned: dict[StreamId, PendingEntry] = {}
        self.idmp = IdmpState()
        self.producer: dict[bytes, StreamId] = {}
        self.step: Callable[[Cursor], None] | None = self._nodes_count

    def decode(self, cursor: Cursor) -> object:
        while self.step is not None:
            self.step(cursor)
            cursor.commit()
        return self.stream

    def _nodes_count(self, cursor: Cursor) -> None:
        self.left = decode_count(cursor)
        self.step = self._node if self.left else self._counters

    def _node(self, cursor: Cursor) -> None:
        key = decode_string(cursor)
        decode_node(key, decode_string(cursor), self.stream.entries)
        self.left -= 1
        if not self.left:
            self.step = self._counters

    def _counters(self, cursor: Cursor) -> None:
        stream = self.stream
        length = decode_length(cursor)
        last_id = _decode_id(cursor)
        if self.kind == STREAM:
            added = len(stream.entries)
            first_id = stream.entries[0][0] if stream.entries else ZERO_ID
            max_deleted_id = ZERO_ID
        else:
            first_id = _decode_id(cursor)
            max_deleted_id = _decode_id(cursor)
            added = decode_length(cursor)
        if length != len(stream.entries):
            raise Malformed(f"Stream length inconsistent with its nodes: {length}, {len(stream.entries)} entries there")
        if stream.entries and last_id < stream.entries[-1][0]:
            raise Malformed(f"Stream last id {last_id[0]}-{last_id[1]} is less than its last entry's")
        self.left_groups = decode_count(cursor)
        stream.last_id = last_id
        stream.first_id = first_id
        stream.max_deleted_id = max_deleted_id
        stream.entries_added = added
        self._next_group()

    def _group(self, cursor: Cursor) -> None:
        name = decode_string(cursor)
        last_id = _decode_id(cursor)
        if self.kind == STREAM:
            entries_read = estimate_entries_read(self.stream, last_id)
        else:
            entries_read = decode_length(cursor)
            if entries_read >= _HALF:
                entries_read -= _WHOLE
        pending = decode_count(cursor)
        if name in self.stream.groups:
            raise Malformed(f"Duplicated consumer group name {name!r}")
        self.group = StreamGroup(last_id, entries_read)
        self.stream.groups[name] = self.group
        self.left = pending
        self.step = self._pending_entry if pending else self._consumers_count

    def _pending_entry(self, cursor: Cursor) -> None:
        entry_id = decode_id(cursor.take(ID_BYTES))
        delivery_ms = cursor.i64_le()
        delivery_count = decode_length(cursor)
        if entry_id in self.group.pending:
            raise Malformed("Duplicated global PEL entry loading stream consumer group")
        self.group.pending[entry_id] = self.unowned[entry_id] = PendingEntry(delivery_ms, delivery_count, b"")
        self.left -= 1
        if not self.left:
            self.step = self._consumers_count

    def _consumers_count(self, cursor: Cursor) -> None:
        self.left_consumers = decode_count(cursor)
        self._next_consumer()

    def _consumer(self, cursor: Cursor) -> None:
        name = decode_string(cursor)
        seen_ms = cursor.i64_le()
        active_ms = cursor.i64_le() if self.kind >= STREAM3 else seen_ms
        pending = decode_count(cursor)
        if name in self.group.consumers:
            raise Malformed(f"Duplicate stream consumer {name!r} detected")
        self.group.consumers[name] = StreamConsumer(seen_ms, active_ms)
        self.consumer = name
        self.left_consumers -= 1
        self.left = pending
        if pending:
            self.step = self._owned_entry
        else:
            self._next_consumer()

    def _owned_entry(self, cursor: Cursor) -> None:
        """An id of the group's pending entries; each must be named by exactly one consumer."""
        entry_id = decode_id(cursor.take(ID_BYTES))
        entry = self.unowned.pop(entry_id, None)
        if entry is None:
            if entry_id in self.group.pending:
                raise Malformed("Duplicated consumer PEL entry loading a stream consumer group")
            raise Malformed("Consumer entry not found in group global PEL")
        entry.consumer = self.consumer
        self.left -= 1
        if not self.left:
            self._next_consumer()

    def _next_consumer(self) -> None:
        if self.left_consumers:
            self.step = self._consumer
            return
        if self.unowned:
            raise Malformed(f"{len(self.unowned)} entries of a group's PEL have no consumer")
        self.left_groups -= 1
        self._next_group()

    def _next_group(self) -> None:
        if self.left_groups:
            self.step = self._group
        else:
            self.step = self._idmp_head if self.kind == STREAM4 else None

    def _idmp_head(self, cursor: Cursor) -> None:
        duration_s = decode_length(cursor)
        max_entries = decode_length(cursor)
        if not 1 <= duration_s <= MAX_IDMP_DURATION_S:
            raise Malformed(f"Stream IDMP duration out of range: {duration_s} s")
        if not 1 <= max_entries <= MAX_IDMP_MAX_ENTRIES:
            raise Malformed(f"Stream IDMP max entries out of range: {max_entries}")
        self.left_producers = decode_count(cursor)
        self.idmp.duration_s = duration_s
        self.idmp.max_entries = max_entries
        self.step = self._producer if self.left_producers else self._idmp_counters

    def _producer(self, cursor: Cursor) -> None:
        name = decode_string(cursor)
        left = decode_count(cursor)
        if name in self.idmp.producers:
            raise Malformed(f"Duplicated IDMP producer {name!r}")
        self.producer = self.idmp.producers[name] = {}
        self.left_producers -= 1
        self.left = left
        if left:
            self.step = self._producer_entry
        else:
            self._next_producer()

    def _producer_entry(self, cursor: Cursor) -> None:
        """Take one idempotency id. If the same id comes twice, the first is kept, as in Redis."""
        iid = decode_string(cursor)
        self.producer.setdefault(iid, _decode_id(cursor))
        self.left -= 1
        if not self.left:
            self._next_producer()

    def _next_producer(self) -> None:
        self.step = self._producer if self.left_producers else self._idmp_counters

    def _idmp_counters(self, cursor: Cursor) -> None:
        added = decode_length(cursor)
        duplicates = decode_length(cursor)
        self.idmp.iids_added = added
        self.idmp.iids_duplicates = duplicates
        if not self.idmp.tells_nothing:
            self.stream.idmp = self.idmp
        self.step = None


def _decode_id(cursor: Cursor) -> StreamId:
    ms = decode_length(cursor)
    return ms, decode_length(cursor)


def estimate_entries_read(stream: StreamValue, group_id: StreamId) -> int:
    """How many entries a group at `group_id` has read, -1 if that cannot be known (Redis 7, on loading type 15)."""
    added = stream.entries_added
    if not added:
        return 0
    if not stream.entries and group_id <= stream.last_id:
        return added
    if group_id == stream.last_id:
        return added
    if group_id > stream.last_id:
        return ENTRIES_READ_UNKNOWN
    if stream.max_deleted_id == ZERO_ID or stream.max_deleted_id < stream.first_id:
        if group_id < stream.first_id:
            return added - len(stream.entries)
        if group_id == stream.first_id:
            return added - len(stream.entries) + 1
    return ENTRIES_READ_UNKNOWN


def encode_stream(stream: StreamValue, form: Form) -> Encoded:
    """Encode a stream in the latest type that the version has; facts that this type cannot hold are left out. Raises
    CannotHold before version 9."""
    kinds = [row.number for row in ROWS if form.version in row.versions]
    if not kinds:
        raise CannotHold(f"a stream needs RDB version {_FIRST_VERSION}, not {form.version.number}")
    kind = kinds[-1]
    packing = form.packing
    nodes = encode_nodes(stream.entries, packing.stream_node_max_bytes, packing.stream_node_max_entries)
    parts = [encode_length(len(nodes))]
    for key, packed in nodes:
        parts.append(encode_length(ID_BYTES) + key)
        parts.append(form.text(packed))
    parts.append(encode_length(len(stream.entries)))
    parts.append(_encode_id(stream.last_id))
    if kind != STREAM:
        parts.append(_encode_id(stream.first_id))
        parts.append(_encode_id(stream.max_deleted_id))
        parts.append(encode_length(stream.entries_added))
    parts.append(encode_length(len(stream.groups)))
    for name, group in stream.groups.items():
        _encode_group(name, group, kind, form, parts)
    if kind == STREAM4:
        _encode_idmp(stream.idmp or IdmpState(), form, parts)
    return kind, b"".join(parts)


def _encode_group(name: bytes, group: StreamGroup, kind: int, form: Form, parts: list[bytes]) -> None:
    owned: dict[bytes, list[bytes]] = {consumer: [] for consumer in group.consumers}
    parts.append(form.text(name))
    parts.append(_encode_id(group.last_id))
    if kind != STREAM:
        parts.append(encode_length(group.entries_read % _WHOLE))
    parts.append(encode_length(len(group.pending)))
    for entry_id, entry in sorted(group.pending.items(), key=_by_id):
        raw = encode_id(entry_id)
        owned[entry.consumer].append(raw)
        parts.append(raw)
        parts.append(_MS.pack(entry.delivery_ms))
        parts.append(encode_length(entry.delivery_count))
    parts.append(encode_length(len(group.consumers)))
    for consumer_name, consumer in group.consumers.items():
        parts.append(form.text(consumer_name))
        parts.append(_MS.pack(consumer.seen_ms))
        if kind >= STREAM3:
            parts.append(_MS.pack(consumer.active_ms))
        parts.append(encode_length(len(owned[consumer_name])))
        parts += owned[consumer_name]


def _encode_idmp(idmp: IdmpState, form: Form, parts: list[bytes]) -> None:
    parts.append(encode_length(idmp.duration_s))
    parts.append(encode_length(idmp.max_entries))
    parts.append(encode_length(len(idmp.producers)))
    for name, entries in idmp.producers.items():
        parts.append(form.text(name))
        parts.append(encode_length(len(entries)))
        for iid, entry_id in entries.items():
            parts.append(form.text(iid))
            parts.append(_encode_id(entry_id))
    parts.append(encode_length(idmp.iids_added))
    parts.append(encode_length(idmp.iids_duplicates))


def _by_id(item: tuple[StreamId, PendingEntry]) -> StreamId:
    return item[0]


def _encode_id(entry_id: StreamId) -> bytes:
    return encode_length(entry_id[0]) + encode_length(entry_id[1])


def _start() -> Decode:
    return _StreamDecoder(STREAM).decode


def _start2() -> Decode:
    return _StreamDecoder(STREAM2).decode


def _start3() -> Decode:
    return _StreamDecoder(STREAM3).decode


def _start4() -> Decode:
    return _StreamDecoder(STREAM4).decode


ROWS: Final[tuple[ValueType, ...]] = (
    ValueType(STREAM, "stream", both(_FIRST_VERSION), _start),
    ValueType(STREAM2, "stream-v2", LISTPACKS, _start2),
    ValueType(STREAM3, "stream-v3", both(11), _start3),
    ValueType(STREAM4, "stream-v4", IDMP_VERSIONS, _start4),
)
