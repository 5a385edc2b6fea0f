"""The plain store: a dictionary of values and one of times to live, as Redis has them. Hot.

`store.Store` says what a store must do, and what each method promises. The other modules of this room that know of
dictionaries: `key_order` (cursors of SCAN), `key_round` (all keys, some at a time), `prefetch` (memory asked for before
it is read), `borrowed_keys` (all keys for a snapshot's child), `plain_table` (dictionaries made larger).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, final

from pyrepl.rdb.taker import DictTaker, Taker
from pyrepl.store.borrowed_keys import frozen
from pyrepl.store.key_order import KeyOrder, order_of, with_added, without
from pyrepl.store.key_round import KeyRound
from pyrepl.store.plain_table import PlainTable
from pyrepl.store.prefetch import WINDOW, prefetch_commands, prefetch_words


def _new_table() -> dict[bytes, Any]:
    """An empty dictionary for values that the cycle collector tracks from the start.

    Otherwise the collector would begin to track the dictionary at the first value that is a collection, and then go
    through millions of strings. A dictionary that is tracked can be frozen (`gc.freeze`) while it is small, and
    `daemon.memory.housekeeper` does so.
    """
    table: dict[bytes, Any] = {b"": []}
    table.clear()
    return table


@final
class PlainStore:
    """See Store. Only modules of this room use the two dictionaries.

    Invariants: every key of `expires` is a key of `values`; `order`, if there is one, lists the keys of `values`.
    """

    __slots__ = ("expires", "order", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, Any] = _new_table()
        self.expires: dict[bytes, int] = {}
        """Unix ms."""
        self.order: KeyOrder | None = None
        """The order for SCAN and RANDOMKEY, made at the first of these commands; None before that."""

    @property
    def key_count(self) -> int:
        return len(self.values)

    @property
    def timed_count(self) -> int:
        return len(self.expires)

    @property
    def table_id(self) -> int:
        return id(self.values)

    def get(self, key: bytes) -> Any:
        return self.values.get(key)

    def live(self, key: bytes, now_ms: int) -> Any:
        value = self.values.get(key)
        if value is not None and self.expires:
            at_ms = self.expires.get(key)
            if at_ms is not None and at_ms <= now_ms:
                return None
        return value

    def holds(self, key: bytes) -> bool:
        return key in self.values

    def expiry_of(self, key: bytes) -> int | None:
        return self.expires.get(key)

    def put(self, key: bytes, value: Any, now_ms: int) -> bool:
        if self.order is not None and key not in self.values:
            self.order = with_added(self.order, key, now_ms)
        self.values[key] = value
        if self.expires:
            at_ms = self.expires.pop(key, None)
            return at_ms is not None and at_ms <= now_ms
        return False

    def replace(self, key: bytes, value: Any, now_ms: int) -> None:
        if self.order is not None and key not in self.values:
            self.order = with_added(self.order, key, now_ms)
        self.values[key] = value

    def pop(self, key: bytes, now_ms: int) -> Any:
        value = self.values.pop(key, None)
        if value is not None:
            if self.expires:
                self.expires.pop(key, None)
            if self.order is not None:
                self.order = without(self.order, key, now_ms)
        return value

    def expire(self, key: bytes, at_ms: int) -> None:
        assert key in self.values
        self.expires[key] = at_ms

    def persist(self, key: bytes) -> None:
        self.expires.pop(key, None)

    def load(self, values: Mapping[bytes, Any]) -> None:
        self.order = None
        self.values.update(values)

    def load_expiries(self, expires: Mapping[bytes, int]) -> None:
        self.expires.update(expires)

    def taker(self) -> Taker:
        self.order = None
        return DictTaker(self.values)

    def freeze(self) -> object:
        return frozen(self.values, self.expires)

    def items(self) -> Iterable[tuple[bytes, Any]]:
        return self.values.items()

    def all_keys(self) -> list[bytes]:
        return list(self.values)

    def first_keys(self, count: int) -> list[bytes]:
        return list(islice(self.values, count))

    def newest_keys(self, count: int) -> list[bytes]:
        return list(islice(reversed(self.values), count))

    def some_expiries(self, count: int) -> list[int]:
        return list(islice(self.expires.values(), count))

    def key_round(self, *, exact: bool = False) -> KeyRound:
        return KeyRound(self.values, exact=exact)

    def timed_round(self) -> KeyRound:
        return KeyRound(self.expires)

    def has_round(self, begun: KeyRound) -> bool:
        return begun.source is self.values

    def has_timed_round(self, begun: KeyRound) -> bool:
        return begun.source is self.expires

    @property
    def has_order(self) -> bool:
        return self.order is not None

    def take_order(self, keys: list[bytes] | None, now_ms: int) -> None:
        self.order = KeyOrder(self.values, now_ms, keys)

    def scan(self, cursor: int, count: int, now_ms: int) -> tuple[int, list[bytes]]:
        self.order = order_of(self.order, self.values, now_ms)
        return self.order.window(cursor, count)

    def draw(self, below: Callable[[int], int], now_ms: int) -> bytes:
        self.order = order_of(self.order, self.values, now_ms)
        return self.order.keys[below(len(self.order.keys))]

    def close_gaps(self) -> None:
        if self.order is not None:
            self.order.renew()

    def table_bytes(self) -> tuple[int, int]:
        return self.values.__sizeof__() if self.values else 0, self.expires.__sizeof__() if self.expires else 0

    def growable(self) -> tuple[PlainTable, PlainTable]:
        return PlainTable(self.values), PlainTable(self.expires)

    def prefetch_commands(self, commands: list[list[bytes]], start: int) -> int:
        return prefetch_commands(self.values, self.expires, commands, start)

    def prefetch_words(self, words: list[bytes], start: int, step: int) -> int:
        prefetch_words(self.values, self.expires, words, start, step)
        return start + step * WINDOW

    def clear(self) -> tuple[dict[bytes, Any], dict[bytes, int], list[bytes]]:
        values, expires = self.values, self.expires
        ordered = [] if self.order is None else self.order.keys
        self.values, self.expires, self.order = _new_table(), {}, None
        return values, expires, ordered
