"""The values that a database stores: a string is a plain `bytes` object, and every other type is a small class here.

A stream is a `pyrepl.rdb.values.StreamValue`, a vector set a `pyrepl.rdb.vectors.VectorSetValue`; both are used as they
are. The encoder of snapshots needs the plain form of a value (`plain_value`); `from_plain` makes a value of the plain
form. Neither copies the strings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias, TypeGuard, final

from sortedcontainers import SortedList

from pyrepl.errors import CommandError
from pyrepl.keyspace.sampling import Below, distinct_positions
from pyrepl.rdb.values import HashWithTtls, StreamValue
from pyrepl.rdb.vectors import VectorSetValue
from pyrepl.store.prefetch import draw_last, prefetch_members

WRONG_TYPE: Final = "WRONGTYPE Operation against a key holding the wrong kind of value"

_STALE_DEADLINES: Final = 64
"""A hash's heap of deadlines is built anew when it has more entries than this plus twice the fields that expire."""

_COMPACT_ZSET: Final = 128
"""Sorted sets of up to so many members have a compact encoding in Redis (zset-max-listpack-entries)."""

_DRAWS: Final = 16
"""The most members that are drawn at once."""

_NOTHING: Final[set[bytes]] = set()
"""The `gone` of all sets without an order, shared by them; it stays empty."""


@final
class ListValue:
    """A list; never empty while stored. `items` is left to right."""

    __slots__ = ("items",)

    def __init__(self, items: deque[bytes] | None = None) -> None:
        self.items: deque[bytes] = deque() if items is None else items

    def at(self, index: int) -> bytes | None:
        """The element at an index, None beyond the ends; negative indices count from the end."""
        size = len(self.items)
        return self.items[index] if -size <= index < size else None

    def replace(self, index: int, element: bytes) -> bool:
        """Replace the element at an index (see `at`); False beyond the ends."""
        size = len(self.items)
        if not -size <= index < size:
            return False
        self.items[index] = element
        return True


@final
class SetValue:
    """A set; never empty while stored.

    Uniform random picks need positions, which a Python set does not have. So a list of the members, `order`, is built
    at the first pick; sets without picks do not pay for it. A member that is discarded later stays in `order`, and is
    in `gone`, until a pick meets it: then it leaves both, and the pick draws again. When half of the members in `order`
    are gone, `order` is dropped, and the next pick builds it anew.
    Popping draws several members at once, so that the waits for memory overlap: the last `_drawn` members of `order`
    are popped next, from the end. Any other change of `order` cancels these draws.
    Invariants: order is None and `gone` empty, or order holds each member, and each of `gone`, once; no member is gone.
    0 <= _drawn <= len(order).
    """

    __slots__ = ("_at_once", "_drawn", "gone", "members", "order")

    def __init__(self, members: set[bytes] | None = None) -> None:
        self.members: set[bytes] = set() if members is None else members
        self.order: list[bytes] | None = None
        self.gone: set[bytes] = _NOTHING
        self._drawn = 0
        self._at_once = 1

    def add(self, member: bytes) -> bool:
        """Add a member; True if it is new."""
        members = self.members
        before = len(members)
        members.add(member)
        if len(members) == before:
            return False
        if self.order is not None:
            if member in self.gone:
                self.gone.remove(member)
            else:
                self.order.append(member)
                self._drawn = 0
                self._at_once = 1
        return True

    def discard(self, member: bytes) -> bool:
        """Remove a member; True if it was there."""
        if member not in self.members:
            return False
        self.members.remove(member)
        if self.order is not None:
            if 2 * len(self.gone) < len(self.order):
                self.gone.add(member)
            else:
                self.order = None
                self.gone = _NOTHING
                self._drawn = 0
        return True

    def update(self, members: Iterable[bytes]) -> int:
        """Add several members; how many of them are new."""
        if self.order is None:
            before = len(self.members)
            self.members.update(members)
            return len(self.members) - before
        added = 0
        for member in members:
            if self.add(member):
                added += 1
        return added

    def pick(self, below: Below) -> bytes:
        """A uniformly random member. The set must not be empty."""
        order = self._ordered()
        return order[self._draw(order, below)]

    def pop_random(self, below: Below) -> bytes:
        """Remove and return a uniformly random member. The set must not be empty."""
        order = self._ordered()
        while True:
            if not self._drawn:
                self._draw_ahead(order, below)
            self._drawn -= 1
            member = order.pop()
            if self.gone and member in self.gone:
                self.gone.remove(member)
            else:
                self.members.remove(member)
                return member

    def _draw_ahead(self, order: list[bytes], below: Below) -> None:
        """Draw the members that are popped next, twice as many as last time, up to _DRAWS.

        These are the first steps of a Fisher-Yates shuffle from the end.
        """
        count = min(self._at_once, len(order))
        self._at_once = min(2 * count, _DRAWS)
        draw_last(order, count, below)
        prefetch_members(self.members, order, len(order) - count)
        self._drawn = count

    def sample(self, count: int, below: Below) -> list[bytes]:
        """`count` different members at random, in random order; all of them when there are no more."""
        size = len(self.members)
        if count >= size:
            return list(self.members)
        if count > size // 3:
            members = list(self.members)
            return [members[slot] for slot in distinct_positions(count, size, below)]
        chosen: dict[bytes, None] = {}
        while len(chosen) < count:
            chosen[self.pick(below)] = None
        return list(chosen)

    def _ordered(self) -> list[bytes]:
        order = self.order
        if order is None:
            order = self.order = list(self.members)
            self.gone = set()
        return order

    def _draw(self, order: list[bytes], below: Below) -> int:
        """A random place of `order` whose member is in the set. Members in `gone` that it meets leave `order`."""
        gone = self.gone
        while True:
            slot = below(len(order))
            if not gone or order[slot] not in gone:
                return slot
            gone.remove(order[slot])
            last = order.pop()
            if slot < len(order):
                order[slot] = last
            self._drawn = 0


