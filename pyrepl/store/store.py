"""What a table of keys must be able to do. Pure: it has no rule on expiry, keeps no notes, and calls nobody.

The rules and notes are in `pyrepl.keyspace.database.Database`, which holds one store. Commands and the node see only
the `Database`. It names the class of its store (`PlainStore`) and not this protocol, so that compiled calls go straight
to the class; one line there puts another store in place. Another store must fit the protocol. For each thing that is
compiled for the dictionaries of the plain store, it brings a form of its own, or does without:

| what | where | without |
|---|---|---|
| keys of a snapshot, in bulk | `taker` lends a dictionary to `rdb.compiled.bulk` | lend another, then `load` it |
| room for keys to come | `growable`, by `rdb.compiled.room` | grows by itself: `Growable.size_for` is 0 |
| a walk that writes nothing | `freeze`, read by `keyspace.borrowed_walk` | `keyspace.walk.PlainWalk` by `items` |

A snapshot's child is forked: a store may change during a snapshot, as long as its memory is not shared with the child.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

from pyrepl.rdb.taker import Taker


class Round(Protocol):
    """Gives all keys, some at a time, while the store changes; see `key_round.KeyRound`."""

    restarts: int

    @property
    def is_listed(self) -> bool: ...

    def take(self, count: int) -> list[bytes]: ...


class Room(Protocol):
    """Memory for a larger table, which nothing else uses. Any thread may call these methods, one thread at a time."""

    def make(self, touches_entries: bool = True) -> None:
        """Make an empty table in this memory. Touches every page of it, or only those before the entries."""

    def give_back(self) -> None:
        """Give the pages back to the system. The room cannot be used any more."""


class Growth(Protocol):
    """The move of one large table into a room that was made, in steps, while its keys change."""

    def step(self, count: int) -> int:
        """Find a place for the next `count` entries. How many entries are left after them, -1 when the move failed."""

    def finish(self) -> Room | None:
        """Exchange the tables. Returns the memory of the old table, None when the move failed. It also moves the
        entries that are left, so call it when they are few."""


class Growable(Protocol):
    """A table that may be made larger while clients are served. Two of them are equal if they stand for the same table.

    `clear` and `Database.swap` give a database another table.
    """

    def __len__(self) -> int:
        """The number of entries in the table."""

    def size_for(self, count: int) -> int:
        """The size of a room for `count` entries, to be given to `room`; larger for more entries. 0: make no room."""

    def filling(self) -> tuple[int, int]:
        """(entries made so far, entries that still have room) of a large table; (0, 0) for any other table."""

    def room(self, size: int) -> Room:
        """Take memory of a size that `size_for` returned. Raises MemoryError."""

    def move_in(self, room: Room) -> None:
        """Move the table, which has few keys, into a room that was made. If that cannot be done, it stays as it is."""

    def growth(self, room: Room) -> Growth:
        """Begin to move the table into a room that was made. `filling` must have returned numbers for this table."""


class Store(Protocol):
    """One table of keys: each has a value, never None, and some have a time (Unix ms) at which they expire.

    `now_ms` is Unix ms; a time has passed when it is <= `now_ms`. Nothing is deleted because its time has passed.
    """

    @property
    def key_count(self) -> int:
        """The number of keys, whether their time has passed or not."""

    @property
    def timed_count(self) -> int:
        """The number of keys with a time to live."""

    @property
    def table_id(self) -> int:
        """A number that stands for the table; `clear` puts a new table in place, which has another number."""

    def get(self, key: bytes) -> Any:
        """The value, whether its time has passed or not; None without the key."""

    def live(self, key: bytes, now_ms: int) -> Any:
        """The value; None without the key, or when its time has passed."""

    def holds(self, key: bytes) -> bool:
        """Is there such a key, whether its time has passed or not?"""

    def expiry_of(self, key: bytes) -> int | None:
        """When the key expires (Unix ms); None when it has no time to live, or there is no such key."""

    def put(self, key: bytes, value: Any, now_ms: int) -> bool:
        """Store a value in place of any old value and its time to live. True if the old value's time had passed."""

    def replace(self, key: bytes, value: Any, now_ms: int) -> None:
        """Store a value and keep the time to live that the key has."""

    def pop(self, key: bytes, now_ms: int) -> Any:
        """Remove a key and its time to live. Returns its value, None if there was no such key."""

    def expire(self, key: bytes, at_ms: int) -> None:
        """Set when a key expires (Unix ms). The key must be there."""

    def persist(self, key: bytes) -> None:
        """Take a key's time to live away, if it has one."""

    def load(self, values: Mapping[bytes, Any]) -> None:
        """`replace` for many keys, while nothing else uses the store."""

    def load_expiries(self, expires: Mapping[bytes, int]) -> None:
        """`expire` for many keys."""

    def taker(self) -> Taker:
        """The object that takes in a snapshot's strings and packed values, while nothing else uses the store."""

    def freeze(self) -> object:
        """All keys as they are, for the compiled `keyspace.borrowed_walk`. The store must not change before its end."""

    def items(self) -> Iterable[tuple[bytes, Any]]:
        """All keys and values. The store must not change before the iteration ends."""

    def all_keys(self) -> list[bytes]:
        """All keys in the order of their insertion: O(keys)."""

    def first_keys(self, count: int) -> list[bytes]:
        """Up to `count` keys: those that are found fastest."""

    def newest_keys(self, count: int) -> list[bytes]:
        """The `count` keys inserted last, or all."""

    def some_expiries(self, count: int) -> list[int]:
        """When up to `count` of the keys with a time to live expire (Unix ms): those that are found first."""

    def key_round(self, *, exact: bool = False) -> Round:
        """A round through all keys; `exact` as in KeyRound."""

    def timed_round(self) -> Round:
        """A round through the keys with a time to live; not exact."""

    def has_round(self, begun: Any) -> bool:
        """Does this `key_round` go through the present table? Not after a `clear`."""

    def has_timed_round(self, begun: Any) -> bool:
        """As `has_round`, for `timed_round`."""

    @property
    def has_order(self) -> bool:
        """Can `scan` and `draw` begin without going through all keys first?"""

    def take_order(self, keys: list[bytes] | None, now_ms: int) -> None:
        """Take the order that `scan` and `draw` need: all keys in the order of their insertion, with gaps, as an exact
        round gave them. None: make the order now, O(keys)."""

    def scan(self, cursor: int, count: int, now_ms: int) -> tuple[int, list[bytes]]:
        """(next cursor, keys at the next `count` places). The cursor 0 begins and ends an iteration. Some keys may have
        been deleted. `key_order` says what an iteration promises."""

    def draw(self, below: Callable[[int], int], now_ms: int) -> bytes:
        """A random key, perhaps a deleted one; the store must not be empty. `below(n)` gives an integer in [0, n)."""

    def close_gaps(self) -> None:
        """Remove the deleted keys that `draw` can return; for a caller that has met many of them. O(keys)."""

    def table_bytes(self) -> tuple[int, int]:
        """(bytes of the table of keys, bytes of the table of times to live), without the objects in them; 0 for an
        empty table."""

    def growable(self) -> tuple[Growable, Growable]:
        """The table of keys and the table of times to live, for the daemon, which makes them larger in time."""

    def prefetch_commands(self, commands: list[list[bytes]], start: int) -> int:
        """Ask the memory for the first keys of the commands from `start` on; before which command to ask again."""

    def prefetch_words(self, words: list[bytes], start: int, step: int) -> int:
        """Ask the memory for the keys `words[start::step]`. Returns before which word to ask again."""

    def clear(self) -> tuple[dict[bytes, Any], Collection[Any], Collection[Any]]:
        """Forget all keys. Returns the collections that the caller must free: first the keys with their values."""
