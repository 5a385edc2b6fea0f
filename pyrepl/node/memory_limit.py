"""maxmemory of one node: the memory that is compared with the limit, eviction, and the figures in INFO.

Used memory is the sum of three: the process before it had any data, the data (`keyspace.data_size`), and the memory of
connections and the backlog, which the daemon measures every 100 ms. Not counted, as in Redis: the part of the stream
that is kept for slow replicas beyond the backlog, and the connections of replicas. Otherwise a slow replica would cause
evictions, their DELs would make it slower, and this would cause more evictions.

Only a master evicts. A replica with replica-ignore-maxmemory no refuses its own clients' writes; it evicts nothing, as
its data would then differ from its master's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pyrepl.config.settings import Settings
from pyrepl.keyspace.access import AccessTracker, Tracking
from pyrepl.keyspace.data_size import DataSize
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.eviction import Eviction, Policy
from pyrepl.node.conditions import Condition, Conditions

NEVER: Final = -1.0


@final
class MemoryLimit:
    """The limit, the measure and the eviction of one node.

    Invariants: `full` is True only while `limited` is. The condition TRACKED holds exactly while the dispatcher must
    tell us of commands: there is a limit, or a policy that must know which keys are accessed.
    """

    __slots__ = (
        "_conditions",
        "_eviction",
        "_exceeded_s",
        "_may_evict",
        "_policy",
        "_policy_name",
        "_samples",
        "data",
        "evicted",
        "exceeded_since",
        "full",
        "limit_bytes",
        "limited",
        "overhead_bytes",
        "tracker",
    )

    def __init__(self, keyspace: Keyspace, conditions: Conditions) -> None:
        self.data = DataSize(keyspace)
        self.tracker = AccessTracker(keyspace)
        self._eviction = Eviction(keyspace, self.tracker)
        self._policy = Policy("noeviction")
        self._policy_name = "noeviction"
        self._samples = 5
        self._conditions = conditions
        self._may_evict = False
        self.limit_bytes = 0
        self.limited = False
        """Is there a limit that is not ignored?"""
        self.full = False
        """Is the limit exceeded, with nothing left to evict? Then writes that need memory are refused."""
        self.overhead_bytes = 0
        """The bytes that count besides the data; set by the daemon."""
        self.evicted: list[tuple[int, bytes]] = []
        """(database, key) of keys that were evicted, and whose DEL is not in the stream yet."""
        self.exceeded_since = NEVER
        """Monotonic seconds since when the limit is exceeded, or NEVER."""
        self._exceeded_s = 0.0

    def follow(self, settings: Settings, *, evicts: bool) -> None:
        """Take over changed settings or a changed role; `evicts` says whether this node may evict in its role."""
        limited = settings.maxmemory > 0 and (evicts or not settings.replica_ignore_maxmemory)
        if limited and not self.limited:
            self.data.restart()
        self.limit_bytes = settings.maxmemory
        self.limited = limited
        self._may_evict = evicts
        self._samples = settings.maxmemory_samples
        self.tracker.log_factor = settings.lfu_log_factor
        self.tracker.decay_minutes = settings.lfu_decay_time
        if settings.maxmemory_policy != self._policy_name:
            self._policy_name = settings.maxmemory_policy
            self._policy = Policy(self._policy_name)
            self.tracker.track(self._policy.tracking)
            self._eviction.follow(self._policy)
        self._conditions.note(Condition.TRACKED, limited or self.tracker.tracking is not Tracking.NONE)
        if not limited:
            self.full = False

    @property
    def used_bytes(self) -> int:
        return self.overhead_bytes + self.data.total_bytes

    @property
    def is_over(self) -> bool:
        return self.limited and self.overhead_bytes + self.data.total_bytes > self.limit_bytes

    @property
    def seems_over(self) -> bool:
        """Is the limit probably exceeded? Quicker than `is_over`, and less exact: it uses the size that was noted last,
        and is also True while `full`. Hot."""
        return self.limited and (self.full or self.overhead_bytes + self.data.noted_bytes > self.limit_bytes)

    def evict(self, most: int, below: Callable[[int], int]) -> bool:
        """Evict keys until the limit is not exceeded, `most` keys at most. False when there is nothing left to evict.
        `below(n)` draws a random int in [0, n).

        The caller puts `evicted` into the stream, and sets `full`.
        """
        while most > 0 and self.is_over:
            victim = self._eviction.pick(self._samples, below) if self._may_evict else None
            if victim is None:
                return False
            db, key = victim
            size, count = self.data.of_keys(db, [key])
            db.evict(key)
            self.data.note(-size, -count)
            self.evicted.append((db.index, key))
            most -= 1
        return True

    def note_accesses(self, db: Database, keys: list[bytes], below: Callable[[int], int]) -> None:
        """A command has named these keys: note the access if the policy needs it."""
        if self.tracker.tracking is not Tracking.NONE:
            for key in keys:
                self.tracker.touch(db, key, below)

    def watch_clock(self, now: float) -> None:
        """Count the time over the limit; `now` is monotonic seconds."""
        if self.is_over:
            if self.exceeded_since == NEVER:
                self.exceeded_since = now
        elif self.exceeded_since != NEVER:
            self._exceeded_s += now - self.exceeded_since
            self.exceeded_since = NEVER

    def exceeded_ms(self, now: float) -> tuple[int, int]:
        """How many ms the limit has been exceeded: (in all, since it was exceeded last)."""
        current = now - self.exceeded_since if self.exceeded_since != NEVER else 0.0
        return int((self._exceeded_s + current) * 1000), int(current * 1000)
