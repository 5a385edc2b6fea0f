"""What a table of keys must be able to do. Pure: no rule on expiry, no notes of values, nobody is told of anything.

Those are `pyrepl.keyspace.database.Database`'s, which holds one store and is all that the commands and the node see.
It names the class of its store (`PlainStore`) and not this protocol, so that compiled calls go straight to it; another
store is put in place there, by one line. It must fit the protocol, and bring its own form of what is compiled for the
dictionaries of the plain one, or do without:

| what | where | without |
|---|---|---|
| keys of a snapshot, in bulk | `taker` lends a dictionary to `rdb.compiled.bulk` | lend another, then `load` it |
| room for keys to come | `growable`, by `rdb.compiled.room` | grows by itself: `Growable.size_for` is 0 |
| a walk that writes nothing | `freeze`, read by `keyspace.borrowed_walk` | `keyspace.walk.PlainWalk` by `items` |

A snapshot's child is forked: nothing has to be held still for it, as long as a store is in memory that is not shared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

from pyrepl.rdb.taker import Taker


class Round(Protocol):
    """All keys, some at a time, while they change; see `key_round.KeyRound`."""

    restarts: int

    @property
    def is_listed(self) -> bool: ...

    def take(self, count: int) -> list[bytes]: ...


class Room(Protocol):
    """Memory for a larger table, which belongs to nobody else. Any thread may call these, one at a time."""

    def make(self, touches_entries: bool = True) -> None:
        """An empty table in it; every page of it has been touched then, or only those before the entries."""

    def give_back(self) -> None:
        """Its pages to the system; it is of no use any more."""


class Growth(Protocol):
    """Of one large table, into a room that was made; while its keys change."""

    def step(self, count: int) -> int:
        """Find a place for the next `count` entries; how many there are after them, -1 when it comes to nothing."""

    def finish(self) -> Room | None:
        """Exchange the tables; what the old one had, None when it comes to nothing. Best called when few are left."""


class Growable(Protocol):
    """A table that may be made larger beside all else. Two that are equal are of the same table, which `clear` and
    `Database.swap` exchange."""

    def __len__(self) -> int:
        """Entries that are there."""

    def size_for(self, count: int) -> int:
        """What `room` is to be asked for so many entries, larger for more; 0: none is made."""

    def filling(self) -> tuple[int, int]:
        """(entries made, those that there is room for still) of a large table; (0, 0) for any other."""

    def room(self, size: int) -> Room:
        """Memory of a size that `size_for` gave. Raises MemoryError."""

    def move_in(self, room: Room) -> None:
        """Have a room that was made, with the few keys there are; whether it has is nobody's affair."""

    def growth(self, room: Room) -> Growth:
        """Begin to move into a room that was made; `filling` must have told of this table."""


class Store(Protocol):
    """One table of keys: a value for each, never None, and for some the Unix ms at which their time ends.

    `now_ms` is Unix ms; a time has passed when it is <= `now_ms`. Nothing is deleted because its time has passed.
    """

    @property
    def key_count(self) -> int:
        """Keys, whether their time has passed or not."""

    @property
    def timed_count(self) -> int:
        """Keys with a time to live."""

    @property
    def table_id(self) -> int:
        """Another one once the table has been exchanged, which `clear` does."""

    def get(self, key: bytes) -> Any:
        """The value, whether its time has passed or not; None without the key."""

    def live(self, key: bytes, now_ms: int) -> Any:
        """The value; None without the key, or when its time has passed."""

    def holds(self, key: bytes) -> bool:
        """Is there such a key, whether its time has passed or not?"""

    def expiry_of(self, key: bytes) -> int | None:
        """When the key's time ends; None when it has none, or there is no key."""

    def put(self, key: bytes, value: Any, now_ms: int) -> bool:
        """Store a value in place of whatever was there, time to live included; had the old one's time passed?"""

    def replace(self, key: bytes, value: Any, now_ms: int) -> None:
        """Store a value and keep the time to live that the key has."""

    def pop(self, key: bytes, now_ms: int) -> Any:
        """Take a key away, time to live included; its value, None if there was no such key."""

    def expire(self, key: bytes, at_ms: int) -> None:
        """Set when the time of a key ends that is there."""

    def persist(self, key: bytes) -> None:
        """Take a key's time to live away, if it has one."""

    def load(self, values: Mapping[bytes, Any]) -> None:
        """`replace` for many, while nothing else uses the store."""

    def load_expiries(self, expires: Mapping[bytes, int]) -> None:
        """`expire` for many."""

    def taker(self) -> Taker:
        """Who takes in the strings and the packed values of a snapshot, while nothing else uses the store."""

    def freeze(self) -> object:
        """All keys as they are, for `keyspace.borrowed_walk` in its compiled form; nothing may change meanwhile."""

    def items(self) -> Iterable[tuple[bytes, Any]]:
        """All keys and values; nothing may change meanwhile."""

    def all_keys(self) -> list[bytes]:
        """All keys in the order of their insertion: O(keys)."""

    def first_keys(self, count: int) -> list[bytes]:
        """Up to `count` keys, whichever are quickest to find."""

    def newest_keys(self, count: int) -> list[bytes]:
        """The `count` keys inserted last, or all."""

    def some_expiries(self, count: int) -> list[int]:
        """When the time of up to `count` keys ends that have one, whichever come first."""

    def key_round(self, *, exact: bool = False) -> Round:
        """A round through all keys; `exact` as KeyRound has it."""

    def timed_round(self) -> Round:
        """A round through the keys with a time to live; not exact."""

    def has_round(self, begun: Any) -> bool:
        """Is this a `key_round` through the keys that are here now? No longer after `clear`."""

    def has_timed_round(self, begun: Any) -> bool:
        """As `has_round`, for `timed_round`."""

    @property
    def has_order(self) -> bool:
        """Can `scan` and `draw` begin without going through all keys first?"""

    def take_order(self, keys: list[bytes] | None, now_ms: int) -> None:
        """What they would have to go through: all keys in the order of their insertion, with gaps, as an exact round
        gave them. None: to be made now, O(keys)."""

    def scan(self, cursor: int, count: int, now_ms: int) -> tuple[int, list[bytes]]:
        """(next cursor, keys at the next `count` places); 0 begins and ends. Some may be gone. `key_order` has the
        promise."""

    def draw(self, below: Callable[[int], int], now_ms: int) -> bytes:
        """A random key, perhaps one that is gone; there must be keys. `below(n)` gives an integer in [0, n)."""

    def close_gaps(self) -> None:
        """Let `draw` find no keys that are gone, for who met many: O(keys)."""

    def table_bytes(self) -> tuple[int, int]:
        """(bytes of the table of keys, of that of times to live), what they refer to left out; 0 for an empty one."""

    def growable(self) -> tuple[Growable, Growable]:
        """The table of keys, and that of times to live, for who makes them larger beside all else."""

    def prefetch_commands(self, commands: list[list[bytes]], start: int) -> int:
        """Ask the memory for the first keys of the commands from `start` on; before which command to ask again."""

    def prefetch_words(self, words: list[bytes], start: int, step: int) -> int:
        """Ask the memory for the keys `words[start::step]`; before which word to ask again."""

    def clear(self) -> tuple[dict[bytes, Any], Collection[Any], Collection[Any]]:
        """Forget all keys; what is to be freed, the keys with their values first, emptied by who takes it."""
