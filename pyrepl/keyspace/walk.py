"""Turns one database into the bytes of a snapshot, a block at a time.

Two forms write the same keys: the plain one here, and the compiled one in `borrowed_walk`, which is used where it is
compiled and the version has listpacks. `snapshot` goes through the databases and writes header and end; `pyrepl.rdb`
encodes values.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, final

from pyrepl.keyspace import borrowed_walk
from pyrepl.keyspace.access import Tracking
from pyrepl.keyspace.packed import Packed
from pyrepl.keyspace.values import plain_value
from pyrepl.rdb.versions import LISTPACKS
from pyrepl.rdb.writer import EMPTY, RdbWriter

if TYPE_CHECKING:
    from pyrepl.keyspace.access import Clocks
    from pyrepl.keyspace.database import Database

_BATCH_KEYS: Final = 2048


class Walk(Protocol):
    """A walk under way. The database must not change before its end."""

    keys: int
    """How many keys are written so far."""

    def block(self) -> bytes:
        """The bytes of the next keys; empty at the end. Raises CannotHold for a value that the version cannot hold."""


def walk(db: Database, writer: RdbWriter, max_bytes: int, max_keys: int, clocks: Clocks | None = None) -> Walk:
    """Begin a walk over `db`, whose keys are encoded as `writer` would encode them.

    `clocks`: write these idle times or frequencies too, if the version has places for them. A block ends once it has at
    least `max_bytes` bytes or `max_keys` keys; it may be longer than `max_bytes`. Both limits are above 0.
    """
    assert max_bytes > 0 and max_keys > 0
    if not writer.has_clocks:
        clocks = None
    if borrowed_walk.COMPILED and writer.version in LISTPACKS:
        return borrowed_walk.BorrowedWalk(db.store.freeze(), writer, max_bytes, max_keys, clocks)
    return PlainWalk(db, writer, max_bytes, max_keys, clocks)


@final
class PlainWalk:
    """See Walk. Strings with nothing before them are handed to the writer in batches, the faster way."""

    def __init__(
        self, db: Database, writer: RdbWriter, max_bytes: int, max_keys: int, clocks: Clocks | None = None
    ) -> None:
        self._max_bytes = max_bytes
        self._max_keys = max_keys
        self._clocks = clocks
        self._pieces = self._encode(db, writer)
        self.keys = 0

    def block(self) -> bytes:
        """See Walk."""
        parts: list[bytes] = []
        size = 0
        first = self.keys
        for piece in self._pieces:
            parts.append(piece)
            size += len(piece)
            if size >= self._max_bytes or self.keys - first >= self._max_keys:
                break
        return b"".join(parts)

    def _encode(self, db: Database, writer: RdbWriter) -> Iterator[bytes]:
        """Encode all keys in pieces, of which `block` joins some. A batch of large values gives several pieces."""
        pairs = iter(db.store.items())
        while batch := list(islice(pairs, min(_BATCH_KEYS, self._max_keys))):
            self.keys += len(batch)
            expires = _expiries(db, batch) if db.timed_count else {}
            marks = EMPTY if self._clocks is None else _marks(self._clocks, writer, batch)
            strings = []
            if not marks:
                strings = [(key, value) for key, value in batch if type(value) is bytes and key not in expires]
            plain = iter(strings)
            while encoded := writer.encode_strings(plain, self._max_bytes):
                yield encoded
            if len(strings) < len(batch):
                others = iter(
                    [
                        (key, plain_value(value.unpack() if isinstance(value, Packed) else value))
                        for key, value in batch
                        if type(value) is not bytes or key in expires or marks
                    ]
                )
                while encoded := writer.encode_keys(others, expires, self._max_bytes, marks):
                    yield encoded


def _marks(clocks: Clocks, writer: RdbWriter, batch: list[tuple[bytes, Any]]) -> dict[bytes, bytes]:
    """What stands before the keys of a batch to say when or how often they were accessed."""
    encode = writer.idle if clocks.tracking is Tracking.LRU else writer.frequency
    return {key: encode(clocks.of(key)) for key, _ in batch}


def _expiries(db: Database, batch: list[tuple[bytes, Any]]) -> dict[bytes, int]:
    """When the keys of a batch expire (Unix ms), for those that do."""
    return {key: at_ms for key, _ in batch if (at_ms := db.expiry_of(key)) is not None}
