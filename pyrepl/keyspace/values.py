"""What can stand behind a key: a string is a plain `bytes` object, every other type a small class here.

A stream's payload is `pyrepl.rdb.values.StreamValue`, used as it is. Encoding for snapshots needs the plain form of a
value (`plain_value`); the way back is `from_plain`. Neither copies the elements.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias, final

from sortedcontainers import SortedList

from pyrepl.errors import CommandError
from pyrepl.rdb.values import HashWithTtls, StreamValue

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


@final
class ListValue:
    """A list; never empty while stored. `items` is left to right."""

    __slots__ = ("items",)

    def __init__(self, items: deque[bytes] | None = None) -> None:
        self.items: deque[bytes] = deque() if items is None else items


@final
class SetValue:
    """A set; never empty while stored.

    Uniform random picks need positions, which a Python set has not: `order` is built at the first pick and kept in
    step by `add` and `discard` from then on, so sets that nobody picks from pay nothing for it.
    Invariant: order is None, or order holds each member once and slots[order[i]] == i.
    """

    __slots__ = ("members", "order", "slots")

    def __init__(self, members: set[bytes] | None = None) -> None:
        self.members: set[bytes] = set() if members is None else members
        self.order: list[bytes] | None = None
        self.slots: dict[bytes, int] = {}

    def add(self, member: bytes) -> bool:
        """True if it was not there before."""
        if member in self.members:
            return False
        self.members.add(member)
        if self.order is not None:
            self.slots[member] = len(self.order)
            self.order.append(member)
        return True

    def discard(self, member: bytes) -> bool:
        """True if it was there."""
        if member not in self.members:
            return False
        self.members.remove(member)
        if self.order is not None:
            slot = self.slots.pop(member)
            last = self.order.pop()
            if last is not member and slot < len(self.order):
                self.order[slot] = last
                self.slots[last] = slot
        return True

    def pick(self, below: Callable[[int], int]) -> bytes:
        """A uniformly random member; `below(n)` gives an integer in [0, n). The set must not be empty."""
        if self.order is None:
            self.order = list(self.members)
            self.slots = {member: slot for slot, member in enumerate(self.order)}
        return self.order[below(len(self.order))]


@final
class HashValue:
    """A hash; never empty while stored. `expires` (field -> Unix ms) exists only while a field has a time to live."""

    __slots__ = ("expires", "fields")

    def __init__(self, fields: dict[bytes, bytes] | None = None, expires: dict[bytes, int] | None = None) -> None:
        self.fields: dict[bytes, bytes] = {} if fields is None else fields
        self.expires: dict[bytes, int] | None = expires


@final
class ZsetValue:
    """A sorted set; never empty while stored.

    `scores` is the truth; `order`, (score, member) ascending, is built at the first range or rank question and kept in
    step from then on, so a full sync and plain ZADD/ZSCORE traffic do not pay for it.
    """

    __slots__ = ("_order", "scores")

    def __init__(self, scores: dict[bytes, float] | None = None) -> None:
        self.scores: dict[bytes, float] = {} if scores is None else scores
        self._order: SortedList | None = None

    @property
    def order(self) -> SortedList:
        """SortedList of (score, member); do not change it, use `put` and `discard`."""
        if self._order is None:
            self._order = SortedList([(score, member) for member, score in self.scores.items()])
        return self._order

    def put(self, member: bytes, score: float) -> None:
        if self._order is not None:
            old = self.scores.get(member)
            if old is not None:
                self._order.remove((old, member))
            self._order.add((score, member))
        self.scores[member] = score

    def discard(self, member: bytes) -> bool:
        """True if it was there."""
        score = self.scores.pop(member, None)
        if score is None:
            return False
        if self._order is not None:
            self._order.remove((score, member))
        return True


Value: TypeAlias = bytes | ListValue | SetValue | HashValue | ZsetValue | StreamValue
"""What a database stores under a key."""


def type_name(value: Value) -> str:
    """The word that TYPE answers."""
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
    return "stream"


def plain_value(value: Value) -> object:
    """The form that `pyrepl.rdb` encodes, sharing the elements with `value`: do not change it."""
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
    """The stored form of what `pyrepl.rdb` decoded; takes over the elements.

    Raises TypeError for anything that rdb does not produce.
    """
    if isinstance(plain, bytes | StreamValue):
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
