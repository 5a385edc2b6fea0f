"""When and how often keys are accessed: what eviction by LRU or LFU, and OBJECT IDLETIME and FREQ, go by.

One number per key in `Database.accesses`, kept only while a policy needs it; what it means depends on the policy:

| policy | number                          | bounds                                |
|--------|---------------------------------|---------------------------------------|
| LRU    | Unix seconds of the last access | one int object shared by all of a second |
| LFU    | minute << 8 or counter          | one int object shared per minute and counter |

The counter is Redis's (`LFULogIncr`, `LFUDecrAndReturn`, 4.0): logarithmic by chance, less by one for each
lfu-decay-time minutes without access. A key without a number was there before: it counts as accessed once, when the
keeping began. Which commands count as access is the dispatcher's; whom to evict is `eviction`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, final

from pyrepl.keyspace.database import Database, Keyspace

INITIAL_FREQUENCY: Final = 5
"""What a new key begins with, so that it is not evicted before it had a chance."""
MAX_FREQUENCY: Final = 255
_SLACK: Final = 1024
"""Numbers of keys that are gone, beyond a quarter of those there are, after which they are dropped."""


class Tracking(Enum):
    """What is kept."""

    NONE = "none"
    LRU = "lru"
    LFU = "lfu"


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
        """Keep this from now on; numbers of another meaning are forgotten."""
        if tracking is self.tracking:
            return
        self.tracking = tracking
        self._since_s = self._keyspace.now_ms // 1000
        for db in self._keyspace.databases:
            db.accesses = {}

    def touch(self, db: Database, key: bytes, below: Callable[[int], int]) -> None:
        """An access to `key`, which may not be there any more; `below(n)` is random in [0, n)."""
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
        """What a snapshot says of its keys: seconds since the last access, counters. Of use is what the policy goes by
        (Redis 7.0 `objectSetLRUOrLFU`)."""
        if self.tracking is Tracking.LRU:
            second = self._keyspace.now_ms // 1000
            db.accesses.update((key, second - idle) for key, idle in idle_s.items())
        elif self.tracking is Tracking.LFU:
            minute = self._keyspace.now_ms // 60_000
            db.accesses.update((key, minute << 8 | counter) for key, counter in frequencies.items())

    def idle_s(self, db: Database, key: bytes) -> int:
        """Seconds since the last access, with LRU."""
        return max(0, self._keyspace.now_ms // 1000 - db.accesses.get(key, self._since_s))

    def frequency(self, db: Database, key: bytes) -> int:
        """The counter, in [0, 255], after its decay, with LFU."""
        number = db.accesses.get(key)
        if number is None:
            minute, counter = self._since_s // 60, INITIAL_FREQUENCY
        else:
            minute, counter = number >> 8, number & 0xFF
        if not self.decay_minutes:
            return counter
        return max(0, counter - max(0, self._keyspace.now_ms // 60_000 - minute) // self.decay_minutes)

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
            # By chance: the odds sink with what was counted already, by `log_factor`.
            base = max(0, counter - INITIAL_FREQUENCY)
            if counter < MAX_FREQUENCY and below(base * self.log_factor + 1) == 0:
                counter += 1
        minute = self._keyspace.now_ms // 60_000
        if minute != self._minute:
            self._minute = minute
            self._row = [minute << 8 | value for value in range(MAX_FREQUENCY + 1)]
        return self._row[counter]
