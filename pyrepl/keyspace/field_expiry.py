"""Removes hash fields whose time has passed: when the hash is accessed, or by a cycle in slices.

Expired fields follow the rule of expired keys (`database.Expiry`): a master removes them and sends its replicas an
HDEL, a replica hides them from its clients, and commands from the master see them. As with keys, a time has passed when
it is at or before now.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.keyspace.database import Database, Expiry, Keyspace
from pyrepl.keyspace.events import FIELDS_EXPIRED
from pyrepl.keyspace.values import HashValue

LOOKS: Final = 2000
"""Most hashes that one slice looks at: takes less than a millisecond when none of them has an expired field."""
_ALL: Final = 2**63 - 1


def find_hash(db: Database, key: bytes) -> HashValue | None:
    """The hash to write to, without its expired fields; None without a hash or when its last field has expired.

    For a client that writes to a replica expired fields are removed too, but no HDEL is sent: when the master's HDEL
    comes, the fields are gone already.
    Raises CommandError WRONGTYPE.
    """
    value = db.find_as(HashValue, key)
    if value is None or value.expires is None or db.keyspace.expiry is Expiry.IGNORE:
        return value
    if not value.has_due(db.keyspace.now_ms):
        return value
    return _purged(db, key, value)


def read_hash(db: Database, key: bytes) -> HashValue | None:
    """The hash to read from, as `find_hash`; counts hits and misses. On a replica it may be a copy: never change it."""
    value = db.read_as(HashValue, key)
    return None if value is None else visible_hash(db, key, value)


def visible_hash(db: Database, key: bytes, value: HashValue) -> HashValue | None:
    """The stored hash `value` as a reader may see it, as `read_hash` gives it."""
    if value.expires is None or db.keyspace.expiry is Expiry.IGNORE or not value.has_due(db.keyspace.now_ms):
        return value
    if db.keyspace.expiry is Expiry.DELETE:
        return _purged(db, key, value)
    visible = value.without_due(db.keyspace.now_ms)
    return visible if visible.fields else None


def _purged(db: Database, key: bytes, value: HashValue) -> HashValue | None:
    remove_due_fields(db, key, value, _ALL)
    return value if value.fields else None


def remove_due_fields(db: Database, key: bytes, value: HashValue, limit: int) -> int:
    """Remove up to `limit` fields of the hash stored at `key` whose time has passed, and the key with the last one.

    Returns how many were removed; a master records them in `Keyspace.expired_fields`. Clients that WATCH the key are
    told.
    """
    keyspace = db.keyspace
    removed = value.remove_due(keyspace.now_ms, limit)
    if not removed:
        return 0
    db.note(FIELDS_EXPIRED, key)
    if not value.fields:
        db.delete(key)
    if keyspace.expiry is Expiry.DELETE:
        keyspace.expired_fields.extend([(db.index, key, field) for field in removed])
    keyspace.expired_fields_count += len(removed)
    db.touched(key)
    return len(removed)


@final
class FieldExpiryCycle:
    """Removes expired fields that nobody reads, a slice at a time; for masters alone.

    Goes round the databases and their hashes that may have volatile fields, as `expire_cycle` does with keys. The
    caller sets `Keyspace.now_ms` before a slice and propagates `Keyspace.expired_fields` after.
    """

    __slots__ = ("_index", "_keys", "_keyspace")

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self._index = 0
        """The index of the database that `_keys` belong to."""
        self._keys: list[bytes] = []
        """Keys of hashes still to look at in this round; some may have been deleted since the round began."""

    def run(self, max_fields: int) -> int:
        """Remove up to `max_fields` expired fields. Returns how many were removed: `max_fields` when more may be due.

        Looks at LOOKS hashes at most. Does nothing on a replica: its master sends an HDEL.
        """
        assert max_fields > 0
        if self._keyspace.expiry is not Expiry.DELETE:
            return 0
        removed = looks = rounds = 0
        databases = self._keyspace.databases
        while removed < max_fields and looks < LOOKS:
            if self._keys:
                looks += 1
                removed += self._visit(databases[self._index], self._keys.pop(), max_fields - removed)
                continue
            if rounds == len(databases):
                break
            rounds += 1
            self._index = (self._index + 1) % len(databases)
            self._keys = list(databases[self._index].volatile_hashes)
        return removed

    def _visit(self, db: Database, key: bytes, limit: int) -> int:
        value = db.store.get(key)
        if type(value) is not HashValue or value.expires is None:
            db.volatile_hashes.discard(key)
            return 0
        removed = remove_due_fields(db, key, value, limit)
        if removed == limit:
            self._keys.append(key)
        return removed
