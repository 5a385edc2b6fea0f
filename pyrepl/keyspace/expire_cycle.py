"""Deletes expired keys that nobody asks for, a slice at a time; for masters alone. Fields of hashes: `field_expiry`.

Goes round the databases: a round takes the list of a database's keys with a time to live and looks at them in slices.
Redis samples at random instead (`activeExpireCycle`, 7.0); a walk finds each expired key after one round at the latest.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.keyspace.database import Database, Expiry, Keyspace

LOOKS: Final = 5000
"""Most keys that one slice looks at: below a millisecond."""
_CHUNK: Final = 64
"""Keys looked at in one go: few enough that little is looked at twice when most are due."""
_NEVER: Final = 2**63


@final
class ExpireCycle:
    """The caller sets `Keyspace.now_ms` before a slice and propagates `Keyspace.expired` after."""

    __slots__ = ("_index", "_keys", "_keyspace")

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self._index = 0
        """Of the database whose keys `_keys` are."""
        self._keys: list[bytes] = []
        """Still to look at in this round; some may be gone by now or have a new time."""

    def run(self, max_keys: int) -> int:
        """Delete up to `max_keys` expired keys; how many were deleted, 0 when the slice met none.

        Does nothing on a replica (`Expiry.HIDE`): its master tells it.
        """
        assert max_keys > 0
        if self._keyspace.expiry is not Expiry.DELETE:
            return 0
        deleted = looks = rounds = 0
        while deleted < max_keys and looks < LOOKS:
            if not self._keys:
                if rounds == len(self._keyspace.databases):
                    break
                rounds += 1
                self._index = (self._index + 1) % len(self._keyspace.databases)
                self._keys = list(self._keyspace.databases[self._index].expires)
                continue
            size = min(max(_CHUNK, max_keys - deleted), LOOKS - looks, len(self._keys))
            looks += size
            deleted += self._slice(self._keyspace.databases[self._index], size, max_keys - deleted)
        return deleted

    def _slice(self, db: Database, size: int, limit: int) -> int:
        """Look at `size` keys and delete up to `limit`; what is due beyond that stays on the list."""
        now_ms = self._keyspace.now_ms
        expires = db.expires
        due = [key for key in self._keys[-size:] if expires.get(key, _NEVER) <= now_ms]
        del self._keys[-size:]
        self._keys.extend(due[limit:])
        del due[limit:]
        for key in due:
            db.expire(key)
        return len(due)
