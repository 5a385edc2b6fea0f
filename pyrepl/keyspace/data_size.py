"""Estimates how many bytes the data occupies. maxmemory is compared with this tally and the overheads.

CPython has no counter of the memory in use, and the RSS does not shrink when values go. So there is a tally, in the
sizes of MEMORY USAGE (`value_size`), brought up to date in three ways:

1. a write by a client: the sizes of its keys after it, less those before; exact, as a collection's size is always
   estimated from the same few elements;
2. keys that came or went otherwise (expiry, FLUSHDB, SORT STORE, a load): at the next look the number of keys has
   changed, and the tally is scaled with it, at no cost per key;
3. an audit that walks over all keys, a slice at a time, again and again: an error of the other two lasts one round.

Until the first round has ended, keys that were there before count with the mean size of a few of them.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.value_size import SAMPLES, key_bytes
from pyrepl.store.key_round import KeyRound

_FIRST_LOOK: Final = 256
"""How many keys of each database the first estimate looks at."""


@final
class DataSize:
    """The tally of one keyspace; `total_bytes` is the estimate.

    Invariant: `noted_bytes` is the estimate for `_keys` keys.
    """

    __slots__ = (
        "_keys",
        "_keyspace",
        "_left",
        "_round_bytes",
        "_round_growth",
        "_round_index",
        "_round_keys",
        "noted_bytes",
    )

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self.noted_bytes = 0
        """The tally at the last look at the number of keys, plus the writes noted since."""
        self._keys = 0
        self._left: KeyRound | None = None
        """The round through the keys of the database before `_round_index`; None when it has ended."""
        self._round_index = 0
        self._round_bytes = 0
        self._round_keys = 0
        self._round_growth = 0
        """By how many bytes keys have grown since the round began; new and deleted keys do not count."""

    def restart(self) -> None:
        """Begin the tally anew, because writes were not noted for a while."""
        self.noted_bytes = 0
        self._keys = 0
        self._begin_round()

    @property
    def total_bytes(self) -> int:
        keys = 0
        for db in self._keyspace.databases:
            keys += db.key_count
        if keys != self._keys:
            self._rescale(keys)
        return self.noted_bytes

    def of_keys(self, db: Database, keys: list[bytes]) -> tuple[int, int]:
        """(bytes, number) of the keys in `keys` that exist; a key that is named twice counts twice."""
        size = count = 0
        store = db.store
        for key in keys:
            value = store.get(key)
            if value is not None:
                size += key_bytes(key, value, SAMPLES)
                count += 1
        return size, count

    def note(self, grown_bytes: int, added_keys: int) -> None:
        """Note a write: the keys that it names have grown by `grown_bytes`, and are `added_keys` more. Both may be
        negative."""
        mean = self.noted_bytes // self._keys if self._keys > 0 else 0
        self.noted_bytes = max(0, self.noted_bytes + grown_bytes)
        self._keys += added_keys
        self._round_growth += grown_bytes - mean * added_keys

    def audit(self, max_keys: int) -> bool:
        """Look at up to `max_keys` keys of the round. True when the round has ended, and the next one begins."""
        databases = self._keyspace.databases
        while max_keys > 0:
            if self._left is None:
                if self._round_index == len(databases):
                    self._end_round()
                    return True
                self._left = databases[self._round_index].store.key_round()
                self._round_index += 1
                continue
            keys = self._left.take(max_keys)
            if not keys:
                self._left = None
                continue
            found, count = self.of_keys(databases[self._round_index - 1], keys)
            self._round_bytes += found
            self._round_keys += count
            max_keys -= len(keys)
        return False

    def _begin_round(self) -> None:
        self._left = None
        self._round_index = 0
        self._round_bytes = 0
        self._round_keys = 0
        self._round_growth = 0

    def _end_round(self) -> None:
        keys = self._keyspace.key_count
        if not self._round_keys:
            self.noted_bytes = 0 if not keys else self.total_bytes
        else:
            # Of the keys that grew during the round, about half had been looked at before they grew: add their growth.
            self.noted_bytes = max(0, self._round_bytes * keys // self._round_keys + self._round_growth // 2)
        self._keys = keys
        self._begin_round()

    def _rescale(self, keys: int) -> None:
        if not keys:
            self.noted_bytes = 0
        elif self._keys > 0:
            self.noted_bytes = self.noted_bytes * keys // self._keys
        else:
            self.noted_bytes = sum(self._first_look(db) for db in self._keyspace.databases)
        self._keys = keys

    def _first_look(self, db: Database) -> int:
        size, count = self.of_keys(db, db.store.first_keys(_FIRST_LOOK))
        return size * db.key_count // count if count else 0