@final
class HashValue:
    """A hash; never empty while stored. `expires` (field -> Unix ms) exists only while a field has a time to live.

    Anybody may read `fields` and `expires`. Only the methods here change them, with two exceptions: the content of an
    existing field may be assigned in `fields`, which keeps its time to live; and while `expires` is None, `fields` may
    be changed like any dict.
    A heap tells which field expires first. It is built when that is first asked; entries that no longer agree with
    `expires` are dropped when they reach the top.
    Invariants: expires is None or a non-empty map of some of the fields; every (ms, field) of `expires` is in the heap,
    once that is built.
    """

    __slots__ = ("_deadlines", "expires", "fields")

    def __init__(self, fields: dict[bytes, bytes] | None = None, expires: dict[bytes, int] | None = None) -> None:
        self.fields: dict[bytes, bytes] = {} if fields is None else fields
        self.expires: dict[bytes, int] | None = expires
        self._deadlines: list[tuple[int, bytes]] | None = None

    def put(self, field: bytes, content: bytes) -> bool:
        """Set a field and take away its time to live; True if the field is new."""
        fields = self.fields
        created = field not in fields
        fields[field] = content
        if self.expires is not None:
            self.persist(field)
        return created

    def discard(self, field: bytes) -> bool:
        """Remove a field; True if it was there."""
        if self.fields.pop(field, None) is None:
            return False
        if self.expires is not None:
            self.persist(field)
        return True

    def expiry(self, field: bytes) -> int | None:
        """When a field expires (Unix ms). None if it never does, or there is no such field."""
        return None if self.expires is None else self.expires.get(field)

    def expire_at(self, field: bytes, at_ms: int) -> None:
        """Set the time to live of an existing field."""
        assert field in self.fields
        if self.expires is None:
            self.expires = {}
        self.expires[field] = at_ms
        if self._deadlines is not None:
            if len(self._deadlines) > 2 * len(self.expires) + _STALE_DEADLINES:
                self._deadlines = None
            else:
                heappush(self._deadlines, (at_ms, field))

    def persist(self, field: bytes) -> bool:
        """Take away a field's time to live; True if it had one."""
        if self.expires is None or self.expires.pop(field, None) is None:
            return False
        if not self.expires:
            self.expires = None
            self._deadlines = None
        return True

    def earliest_ms(self) -> int | None:
        """When the first field expires (Unix ms), None if none does."""
        expires = self.expires
        if expires is None:
            return None
        deadlines = self._deadlines
        if deadlines is None:
            deadlines = self._deadlines = [(at_ms, field) for field, at_ms in expires.items()]
            heapify(deadlines)
        while expires.get(deadlines[0][1]) != deadlines[0][0]:
            heappop(deadlines)
        return deadlines[0][0]

    def has_due(self, now_ms: int) -> bool:
        """Has the time of a field come (at or before `now_ms`)?"""
        earliest = self.earliest_ms()
        return earliest is not None and earliest <= now_ms

    def remove_due(self, now_ms: int, limit: int) -> list[bytes]:
        """Remove up to `limit` fields whose time has come, the earliest first; returns their names."""
        removed: list[bytes] = []
        while len(removed) < limit and self.has_due(now_ms):
            assert self._deadlines is not None
            field = self._deadlines[0][1]
            self.discard(field)
            removed.append(field)
        return removed

    def without_due(self, now_ms: int) -> HashValue:
        """A copy that lacks the fields whose time has come; O(size)."""
        expires = self.expires or {}
        fields = {field: content for field, content in self.fields.items() if expires.get(field, now_ms + 1) > now_ms}
        return HashValue(fields, {field: at_ms for field, at_ms in expires.items() if at_ms > now_ms} or None)


