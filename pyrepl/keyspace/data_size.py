"""How many bytes the data occupies, kept up to date cheaply: what maxmemory is compared with, but for the overheads.

CPython has no counter of the memory in use, and the RSS does not shrink when values go. So there is a tally, in the
sizes of MEMORY USAGE (`value_size`), brought up to date in three ways:

1. a write by a client: the sizes of its keys after it, less those before; exact, as a collection's size is always
   estimated from the same few elements;
2. keys that came or went otherwise (expiry, FLUSHDB, SORT STORE, a load): at the next look the number of keys has
   changed, and the tally is scaled with it, at no cost per key;
3. an audit that walks all keys, a slice at a time, over and over: what the other two missed lasts one round.

Until a first round is through, the tally of keys that were there before is the mean of a few, times their number.
Nobody pays for it without a limit: nothing here is called then.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.value_size import SAMPLES, key_bytes
from pyrepl.store.key_round import KeyRound

_FIRST_LOOK: Final = 256
"""Keys of each database that the first estimate looks at."""


@final
class DataSize:
    """The tally of one keyspace. `total_bytes` is what it comes to.

    Invariant: `noted_bytes` is what `_keys` keys occupy.
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
        """The tally as of the last look at the number of keys, and the writes noted since."""
        self._keys = 0
        self._left: KeyRound | None = None
        """Through the database before `_round_index`; None when that is over."""
        self._round_index = 0
        self._round_bytes = 0
        self._round_keys = 0
        self._round_growth = 0
        """By how much keys changed in size since the round began, their coming and going aside."""

    def restart(self) -> None:
        """Forget everything: writes were not noted for a while."""
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
        """(bytes, number) of those of `keys` that are there; a key that is named twice counts twice."""
        size = count = 0
        store = db.store
        for key in keys:
            value = store.get(key)
            if value is not None:
                size += key_bytes(key, value, SAMPLES)
                count += 1
        return size, count

    def note(self, grown_bytes: int, added_keys: int) -> None:
        """A write made the keys it names so much larger (smaller: negative), and so many more."""
        mean = self.noted_bytes // self._keys if self._keys > 0 else 0
        self.noted_bytes = max(0, self.noted_bytes + grown_bytes)
        self._keys += added_keys
        self._round_growth += grown_bytes - mean * added_keys

    def audit(self, max_keys: int) -> bool:
        """Look at up to `max_keys` keys of the round; True when it is through, and the next one begins."""
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
            # A key that grew during the round had been looked at before or had not: in half of the cases each.
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
