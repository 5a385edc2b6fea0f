"""Chooses the key to evict: Redis's eviction policies, by sampling. `node.memory_limit` asks, and evicts.

As in Redis since 3.0 (`evict.c`), a few keys drawn at random compete with the best candidates of earlier draws, which
are kept in a small pool, and the best of all goes. A dict has no positions to draw from, so each database has a list of
its keys. The list is made when it is first needed, and made anew when too many of its keys are deleted or missing.

| policy          | drawn from               | goes first                       |
|-----------------|--------------------------|----------------------------------|
| allkeys-random  | all keys                 | the first that is drawn          |
| allkeys-lru     | all keys                 | the longest idle                 |
| allkeys-lfu     | all keys                 | the least frequently used        |
| volatile-...    | keys with a time to live | likewise                         |
| volatile-ttl    | keys with a time to live | the one with the least time left |
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Final, final

from pyrepl.keyspace.access import MAX_FREQUENCY, AccessTracker, Tracking
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.store.key_round import KeyRound

Below = Callable[[int], int]

POOL_SIZE: Final = 16
_GATHERED: Final = 2000
"""Keys that one draw adds to a list that is being made, which takes a tenth of a millisecond."""
_MISSES: Final = 16
"""After so many draws of deleted keys in a row the list is made anew."""


@final
class Policy:
    """The meaning of one value of maxmemory-policy."""

    __slots__ = ("by_ttl", "evicts", "is_random", "tracking", "volatile")

    def __init__(self, name: str) -> None:
        self.evicts = name != "noeviction"
        self.volatile = name.startswith("volatile-")
        self.is_random = name.endswith("-random")
        self.by_ttl = name.endswith("-ttl")
        self.tracking = (
            Tracking.LRU if name.endswith("-lru") else Tracking.LFU if name.endswith("-lfu") else Tracking.NONE
        )


@final
class KeyDraw:
    """Random keys of one database, or of those with a time to live, while they change.

    The list to draw from grows with each draw until it has all keys, as to make it at once holds up the node. So the
    first draws are among the keys that have been there longest.
    """

    __slots__ = ("_fresh", "_keys", "_round")

    def __init__(self) -> None:
        self._keys: list[bytes] = []
        self._fresh: list[bytes] = []
        """The next list while it is made; the same one when there is no other to draw from."""
        self._round: KeyRound | None = None
        """Through the keys for `_fresh`; None when that is made."""

    def draw(self, db: Database, count: int, below: Below, *, timed: bool) -> list[bytes]:
        """`count` keys, some perhaps twice, of which there must be one; `timed`: of those with a time to live."""
        if self._round is not None:
            self._gather(db, timed)
        if self._round is None and len(self._keys) < (db.timed_count if timed else db.key_count) // 2:
            self._gather(db, timed)
        drawn: list[bytes] = []
        misses = 0
        while len(drawn) < count:
            keys = self._keys
            if misses > _MISSES or not keys:
                self._keys, self._round, misses = [], None, 0
                self._gather(db, timed)
                continue
            slot = below(len(keys))
            key = keys[slot]
            if db.expiry_of(key) is not None if timed else db.holds(key):
                drawn.append(key)
                continue
            keys[slot] = keys[-1]
            keys.pop()
            misses += 1
        return drawn

    def _gather(self, db: Database, timed: bool) -> None:
        """Go on with the next list, or begin it."""
        store, begun = db.store, self._round
        if begun is None or not (store.has_timed_round(begun) if timed else store.has_round(begun)):
            self._round = begun = store.timed_round() if timed else store.key_round()
            self._fresh = []
        found = begun.take(_GATHERED)
        self._fresh += found
        if len(found) < _GATHERED:
            self._round = None
        if self._round is None or not self._keys:
            self._keys = self._fresh

    def clear(self) -> None:
        self._keys, self._fresh, self._round = [], [], None


@final
class Eviction:
    """Picks victims among the keys of one keyspace.

    Invariant: `_pool` is ascending by score and has at most POOL_SIZE candidates; some may be gone by now.
    """

    __slots__ = ("_draws", "_keyspace", "_next_db", "_policy", "_pool", "_tracker")

    def __init__(self, keyspace: Keyspace, tracker: AccessTracker) -> None:
        self._keyspace = keyspace
        self._tracker = tracker
        self._policy = Policy("noeviction")
        self._draws = [KeyDraw() for _ in keyspace.databases]
        self._pool: list[tuple[int, int, bytes]] = []
        """(score, database, key) of candidates; the last is the best one."""
        self._next_db = 0

    def follow(self, policy: Policy) -> None:
        """Pick by this policy from now on."""
        self._policy = policy
        self._pool = []
        for draw in self._draws:
            draw.clear()

    def pick(self, samples: int, below: Below) -> tuple[Database, bytes] | None:
        """The database and key to evict next; None when no key is eligible. `samples` >= 1 keys are drawn from each
        database."""
        if not self._policy.evicts:
            return None
        if self._policy.is_random:
            return self._pick_random(below)
        while True:
            drawn = False
            for db, draw in zip(self._keyspace.databases, self._draws, strict=True):
                if self._count(db):
                    drawn = True
                    for key in draw.draw(db, samples, below, timed=self._policy.volatile):
                        self._consider(db, key)
            if not drawn:
                return None
            victim = self._best()
            if victim is not None:
                return victim

    def _count(self, db: Database) -> int:
        """How many keys there are to draw from."""
        return db.timed_count if self._policy.volatile else db.key_count

    def _is_eligible(self, db: Database, key: bytes) -> bool:
        return db.expiry_of(key) is not None if self._policy.volatile else db.holds(key)

    def _pick_random(self, below: Below) -> tuple[Database, bytes] | None:
        """The databases take turns, so that each gets its share."""
        databases = self._keyspace.databases
        for _ in databases:
            self._next_db = (self._next_db + 1) % len(databases)
            db = databases[self._next_db]
            if self._count(db):
                return db, self._draws[db.index].draw(db, 1, below, timed=self._policy.volatile)[0]
        return None

    def _score(self, db: Database, key: bytes) -> int:
        """The score of a key: the key with the greatest score is evicted first."""
        if self._policy.by_ttl:
            at_ms = db.expiry_of(key)
            assert at_ms is not None
            return -at_ms
        if self._policy.tracking is Tracking.LRU:
            return self._tracker.idle_s(db, key)
        return MAX_FREQUENCY - self._tracker.frequency(db, key)

    def _consider(self, db: Database, key: bytes) -> None:
        candidate = (self._score(db, key), db.index, key)
        pool = self._pool
        if (len(pool) == POOL_SIZE and candidate <= pool[0]) or candidate in pool:
            return
        insort(pool, candidate)
        if len(pool) > POOL_SIZE:
            del pool[0]

    def _best(self) -> tuple[Database, bytes] | None:
        """Take the best candidate out of the pool that still exists and was not accessed since its draw."""
        pool = self._pool
        while pool:
            score, index, key = pool.pop()
            db = self._keyspace.databases[index]
            if self._is_eligible(db, key) and self._score(db, key) >= score:
                return db, key
        return None