@final
class ZsetValue:
    """A sorted set; never empty while stored.

    `scores` holds the data. `order`, (score, member) ascending, is built when a range or rank is first asked for, and
    kept up to date from then on: a full sync, ZADD and ZSCORE alone do not pay for it.
    """

    __slots__ = ("_order", "scores")

    def __init__(self, scores: dict[bytes, float] | None = None) -> None:
        self.scores: dict[bytes, float] = {} if scores is None else scores
        self._order: SortedList | None = None

    @property
    def has_order(self) -> bool:
        """Has `order` been built, because a range or a rank was asked for?"""
        return self._order is not None

    @property
    def order(self) -> SortedList:
        """SortedList of (score, member); do not change it, use the methods here."""
        order = self._order
        if order is None:
            order = self._order = SortedList([(score, member) for member, score in self.scores.items()])
        return order

    @property
    def pieces(self) -> list[list[tuple[float, bytes]]]:
        """The entries of `order` as it holds them: in lists that follow each other, none of them empty (what
        sortedcontainers 2 documents under Implementation Details). For walks that are too hot for its own."""
        pieces: list[list[tuple[float, bytes]]] = self.order._lists
        return pieces

    def put(self, member: bytes, score: float) -> None:
        """Add a member or change its score. `score` is not nan.

        In a small sorted set -0 becomes 0, as in Redis, whose compact encoding holds integral scores as integers.
        """
        if score == 0.0 and len(self.scores) < _COMPACT_ZSET:
            score = 0.0
        if self._order is not None:
            old = self.scores.get(member)
            if old is not None:
                self._order.remove((old, member))
            self._order.add((score, member))
        self.scores[member] = score

    def discard(self, member: bytes) -> bool:
        """Remove a member; True if it was there."""
        score = self.scores.pop(member, None)
        if score is None:
            return False
        if self._order is not None:
            self._order.remove((score, member))
        return True

    def drop_negative_zeros(self) -> None:
        """Do what `put` does to -0 for scores that were handed to the constructor."""
        if len(self.scores) <= _COMPACT_ZSET:
            self.scores = {member: score or 0.0 for member, score in self.scores.items()}

    def pop(self, index: int) -> tuple[float, bytes]:
        """Remove and return the (score, member) at an index of `order`; -1 is the last."""
        entry: tuple[float, bytes] = self.order.pop(index)
        del self.scores[entry[1]]
        return entry

    def slice(self, start: int, end: int) -> list[tuple[float, bytes]]:
        """The (score, member) of the half-open range [start, end) of `order`; bounds are within 0..size."""
        return list(self.order.islice(start, end))

    def remove_slice(self, start: int, end: int) -> None:
        """Remove the half-open range [start, end) of `order`; bounds are within 0..size."""
        order = self.order
        scores = self.scores
        for _, member in order.islice(start, end):
            del scores[member]
        del order[start:end]


Value: TypeAlias = bytes | ListValue | SetValue | HashValue | ZsetValue | StreamValue | VectorSetValue
"""A value that a database stores under a key."""


def is_string(value: Value | None) -> TypeGuard[bytes]:
    """Is this a string? A packed collection is not, though its class derives from `bytes`."""
    return type(value) is bytes


def type_name(value: Value) -> str:
    """The name of a value's type, which the command TYPE answers."""
    kind = type(value)
    if kind is bytes:
        return "string"
    if kind is ListValue:
        return "list"
    if kind is SetValue:
        return "set"
    if kind is HashValue:
        return "hash"
    if kind is ZsetValue:
        return "zset"
    return "stream" if kind is StreamValue else "vectorset"


def plain_value(value: Value) -> object:
    """The form that `pyrepl.rdb` encodes. It shares the elements with `value`: do not change it."""
    if isinstance(value, ListValue):
        return value.items
    if isinstance(value, SetValue):
        return value.members
    if isinstance(value, ZsetValue):
        return value.scores
    if isinstance(value, HashValue):
        return HashWithTtls(value.fields, value.expires) if value.expires else value.fields
    return value


def from_plain(plain: object) -> Value:
    """The stored form of a value that `pyrepl.rdb` has decoded; takes over the elements.

    Raises TypeError for anything that rdb does not produce.
    """
    if isinstance(plain, bytes | StreamValue | VectorSetValue):
        return plain
    if isinstance(plain, list | deque):
        return ListValue(deque(plain))
    if isinstance(plain, set):
        return SetValue(plain)
    if isinstance(plain, HashWithTtls):
        return HashValue(plain.fields, plain.expires_ms or None)
    if isinstance(plain, dict):
        for sample in plain.values():
            return ZsetValue(plain) if isinstance(sample, float) else HashValue(plain)
    raise TypeError(f"no value type for {type(plain).__name__}")


def wrong_type() -> CommandError:
    """The error for a command that meets a value of another type."""
    return CommandError(WRONG_TYPE)
