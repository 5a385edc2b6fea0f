"""Deletes expired keys that no command asks for, a slice at a time. Fields of hashes: `field_expiry`.

A master deletes all of them; a replica only keys whose time to live its own clients have set (Redis 4.0,
`expireSlaveKeys`), as its master sends a DEL for the others. The cycle takes the databases in turn: a round goes
through a database's keys with a time to live and looks at them in slices. Redis samples at random instead
(`activeExpireCycle`, 7.0); a walk finds each expired key after one round at the latest.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.keyspace.database import Database, Expiry, Keyspace
from pyrepl.store.key_round import KeyRound

LOOKS: Final = 5000
"""How many keys one slice looks at, at most, which takes less than a millisecond."""
_CHUNK: Final = 64
"""Keys looked at in one go: few enough that little is looked at twice when most are due."""


@final
class ExpireCycle:
    """The caller sets `Keyspace.now_ms` before a slice and propagates `Keyspace.expired` after."""

    __slots__ = ("_due", "_index", "_keyspace", "_round")

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self._index = 0
        """The index of the database that the present round goes through."""
        self._round: KeyRound | None = None
        """The round through the keys with a time to live of that database; None when it has ended."""
        self._due: list[bytes] = []
        """Keys that were found expired and not deleted yet, as the slice was full. Some may be deleted or have a new
        time to live by now."""

    def run(self, max_keys: int) -> int:
        """Delete up to `max_keys` expired keys. Returns how many were deleted, 0 when the slice met none."""
        assert max_keys > 0
        deleted = looks = rounds = 0
        while deleted < max_keys and looks < LOOKS:
            db = self._keyspace.databases[self._index]
            if self._round is None or not self._is_round(db, self._round):
                if rounds == len(self._keyspace.databases):
                    break
                rounds += 1
                self._index = (self._index + 1) % len(self._keyspace.databases)
                self._due = []
                self._round = self._begin(self._keyspace.databases[self._index])
                continue
            size = min(max(_CHUNK, max_keys - deleted), LOOKS - looks)
            keys = self._due[-size:] or self._round.take(size)
            del self._due[-size:]
            looks += len(keys)
            deleted += self._slice(db, keys, max_keys - deleted)
            if not keys:
                self._round = None
        return deleted

    def _begin(self, db: Database) -> KeyRound:
        """A round through the keys that this node has to delete when they expire."""
        return db.store.timed_round() if self._keyspace.expiry is Expiry.DELETE else KeyRound(db.own_ttls)

    def _is_round(self, db: Database, begun: KeyRound) -> bool:
        """Would `_begin` go through the same table?"""
        is_master = self._keyspace.expiry is Expiry.DELETE
        return db.store.has_timed_round(begun) if is_master else begun.source is db.own_ttls

    def _slice(self, db: Database, keys: list[bytes], limit: int) -> int:
        """Look at `keys` and delete up to `limit`; what is due beyond that is kept for the next slice."""
        now_ms = self._keyspace.now_ms
        expiry_of = db.store.expiry_of
        due = [key for key in keys if (at_ms := expiry_of(key)) is not None and at_ms <= now_ms]
        self._due.extend(due[limit:])
        del due[limit:]
        for key in due:
            db.expire(key)
        if db.own_ttls:
            for key in keys:
                if expiry_of(key) is None:
                    db.own_ttls.pop(key, None)
        return len(due)
