"""The plain Python values of the snapshot format that no built-in type can hold.

Strings are `bytes`, lists `list[bytes]`, sets `set[bytes]`, sorted sets `dict[bytes, float]`, hashes
`dict[bytes, bytes]`; hashes with field expiries and streams have the records below. The keyspace uses the stream
records as its own payload, so they carry data only: commands on them live in the commands room.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

StreamId: TypeAlias = tuple[int, int]
"""(Unix ms, sequence), each an unsigned 64-bit number."""

StreamEntry: TypeAlias = tuple[StreamId, tuple[bytes, ...]]
"""(id, (field, value, field, value, ...))."""

ZERO_ID: Final[StreamId] = (0, 0)
"""Redis's 0-0: no entry has it; it says "none" for first_id and max_deleted_id."""

ENTRIES_READ_UNKNOWN: Final = -1
"""What Redis stores as a group's entries_read when it cannot tell (SCG_INVALID_ENTRIES_READ)."""


@final
class HashWithTtls:
    """A hash some of whose fields expire: `expires_ms` maps a subset of the fields to Unix ms (Redis 7.4, Valkey 9)."""

    __slots__ = ("expires_ms", "fields")

    def __init__(self, fields: dict[bytes, bytes], expires_ms: dict[bytes, int]) -> None:
        self.fields = fields
        self.expires_ms = expires_ms

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HashWithTtls):
            return NotImplemented
        return self.fields == other.fields and self.expires_ms == other.expires_ms

    def __repr__(self) -> str:
        return f"HashWithTtls({self.fields!r}, {self.expires_ms!r})"


@final
class PendingEntry:
    """A stream entry delivered to a consumer and not acknowledged yet; `delivery_ms` is Unix ms."""

    __slots__ = ("consumer", "delivery_count", "delivery_ms")

    def __init__(self, delivery_ms: int, delivery_count: int, consumer: bytes) -> None:
        self.delivery_ms = delivery_ms
        self.delivery_count = delivery_count
        self.consumer = consumer

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PendingEntry):
            return NotImplemented
        return (
            self.delivery_ms == other.delivery_ms
            and self.delivery_count == other.delivery_count
            and self.consumer == other.consumer
        )

    def __repr__(self) -> str:
        return f"PendingEntry({self.delivery_ms}, {self.delivery_count}, {self.consumer!r})"


@final
class StreamConsumer:
    """A consumer of a group: when it last tried to read and when it last got something (Unix ms; -1 never).

    `active_ms` exists since RDB version 11; a snapshot of an older version carries `seen_ms` for both.
    """

    __slots__ = ("active_ms", "seen_ms")

    def __init__(self, seen_ms: int, active_ms: int) -> None:
        self.seen_ms = seen_ms
        self.active_ms = active_ms

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamConsumer):
            return NotImplemented
        return self.seen_ms == other.seen_ms and self.active_ms == other.active_ms

    def __repr__(self) -> str:
        return f"StreamConsumer({self.seen_ms}, {self.active_ms})"


@final
class StreamGroup:
    """A consumer group: its position, its pending entries (by id) and its consumers (by name).

    Each pending entry names a consumer of `consumers`. `entries_read` is -1 when Redis could not tell.
    `index` is whatever the commands keep beside `pending` to find entries by order and consumer, built from it when
    it is None. It is no part of the value: neither saved nor compared.
    """

    __slots__ = ("consumers", "entries_read", "index", "last_id", "pending")

    def __init__(
        self,
        last_id: StreamId,
        entries_read: int = ENTRIES_READ_UNKNOWN,
        pending: dict[StreamId, PendingEntry] | None = None,
        consumers: dict[bytes, StreamConsumer] | None = None,
    ) -> None:
        self.last_id = last_id
        self.entries_read = entries_read
        self.pending: dict[StreamId, PendingEntry] = {} if pending is None else pending
        self.consumers: dict[bytes, StreamConsumer] = {} if consumers is None else consumers
        self.index: object | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamGroup):
            return NotImplemented
        return (
            self.last_id == other.last_id
            and self.entries_read == other.entries_read
            and self.pending == other.pending
            and self.consumers == other.consumers
        )

    def __repr__(self) -> str:
        return f"StreamGroup({self.last_id}, {self.entries_read}, {self.pending!r}, {self.consumers!r})"


@final
class StreamValue:
    """A stream: its entries in strictly ascending id order, its counters and its groups (by name).

    `last_id` is the greatest id ever added, `first_id` the first entry's (0-0 when empty), `max_deleted_id` the
    greatest id ever deleted (0-0 for none), `entries_added` how many entries were ever added.

    So that trimming at the head costs nothing that grows with the stream, the entries are held[head:]; what lies before
    has been trimmed and waits to be cut off. The commands work on `held` and `head`, all others read `entries`.
    Invariant: 0 <= head <= len(held).
    """

    __slots__ = ("entries_added", "first_id", "groups", "head", "held", "last_id", "max_deleted_id")

    def __init__(
        self,
        entries: list[StreamEntry] | None = None,
        last_id: StreamId = ZERO_ID,
        first_id: StreamId = ZERO_ID,
        max_deleted_id: StreamId = ZERO_ID,
        entries_added: int = 0,
        groups: dict[bytes, StreamGroup] | None = None,
    ) -> None:
        self.held: list[StreamEntry] = [] if entries is None else entries
        self.head: int = 0
        self.last_id = last_id
        self.first_id = first_id
        self.max_deleted_id = max_deleted_id
        self.entries_added = entries_added
        self.groups: dict[bytes, StreamGroup] = {} if groups is None else groups

    @property
    def entries(self) -> list[StreamEntry]:
        """The entries as a list that is the stream's own: what is appended to it is appended to the stream."""
        if self.head:
            del self.held[: self.head]
            self.head = 0
        return self.held

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamValue):
            return NotImplemented
        return (
            self.entries == other.entries
            and self.last_id == other.last_id
            and self.first_id == other.first_id
            and self.max_deleted_id == other.max_deleted_id
            and self.entries_added == other.entries_added
            and self.groups == other.groups
        )

    def __repr__(self) -> str:
        return (
            f"StreamValue({self.entries!r}, last_id={self.last_id}, first_id={self.first_id}, "
            f"max_deleted_id={self.max_deleted_id}, entries_added={self.entries_added}, groups={self.groups!r})"
        )
