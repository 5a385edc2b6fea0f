"""Loads a snapshot into databases: takes over the keys that the RDB reader decoded. The daemon feeds the bytes.

Redis's rules (7.0, `rdbLoadRio`): a master drops keys whose time passed while the file lay there, a replica keeps them
until its master says so; a key may not come twice, unless DEBUG RELOAD MERGE wants the later one.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.errors import CorruptData
from pyrepl.keyspace.access import AccessTracker
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.foresight import KEY_BYTES, TTL_BYTES, Foresight, RoomMaker
from pyrepl.keyspace.packed import CLASSES
from pyrepl.keyspace.values import Value, from_plain
from pyrepl.rdb.events import (
    Aux,
    FunctionLibrary,
    Header,
    LoadedKeys,
    RdbEvent,
    ResizeDb,
    SkippedEmpty,
    SkippedMetadata,
    SkippedModule,
)
from pyrepl.rdb.reader import RdbLimits, RdbReader, duplicate_key_error
from pyrepl.rdb.taker import Taker
from pyrepl.rdb.types.stream import IDMP_VERSIONS
from pyrepl.rdb.values import DEFAULT_IDMP_LIMITS, IdmpLimits, IdmpState, StreamValue
from pyrepl.rdb.versions import Version

_KEPT_AUX: Final = 64
"""Aux fields beyond so many are dropped: nobody needs them, and a hostile file may have millions."""


@final
class _Stores:
    """The stores that a snapshot goes into, by the number of their database. These are no methods of the loader: its
    reader would hold it then, and a load that was given up would keep its memory until the collector comes."""

    __slots__ = ("_foresight", "_keyspace")

    def __init__(self, keyspace: Keyspace, foresight: Foresight) -> None:
        self._keyspace = keyspace
        self._foresight = foresight

    def taker(self, db: int) -> Taker:
        """Who takes in the keys."""
        return self._keyspace.databases[db].store.taker()

    def promise_keys(self, db: int, count: int, left_bytes: int | None) -> int:
        """The snapshot promises `count` keys; see `Foresight.promise`."""
        keys, _ = self._keyspace.databases[db].store.growable()
        return self._foresight.promise(keys, count, KEY_BYTES, left_bytes)


@final
class Loader:
    """Loads one snapshot into `keyspace`, slice by slice.

    Nothing else may change these databases meanwhile.
    """

    def __init__(
        self,
        limits: RdbLimits,
        keyspace: Keyspace,
        *,
        drop_expired_at_ms: int | None = None,
        merge: bool = False,
        tracker: AccessTracker | None = None,
        rooms: RoomMaker | None = None,
        idmp_limits: IdmpLimits = DEFAULT_IDMP_LIMITS,
    ) -> None:
        """`drop_expired_at_ms`: leave out keys whose time has come by then; None keeps all. `tracker` takes in when and
        how often keys were accessed. With `rooms` it is better to wait while `is_making_room`. `idmp_limits` is what a
        stream gets whose snapshot is too old to tell (Redis 8.6)."""
        self._idmp_limits = idmp_limits
        self._foresight = Foresight(rooms)
        self._tracker = tracker
        self._keyspace = keyspace
        # With `merge` keys of the snapshot may replace others, so the reader may not put them into the store itself.
        stores = _Stores(keyspace, self._foresight)
        self._reader = RdbReader(limits, CLASSES, None if merge else stores.taker, stores.promise_keys)
        self._drop_expired_at_ms = drop_expired_at_ms
        self._merge = merge
        self.version: Version | None = None
        """The RDB version of the snapshot, None until it is known."""
        self.aux: dict[bytes, bytes] = {}
        self.functions: list[bytes] = []
        self.loaded_keys = 0
        self.expired: list[tuple[int, bytes]] = []
        """(database, key) of keys that were left out because they had expired. Replicas may still have them."""
        self.empty_keys = 0
        self.warnings: list[str] = []
        """Sentences for the log, to be taken away by the caller."""

    def unused(self) -> bytes:
        """The bytes fed that lie behind the snapshot."""
        return self._reader.unused()

    @property
    def finished(self) -> bool:
        return self._reader.finished

    @property
    def expired_keys(self) -> int:
        """How many keys were left out because they had expired."""
        return len(self.expired)

    @property
    def loaded_bytes(self) -> int:
        return self._reader.consumed

    @property
    def is_making_room(self) -> bool:
        """Is a large table being made for keys that are to come?"""
        rooms = self._foresight.rooms
        return rooms is not None and rooms.is_making

    def feed(self, data: bytes) -> None:
        """Load the keys that `data` completes. Raises CorruptData, and then the keys loaded before stay."""
        rooms = self._foresight.rooms
        if rooms is not None:
            rooms.move_in()
        for event in self._reader.feed(data):
            self._receive(event)
        self._foresight.look(self._reader.consumed)

    def end(self) -> None:
        """The input ended. Raises CorruptData unless the snapshot is complete."""
        self._foresight = Foresight(None)
        self._reader.check_complete()

    def _receive(self, event: RdbEvent) -> None:
        if isinstance(event, LoadedKeys):
            self._receive_keys(event)
        elif isinstance(event, Aux):
            if len(self.aux) < _KEPT_AUX:
                self.aux[event.name] = event.value
        elif isinstance(event, ResizeDb):
            if self._foresight.rooms is not None:
                _, ttls = self._keyspace.databases[event.db].store.growable()
                self._foresight.promise(ttls, event.expires, TTL_BYTES, self._reader.left_bytes)
        elif isinstance(event, Header):
            self.version = event.version
        elif isinstance(event, FunctionLibrary):
            self.functions.append(event.text)
        elif isinstance(event, SkippedModule):
            what = "data of" if event.key is None else f"key {event.key!r} in database {event.db}, a value of"
            self.warnings.append(f"skipped {what} the module type '{event.module}'")
        elif isinstance(event, SkippedMetadata):
            self.warnings.append(
                f"skipped what the module class '{event.metadata_class}' keeps of keys beside their values"
            )
        elif isinstance(event, SkippedEmpty):
            self.empty_keys += 1

    def _receive_keys(self, event: LoadedKeys) -> None:
        db = self._keyspace.databases[event.db]
        if self._merge:
            self._forget_ttls(db, event)
        before = db.key_count
        db.store.load(event.strings)
        for key, plain in event.others:
            value: Value = from_plain(plain)
            if type(value) is StreamValue and self.version not in IDMP_VERSIONS:
                value.idmp = IdmpState.of_new(self._idmp_limits)
            db.replace(key, value)
        if db.key_count != before + len(event.others) and not self._merge:
            raise self._duplicate(db, event, db.key_count - before)
        self.loaded_keys += event.total
        self._foresight.keep(event.total, len(event.expires))
        if self._tracker is not None and (event.idle_s or event.freq):
            self._tracker.take_loaded(db, event.idle_s, event.freq)
        if event.expires:
            self._receive_expires(db, event.expires)

    def _receive_expires(self, db: Database, expires: dict[bytes, int]) -> None:
        db.store.load_expiries(expires)
        limit_ms = self._drop_expired_at_ms
        if limit_ms is None:
            return
        for key in [key for key, at_ms in expires.items() if at_ms <= limit_ms]:
            db.delete(key)
            self.loaded_keys -= 1
            self.expired.append((db.index, key))

    def _duplicate(self, db: Database, event: LoadedKeys, added: int) -> CorruptData:
        """The error for a key that was there before: all but the last `added` keys of the dict are."""
        fresh = set(db.store.newest_keys(added))
        twice = next(key for key, _ in event.others if key not in fresh)
        return duplicate_key_error(event.db, twice, self._reader.consumed)

    @staticmethod
    def _forget_ttls(db: Database, event: LoadedKeys) -> None:
        for key in [*event.strings, *(key for key, _ in event.others)]:
            db.store.persist(key)
            db.volatile_hashes.discard(key)
            db.idmp_streams.discard(key)
