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
"""Redis's 0-0: no entry has this id; as first_id and max_deleted_id it means "none"."""

ENTRIES_READ_UNKNOWN: Final = -1
"""What Redis stores as a group's entries_read when it cannot tell (SCG_INVALID_ENTRIES_READ)."""

IdmpLimits: TypeAlias = tuple[int, int]
"""(seconds for which a stream keeps an idempotency id, how many of them it keeps for a producer)."""

DEFAULT_IDMP_LIMITS: Final[IdmpLimits] = (100, 100)
"""The limits of a new stream in Redis 8.6, unless its directives say otherwise."""

MAX_IDMP_DURATION_S: Final = 86_400
MAX_IDMP_MAX_ENTRIES: Final = 10_000
"""The highest limits that can be set; the lowest is 1 for both."""


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
    `index` is an index of `pending` by order and by consumer, which the commands build when it is None and need it. It
    is no part of the value: it is neither saved nor compared.
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
class IdmpState:
    """The idempotency ids that a stream remembers, so that no message is added twice (Redis 8.6: IDMP and IDMPAUTO).

    `producers`: producer id -> (idempotency id -> id of the entry it stands for), both in order of insertion; an id is
    forgotten after `duration_s` seconds; a producer with more than `max_entries` forgets its oldest. `iids_added`
    counts the new ids that ever came, `iids_duplicates` those that came again.
    """

    __slots__ = ("duration_s", "iids_added", "iids_duplicates", "max_entries", "producers")

    def __init__(
        self,
        duration_s: int = DEFAULT_IDMP_LIMITS[0],
        max_entries: int = DEFAULT_IDMP_LIMITS[1],
        producers: dict[bytes, dict[bytes, StreamId]] | None = None,
        iids_added: int = 0,
        iids_duplicates: int = 0,
    ) -> None:
        self.duration_s = duration_s
        self.max_entries = max_entries
        self.producers: dict[bytes, dict[bytes, StreamId]] = {} if producers is None else producers
        self.iids_added = iids_added
        self.iids_duplicates = iids_duplicates

    @staticmethod
    def of_new(limits: IdmpLimits) -> IdmpState | None:
        """The state of a new stream with these limits: None if they are the defaults."""
        return None if limits == DEFAULT_IDMP_LIMITS else IdmpState(*limits)

    @property
    def tells_nothing(self) -> bool:
        """Is this the state of a stream that never had an idempotency id, with the default limits?"""
        return self == IdmpState()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdmpState):
            return NotImplemented
        return (
            self.duration_s == other.duration_s
            and self.max_entries == other.max_entries
            and self.producers == other.producers
            and self.iids_added == other.iids_added
            and self.iids_duplicates == other.iids_duplicates
        )

    def __repr__(self) -> str:
        return (
            f"IdmpState({self.duration_s}, {self.max_entries}, {self.producers!r}, {self.iids_added}, "
            f"{self.iids_duplicates})"
        )


@final
class StreamValue:
    """A stream: its entries in strictly ascending id order, its counters and its groups (by name).

    `last_id` is the greatest id ever added, `first_id` the first entry's (0-0 when empty), `max_deleted_id` the
    greatest id ever deleted (0-0 for none), `entries_added` how many entries were ever added. `idmp` is None for most:
    the stream has the settings that Redis 8.6 has by default, and never heard of an idempotency id.

    The entries are held[head:]: trimming at the head only raises `head`, so it does not cost more in a longer stream.
    Trimmed entries before `head` are cut off later. The commands work on `held` and `head`; all others read `entries`.
    Invariant: 0 <= head <= len(held).
    """

    __slots__ = ("entries_added", "first_id", "groups", "head", "held", "idmp", "last_id", "max_deleted_id")

    def __init__(
        self,
        entries: list[StreamEntry] | None = None,
        last_id: StreamId = ZERO_ID,
        first_id: StreamId = ZERO_ID,
        max_deleted_id: StreamId = ZERO_ID,
        entries_added: int = 0,
        groups: dict[bytes, StreamGroup] | None = None,
        idmp: IdmpState | None = None,
    ) -> None:
        self.held: list[StreamEntry] = [] if entries is None else entries
        self.head: int = 0
        self.last_id = last_id
        self.first_id = first_id
        self.max_deleted_id = max_deleted_id
        self.entries_added = entries_added
        self.groups: dict[bytes, StreamGroup] = {} if groups is None else groups
        self.idmp = idmp

    @property
    def entries(self) -> list[StreamEntry]:
        """The entries: the stream's own list, so appending to the list appends to the stream."""
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
            and (self.idmp or IdmpState()) == (other.idmp or IdmpState())
        )

    def __repr__(self) -> str:
        return (
            f"StreamValue({self.entries!r}, last_id={self.last_id}, first_id={self.first_id}, "
            f"max_deleted_id={self.max_deleted_id}, entries_added={self.entries_added}, groups={self.groups!r}, "
            f"idmp={self.idmp!r})"
        )
