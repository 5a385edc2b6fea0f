"""Notes when and how often keys are accessed, for eviction by LRU or LFU and for OBJECT IDLETIME and FREQ.

One number per key in `Database.accesses`, kept only while a policy needs it; what it means depends on the policy:

| policy | number                          | bounds                                |
|--------|---------------------------------|---------------------------------------|
| LRU    | Unix seconds of the last access | one int object shared by all of a second |
| LFU    | minute << 8 or counter          | one int object shared per minute and counter |

The counter is Redis's (`LFULogIncr`, `LFUDecrAndReturn`, 4.0): logarithmic by chance, less by one for each
lfu-decay-time minutes without access. A key without a number was there before: it counts as accessed once, when the
keeping began. The dispatcher decides which commands count as access; `eviction` decides which key goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, NamedTuple, final

from pyrepl.keyspace.database import Database, Keyspace

INITIAL_FREQUENCY: Final = 5
"""The counter of a new key, so that it is not evicted before it could be used."""
MAX_FREQUENCY: Final = 255
_SLACK: Final = 1024
"""Numbers of deleted keys are dropped when there are more of them than this plus a quarter of the keys."""


class Tracking(Enum):
    """What the numbers mean that are kept."""

    NONE = "none"
    LRU = "lru"
    LFU = "lfu"


class Clocks(NamedTuple):
    """The numbers of one database at one moment, for a snapshot."""

    tracking: Tracking
    """LRU or LFU."""
    numbers: Mapping[bytes, int]
    untouched: int
    """The number of a key that has none."""
    now: int
    """Unix seconds with LRU, Unix minutes with LFU."""
    decay_minutes: int

    def of(self, key: bytes) -> int:
        """Seconds since the last access with LRU; the counter after its decay, in [0, 255], with LFU."""
        number = self.numbers.get(key, self.untouched)
        if self.tracking is Tracking.LRU:
            return max(0, self.now - number)
        counter = number & 0xFF
        if not self.decay_minutes:
            return counter
        return max(0, counter - max(0, self.now - (number >> 8)) // self.decay_minutes)


@final
class AccessTracker:
    """Keeps the numbers of all databases of a keyspace.

    Invariant: while `tracking` is NONE every `accesses` is empty.
    """

    __slots__ = ("_keyspace", "_minute", "_row", "_second", "_since_s", "decay_minutes", "log_factor", "tracking")

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self.tracking: Tracking = Tracking.NONE
        self.log_factor: int = 10
        self.decay_minutes: int = 1
        """0: counters never decay."""
        self._since_s = 0
        self._second = 0
        self._minute = -1
        self._row: list[int] = []

    def track(self, tracking: Tracking) -> None:
        """Keep numbers of this meaning from now on; numbers of another meaning are forgotten."""
        if tracking is self.tracking:
            return
        self.tracking = tracking
        self._since_s = self._keyspace.now_ms // 1000
        for db in self._keyspace.databases:
            db.accesses = {}

    def touch(self, db: Database, key: bytes, below: Callable[[int], int]) -> None:
        """Note an access to `key`, which may be deleted by now; `below(n)` is random in [0, n)."""
        if not db.holds(key):
            db.accesses.pop(key, None)
        elif self.tracking is Tracking.LRU:
            second = self._keyspace.now_ms // 1000
            if second != self._second:
                self._second = second
            db.accesses[key] = self._second
        else:
            db.accesses[key] = self._counted(db, key, below)

    def take_loaded(self, db: Database, idle_s: Mapping[bytes, int], frequencies: Mapping[bytes, int]) -> None:
        """Take over what a snapshot says of its keys: seconds since the last access, and counters. Only the kind that
        the policy needs is kept (Redis 7.0 `objectSetLRUOrLFU`)."""
        if self.tracking is Tracking.LRU:
            second = self._keyspace.now_ms // 1000
            db.accesses.update(zip(idle_s, [second - idle for idle in idle_s.values()]))
        elif self.tracking is Tracking.LFU:
            row = self._row_of_now()
            db.accesses.update(zip(frequencies, [row[counter] for counter in frequencies.values()]))

    def clocks(self, db: Database) -> Clocks | None:
        """The numbers of a database as they are now; None while none are kept."""
        if self.tracking is Tracking.NONE:
            return None
        if self.tracking is Tracking.LRU:
            return Clocks(Tracking.LRU, db.accesses, self._since_s, self._keyspace.now_ms // 1000, 0)
        untouched = self._since_s // 60 << 8 | INITIAL_FREQUENCY
        return Clocks(Tracking.LFU, db.accesses, untouched, self._keyspace.now_ms // 60_000, self.decay_minutes)

    def idle_s(self, db: Database, key: bytes) -> int:
        """Seconds since the last access, while `tracking` is LRU."""
        return self._number(Tracking.LRU, db, key)

    def frequency(self, db: Database, key: bytes) -> int:
        """The counter, in [0, 255], after its decay, while `tracking` is LFU."""
        return self._number(Tracking.LFU, db, key)

    def _number(self, tracking: Tracking, db: Database, key: bytes) -> int:
        clocks = self.clocks(db)
        assert clocks is not None and clocks.tracking is tracking
        return clocks.of(key)

    def prune(self) -> None:
        """Drop numbers of keys that are gone, where there are many. O(keys) when there are, else O(databases)."""
        for db in self._keyspace.databases:
            if len(db.accesses) > db.key_count * 5 // 4 + _SLACK:
                db.accesses = {key: number for key, number in db.accesses.items() if db.holds(key)}

    def _counted(self, db: Database, key: bytes, below: Callable[[int], int]) -> int:
        if key not in db.accesses:
            counter = INITIAL_FREQUENCY
        else:
            counter = self.frequency(db, key)
            # The counter grows by chance: the higher it is, the smaller the chance, by `log_factor`.
            base = max(0, counter - INITIAL_FREQUENCY)
            if counter < MAX_FREQUENCY and below(base * self.log_factor + 1) == 0:
                counter += 1
        return self._row_of_now()[counter]

    def _row_of_now(self) -> list[int]:
        """The number of each counter in this minute."""
        minute = self._keyspace.now_ms // 60_000
        if minute != self._minute:
            self._minute = minute
            self._row = [minute << 8 | value for value in range(MAX_FREQUENCY + 1)]
        return self._row
