"""The jobs of commands that go through all keys: they are done in slices, between which other clients are served.

With few keys such a command answers at once. Otherwise it returns the effect `InSlices` with a `Job`, which the daemon
runs (`clients/slices.py`) while only its own client waits. Keys that change during the slices may be in the reply or
not, as with SCAN; Redis blocks all clients instead. Within MULTI nothing is sliced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, final

from pyrepl.commands.engine.effect import Effect
from pyrepl.errors import CommandError
from pyrepl.keyspace.collection_scan import OrderMaking
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.digest import KeyspaceDigest
from pyrepl.keyspace.scan import ElementScans
from pyrepl.resp.reply import Reply, Simple

FEW_KEYS: Final = 10_000
"""Up to this many keys, inclusive, a command walks all keys without slices, which takes a few milliseconds."""


class Job(Protocol):
    """Work that is done in steps, with a reply at the end."""

    def step(self) -> bool:
        """Do a part of the work, which takes less than a millisecond. True when nothing is left to do."""

    def reply(self) -> Reply:
        """The command's reply; to be called once, after a `step` has returned True."""


class Matcher(Protocol):
    """Tells whether a key matches a pattern."""

    def __call__(self, key: bytes, /) -> bool: ...


@final
class KeysJob:
    """KEYS: finds the keys of one database that match."""

    __slots__ = ("_db", "_found", "_matches", "_round")

    _STEP: Final = 1000
    """How many keys one step looks at."""

    def __init__(self, db: Database, matches: Matcher) -> None:
        self._db = db
        self._matches = matches
        self._round = db.key_round()
        self._found: dict[bytes, None] = {}
        """The keys found so far; a dict, as the round may bring a key twice."""

    def step(self) -> bool:
        """See Job. When the database is flushed or swapped during the slices, the job ends."""
        db, matches = self._db, self._matches
        keys = self._round.take(self._STEP) if db.has_round(self._round) else []
        expires = db.timed_count > 0
        for key in keys:
            if matches(key) and db.holds(key) and not (expires and db.has_expired(key)):
                self._found[key] = None
        return not keys

    def reply(self) -> Reply:
        """See Job."""
        return list(self._found)


@final
class OrderJob:
    """Makes the order of keys that SCAN and RANDOMKEY need, before the first of them is answered.

    A key that is deleted and made again during the slices may stand in the order twice, and be returned twice.
    """

    __slots__ = ("_answer", "_db", "_keys", "_restarts", "_round")

    _STEP: Final = 1000

    def __init__(self, db: Database, answer: Callable[[], Reply]) -> None:
        """`answer` makes the reply. It is called once, when `db` has the order."""
        self._db = db
        self._answer = answer
        self._begin()

    def _begin(self) -> None:
        self._round = self._db.key_round()
        self._restarts = 0
        self._keys: list[bytes] = []

    def step(self) -> bool:
        """See Job. When the database is flushed or swapped during the slices, the order is begun again."""
        db = self._db
        if db.has_order:
            return True
        if not db.has_round(self._round):
            self._begin()
        found = self._round.take(self._STEP)
        if self._round.restarts != self._restarts:
            self._restarts = self._round.restarts
            self._keys = []
        self._keys += found
        if found and not self._round.is_listed:
            return False
        # If the round listed all keys at its beginning, keys that came since are missing: list all of them now instead.
        db.take_order(None if self._round.is_listed else self._keys)
        return True

    def reply(self) -> Reply:
        """See Job."""
        return self._answer()


def is_order_far(db: Database) -> bool:
    """Must the order of SCAN be made first, and does the database have so many keys that this needs slices?"""
    return db.key_count > FEW_KEYS and not db.has_order


@final
class ElementsJob:
    """Makes the order of elements that HSCAN, SSCAN and ZSCAN need, before the first of them is answered."""

    __slots__ = ("_answer", "_making", "_scans")

    def __init__(self, scans: ElementScans, making: OrderMaking, answer: Callable[[], Reply | Effect]) -> None:
        """`answer` makes the reply. It is called once, while `scans` is offered the order."""
        self._scans = scans
        self._making = making
        self._answer = answer

    def step(self) -> bool:
        """See Job."""
        return self._making.step()

    def reply(self) -> Reply:
        """See Job."""
        self._scans.offer(self._making.order)
        try:
            answer = self._answer()
            assert not isinstance(answer, Effect)
            return answer
        except CommandError as error:
            return error
        finally:
            self._scans.offer(None)


@final
class DigestJob:
    """DEBUG DIGEST: computes the digest of all keys of all databases."""

    __slots__ = ("_running",)

    _STEP: Final = 8

    def __init__(self, keyspace: Keyspace) -> None:
        self._running = KeyspaceDigest(keyspace)

    def step(self) -> bool:
        """See Job."""
        if not self._running.done:
            self._running.step(self._STEP)
        return self._running.done

    def reply(self) -> Reply:
        """See Job."""
        return Simple(self._running.hex.encode())
