"""maxmemory of one node: what is compared with it, making room, and what INFO says about it.

Used memory is the process before it had any data, the data (`keyspace.data_size`), and what connections and the
backlog hold, measured by the shell every 100 ms. Not counted, as in Redis: what of the stream is kept for slow replicas
beyond the backlog, and their connections; else a slow replica would get DELs, which make it slower, and so on.

Only a master evicts. A replica with replica-ignore-maxmemory no refuses its own clients' writes; it evicts nothing,
since then it would not hold what its master holds.
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
    """Invariants: `full` only while `limited`; the condition TRACKED holds exactly while we have to hear of commands,
    because there is a limit, or a policy that wants to know what is accessed.
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
        """There is a limit, and it is not ignored."""
        self.full = False
        """Over the limit, and nothing more can go: writes that need memory are refused."""
        self.overhead_bytes = 0
        """What is used and counts, besides the data; set by the shell."""
        self.evicted: list[tuple[int, bytes]] = []
        """(database, key) evicted and not yet propagated."""
        self.exceeded_since = NEVER
        """Monotonic seconds since when the limit is exceeded, or NEVER."""
        self._exceeded_s = 0.0

    def follow(self, settings: Settings, *, evicts: bool) -> None:
        """Follow changed settings, or a changed role, which says whether this node `evicts`."""
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
        """As `is_over`, or was a moment ago; keys that came or went unnoted are counted by the cron alone. Hot."""
        return self.limited and (self.full or self.overhead_bytes + self.data.noted_bytes > self.limit_bytes)

    def evict(self, most: int, below: Callable[[int], int]) -> bool:
        """Evict until under the limit, but no more than `most` keys; False when there is nothing left to evict.

        The caller propagates `evicted`, and says in `full` what came of it.
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
        """A command has named these keys."""
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
        """ms over the limit: (in all, this time)."""
        current = now - self.exceeded_since if self.exceeded_since != NEVER else 0.0
        return int((self._exceeded_s + current) * 1000), int(current * 1000)
