"""Databases: keys, values, times to live, and what changed. No protocol; types of values are in `values`.

Redis's rule on expiry (8.2, `expireIfNeeded`): only a master deletes an expired key, and sends its replicas a DEL. A
replica hides the key from its clients until the DEL comes; commands that come from the master see every key. A client
that may write to a replica must not write to a key that is hidden from it: so its write deletes an expired key first.
When such a client sets a time to live, the replica itself must delete the key, as the master knows nothing of it.
`Expiry` names the four cases.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar, final

from pyrepl.keyspace import events
from pyrepl.keyspace.disposal import Disposal
from pyrepl.keyspace.events import Event, Fact
from pyrepl.keyspace.follower import Follower, Watcher
from pyrepl.keyspace.packed import Packed
from pyrepl.keyspace.scan import ElementScans
from pyrepl.keyspace.values import HashValue, Value, wrong_type
from pyrepl.rdb.values import StreamValue
from pyrepl.store.key_round import KeyRound
from pyrepl.store.plain import PlainStore
from pyrepl.store.store import Growable

V = TypeVar("V")

_RANDOM_TRIES: Final = 100


class Expiry(Enum):
    """What a lookup does with a key whose time has passed."""

    DELETE = "delete"
    """On a master: delete the key and record that (`Keyspace.expired`), so that a DEL goes to the replicas."""
    HIDE = "hide"
    """For a replica's clients: as if the key were not there."""
    REMOVE = "remove"
    """For a client that writes to a replica: a key that the command writes to is deleted, and no DEL goes to replicas;
    a key that it only reads is hidden. Times to live that are set are noted in `Database.own_ttls`."""
    IGNORE = "ignore"
    """For a command from our master: the key is there."""


@final
class Keyspace:
    """All databases of a node, with the counters that span them.

    Invariants: databases[i].index == i; dirty never falls within one command.
    """

    __slots__ = (
        "databases",
        "dirty",
        "disposal",
        "expired",
        "expired_fields",
        "expired_fields_count",
        "expired_keys_count",
        "expiry",
        "facts",
        "follower",
        "hits",
        "misses",
        "notes_facts",
        "now_ms",
        "scans",
    )

    def __init__(self, count: int) -> None:
        self.databases: list[Database] = []
        self.now_ms: int = 0
        """Unix ms that lookups compare with; the shell sets it before each batch of commands."""
        self.expiry: Expiry = Expiry.DELETE
        self.dirty: int = 0
        """The number of changes so far. A command that does not raise it has changed nothing, and is not propagated."""
        self.expired: list[tuple[int, bytes]] = []
        """(database, key) deleted by expiry and not yet propagated; the dispatcher drains it."""
        self.expired_fields: list[tuple[int, bytes, bytes]] = []
        """(database, key, field) of hash fields deleted by expiry and not yet propagated."""
        self.expired_keys_count: int = 0
        self.expired_fields_count: int = 0
        self.disposal = Disposal()
        """Deleted values that are still to be freed."""
        self.hits: int = 0
        self.misses: int = 0
        self.scans = ElementScans()
        """The places at which HSCAN, SSCAN and ZSCAN go on."""
        self.facts: list[Fact] = []
        """What has happened to keys and is not told yet, in order; the dispatcher drains it."""
        self.follower: Follower | None = None
        self.notes_facts: bool = False
        """Are `facts` noted? Changed by `note_facts`."""
        self.databases.extend(Database(self, index) for index in range(count))

    def note_facts(self, wanted: bool) -> None:
        """From now on `facts` are noted, or are not. Those that are not told yet are forgotten in the latter case."""
        self.notes_facts = wanted
        if not wanted:
            self.facts.clear()
        self._sum_up()

    def follow(self, follower: Follower | None) -> None:
        """From now on `follower` hears of all keys that change, or nobody does."""
        self.follower = follower
        self._sum_up()

    def _sum_up(self) -> None:
        for db in self.databases:
            db.followed = self.notes_facts or self.follower is not None

    def flushed(self) -> None:
        """All keys of databases were exchanged or deleted: to be called once, behind it."""
        if self.follower is not None:
            self.follower.keys_flushed()

    @property
    def key_count(self) -> int:
        """The number of keys of all databases, with expired keys that are not deleted yet."""
        return sum(db.key_count for db in self.databases)

    def growable(self) -> list[Growable]:
        """The tables of all databases, two of each, for the daemon's service that makes them larger."""
        return [table for db in self.databases for table in db.store.growable()]

    def clear(self) -> None:
        """Empty every database."""
        for db in self.databases:
            db.clear()
        self.flushed()

    def swap(self, first: int, second: int) -> None:
        """Exchange the contents of two databases. The caller tells clients that WATCH their keys."""
        one, two = self.databases[first], self.databases[second]
        if one is two:
            return
        one.store, two.store = two.store, one.store
        one.volatile_hashes, two.volatile_hashes = two.volatile_hashes, one.volatile_hashes
        one.idmp_streams, two.idmp_streams = two.idmp_streams, one.idmp_streams
        one.accesses, two.accesses = two.accesses, one.accesses
        one.own_ttls, two.own_ttls = two.own_ttls, one.own_ttls

    def forget_own_ttls(self) -> None:
        """We were a replica and are a master now: times to live that our own clients have set are like all others."""
        for db in self.databases:
            db.own_ttls = {}


@final
class Database:
    """One database: a store of keys, the rules by which keys are found, and notes about keys beside the store.

    Only the room keyspace uses `store`; other rooms call the methods of this class.
    """

    __slots__ = (
        "accesses",
        "followed",
        "idmp_streams",
        "index",
        "keyspace",
        "own_ttls",
        "store",
        "volatile_hashes",
        "watchers",
    )

    def __init__(self, keyspace: Keyspace, index: int) -> None:
        self.keyspace = keyspace
        self.index = index
        self.store: PlainStore = PlainStore()
        self.volatile_hashes: set[bytes] = set()
        """Keys of hashes that may have fields with a time to live; a superset, cleaned lazily."""
        self.idmp_streams: set[bytes] = set()
        """Keys of streams that may remember idempotency ids; a superset, cleaned lazily."""
        self.watchers: dict[bytes, set[Watcher]] = {}
        self.followed: bool = False
        """Does anybody want to hear of all keys? A copy for each database, as each change asks."""
        self.accesses: dict[bytes, int] = {}
        """The numbers of `access`, kept while eviction needs them. Keys may be missing, and deleted keys may still be
        here."""
        self.own_ttls: dict[bytes, None] = {}
        """On a replica: keys whose time to live was set by its own clients, which no DEL of its master will end. A
        superset, cleaned lazily."""

    @property
    def key_count(self) -> int:
        """The number of keys, with expired keys that are not deleted yet."""
        return self.store.key_count

    @property
    def timed_count(self) -> int:
        """The number of keys with a time to live."""
        return self.store.timed_count

    @property
    def table_id(self) -> int:
        """A number that no other table of keys has at this time; `clear`, `swap` and `take_over` bring a new table."""
        return self.store.table_id

    def holds(self, key: bytes) -> bool:
        """Is there such a key, whether its time has passed or not? Deletes nothing."""
        return self.store.holds(key)

    def expiry_of(self, key: bytes) -> int | None:
        """The Unix ms at which the key's time ends, perhaps long ago; None when it has none, or there is no key."""
        return self.store.expiry_of(key)

    def some_expiries(self, count: int) -> list[int]:
        """`expiry_of` of up to `count` keys that have one, whichever come first."""
        return self.store.some_expiries(count)

    def all_keys(self) -> list[bytes]:
        """All keys, expired ones included, in the order of their insertion: O(keys), so for few of them."""
        return self.store.all_keys()

    def key_round(self) -> KeyRound:
        """A round through all keys, some at a time, while they change. `has_round` tells whether it still means us."""
        return self.store.key_round(exact=True)

    def has_round(self, taken: KeyRound) -> bool:
        """Does the round go through the present table of keys? Not after `clear`, `swap` and `take_over`."""
        return self.store.has_round(taken)

    def table_bytes(self) -> tuple[int, int]:
        """(bytes of the table of keys, bytes of the table of times to live), without the objects that they refer to; 0
        for an empty table."""
        return self.store.table_bytes()

    def prefetch_commands(self, commands: list[list[bytes]], start: int) -> int:
        """Prefetch the first keys of the commands from `start` on into the processor's cache. Returns the index of the
        command before which this should be called again."""
        return self.store.prefetch_commands(commands, start)

    def prefetch_words(self, words: list[bytes], start: int, step: int) -> int:
        """As `prefetch_commands`, for the keys `words[start::step]`; returns an index into `words`."""
        return self.store.prefetch_words(words, start, step)

    def find(self, key: bytes) -> Value | None:
        """The value, or None when there is none or its time has passed (see `Expiry`); never packed from then on."""
        store = self.store
        value: Value | None = store.live(key, self.keyspace.now_ms)
        if value is None:
            return self._outlived(key) if store.timed_count else None
        if type(value) is not bytes and isinstance(value, bytes):
            return self._unpacked(key, value)
        return value

    def find_kept(self, key: bytes) -> Value | None:
        """As `find`, but a packed collection stays packed: for callers that can read it so."""
        store = self.store
        value: Value | None = store.live(key, self.keyspace.now_ms)
        if value is None and store.timed_count:
            return self._outlived(key)
        return value

    def read(self, key: bytes) -> Value | None:
        """As `find`, for reading commands: counts keyspace_hits and keyspace_misses."""
        store, keyspace = self.store, self.keyspace
        value: Value | None = store.live(key, keyspace.now_ms)
        if value is None and store.timed_count:
            value = self._outlived_for_reader(key)
        if value is None:
            keyspace.misses += 1
            if self.followed:
                self.note(events.MISSED, key)
            return None
        keyspace.hits += 1
        if type(value) is not bytes and isinstance(value, bytes):
            return self._unpacked(key, value)
        return value

    def read_kept(self, key: bytes) -> Value | None:
        """As `find_kept`, for reading commands."""
        store, keyspace = self.store, self.keyspace
        value: Value | None = store.live(key, keyspace.now_ms)
        if value is None and store.timed_count:
            value = self._outlived_for_reader(key)
        if value is None:
            keyspace.misses += 1
            if self.followed:
                self.note(events.MISSED, key)
        else:
            keyspace.hits += 1
        return value

    def has_expired(self, key: bytes) -> bool:
        """Has an existing key expired, as its reader sees it? Deletes nothing."""
        at_ms = self.store.expiry_of(key)
        keyspace = self.keyspace
        return at_ms is not None and at_ms <= keyspace.now_ms and keyspace.expiry is not Expiry.IGNORE

    def find_as(self, kind: type[V], key: bytes) -> V | None:
        """As `find`; CommandError WRONGTYPE when the value is of another type."""
        value = self.find(key)
        if value is None or type(value) is kind or isinstance(value, kind):
            return value
        raise wrong_type()

    def read_as(self, kind: type[V], key: bytes) -> V | None:
        """As `read`; CommandError WRONGTYPE when the value is of another type."""
        value = self.read(key)
        if value is None or type(value) is kind or isinstance(value, kind):
            return value
        raise wrong_type()

    def put(self, key: bytes, value: Value) -> None:
        """Store a value in place of whatever was there, its time to live included.

        To replace a value, put the new one over the old one; do not delete the old one first: see `scan`.
        """
        if self.followed:
            self.note_put(key, value)
        if self.store.put(key, value, self.keyspace.now_ms):
            self._note_expired(key)
        if type(value) is not bytes:
            self.note_kind(key, value)

    def replace(self, key: bytes, value: Value) -> None:
        """Store a value and keep the time to live that the key has."""
        if self.followed and not self.store.holds(key):
            self.note(events.NEW, key)
        self.store.replace(key, value, self.keyspace.now_ms)
        if type(value) is not bytes:
            self.note_kind(key, value)

    def note_kind(self, key: bytes, value: Value) -> None:
        """Note `key` if its value is of a kind that must be found later without looking at all keys."""
        if type(value) is HashValue:
            if value.expires:
                self.volatile_hashes.add(key)
        elif type(value) is StreamValue and value.idmp is not None:
            self.idmp_streams.add(key)

    def write(self, key: bytes, value: bytes) -> None:
        """`put` and `changed` for a string, in one call: the hot path of SET and its like."""
        keyspace = self.keyspace
        if self.followed:
            self.note_put(key, value)
        if self.store.put(key, value, keyspace.now_ms):
            self._note_expired(key)
        keyspace.dirty += 1
        if self.watchers or self.followed:
            self._changed(key)

    def update(self, key: bytes, value: bytes) -> None:
        """`replace` and `changed` for a string, in one call: the hot path of INCR and its like."""
        keyspace = self.keyspace
        if self.followed and not self.store.holds(key):
            self.note(events.NEW, key)
        self.store.replace(key, value, keyspace.now_ms)
        keyspace.dirty += 1
        if self.watchers or self.followed:
            self._changed(key)

    def repack(self, key: bytes, packed: Value, count: int) -> None:
        """`replace` and `changed` for a packed collection whose changed block is `packed`, in one call."""
        keyspace = self.keyspace
        self.store.replace(key, packed, keyspace.now_ms)
        keyspace.dirty += count
        if self.watchers or self.followed:
            self._changed(key)

    def delete(self, key: bytes) -> bool:
        """Delete a key. True if it was there (expired or not)."""
        if self.store.pop(key, self.keyspace.now_ms) is None:
            return False
        self._forget(key, events.DELETED)
        return True

    def drop(self, key: bytes, event: Event = events.DELETED) -> bool:
        """As `delete`, for a value that no caller uses any more: a large one is freed a slice at a time. `event` says
        why it goes."""
        value: Value | None = self.store.pop(key, self.keyspace.now_ms)
        if value is None:
            return False
        if type(value) is not bytes:
            self.keyspace.disposal.take_value(value)
        self._forget(key, event)
        return True

    def _forget(self, key: bytes, event: Event) -> None:
        """Forget the notes about a key beside the store, which `event` has ended."""
        if self.followed:
            self.note(event, key)
        if self.volatile_hashes:
            self.volatile_hashes.discard(key)
        if self.idmp_streams:
            self.idmp_streams.discard(key)

    def expire_at(self, key: bytes, at_ms: int | None) -> None:
        """Set the time to live of an existing key to a Unix time in ms, or take it away with None."""
        if at_ms is None:
            if self.followed and self.store.expiry_of(key) is not None:
                self.note(events.UNTIMED, key)
            self.store.persist(key)
            return
        self.store.expire(key, at_ms)
        if self.followed:
            self.note(events.TIMED, key)
        if self.keyspace.expiry is Expiry.REMOVE:
            self.own_ttls[key] = None
        elif self.own_ttls:
            self.own_ttls.pop(key, None)

    def changed(self, key: bytes, count: int = 1) -> None:
        """Note `count` changes of `key`: the command will be propagated, and clients that WATCH the key are told."""
        self.keyspace.dirty += count
        if self.watchers or self.followed:
            self._changed(key)

    def _changed(self, key: bytes) -> None:
        self.note(events.CHANGED, key)
        self.touched(key)

    def touched(self, key: bytes) -> None:
        """The value of `key` is another from now on, or the key is gone: clients that WATCH it are told. All changes
        come here, those too that are no change of the command's that met the key (expiry, eviction)."""
        for watcher in self.watchers.get(key, ()):
            watcher.dirty_cas = True
        if self.keyspace.follower is not None:
            self.keyspace.follower.key_touched(key)

    def note(self, event: Event, key: bytes) -> None:
        """Note what has happened to `key`, if facts are wanted."""
        if self.keyspace.notes_facts:
            self.keyspace.facts.append((event, self.index, key))

    def note_put(self, key: bytes, value: Value) -> None:
        """Note that `value` is about to be stored at `key`, in place of whatever is there."""
        for event in events.of_put(self.store.get(key), value, has_expired=self.has_expired(key)):
            self.note(event, key)

    def clear(self) -> int:
        """Delete all keys, and return how many there were. Clients that WATCH them are told."""
        store = self.store
        count = store.key_count
        watched = [key for key in self.watchers if store.holds(key)]
        disposal = self.keyspace.disposal
        values, expires, order = store.clear()
        disposal.take_keys(values)
        disposal.take(expires)
        disposal.take(order)
        disposal.take(self.accesses)
        disposal.take(self.volatile_hashes)
        disposal.take(self.idmp_streams)
        self.volatile_hashes = set()
        self.idmp_streams = set()
        self.accesses = {}
        self.own_ttls = {}
        self._tell_watchers(watched)
        return count

    def take_over(self, fresh: Database) -> None:
        """Replace all keys by those of `fresh`, a database that nothing else uses.

        Clients that WATCH keys that were here before, or keys that are here now, are told.
        """
        self.clear()
        self.store = fresh.store
        self.volatile_hashes, self.idmp_streams = fresh.volatile_hashes, fresh.idmp_streams
        self.accesses = fresh.accesses
        self._tell_watchers([key for key in self.watchers if fresh.holds(key)])

    def _tell_watchers(self, keys: list[bytes]) -> None:
        """Tell those who watch one of `keys` that it has changed."""
        for key in keys:
            for watcher in self.watchers[key]:
                watcher.dirty_cas = True

    @property
    def has_order(self) -> bool:
        """Is there an order of SCAN and RANDOMKEY, of the keys that are here now?"""
        return self.store.has_order

    def take_order(self, keys: list[bytes] | None) -> None:
        """Let `keys` be the order of SCAN and RANDOMKEY: all keys in the order of their insertion, with gaps, as an
        exact round gave them. None: make it now, O(keys)."""
        self.store.take_order(keys, self.keyspace.now_ms)

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """(next cursor, keys at the next `count` places of the order); see `store.key_order` for the promise.

        Next cursor 0 means the end. A key may be gone or have expired: look each up with `find`.
        """
        return self.store.scan(cursor, count, self.keyspace.now_ms)

    def random_key(self, below: Callable[[int], int]) -> bytes | None:
        """A random key that is there for its reader; None when there is none, or only keys that a replica hides.

        `below(n)` gives an integer in [0, n).
        """
        store = self.store
        tries = 0
        while store.key_count:
            key = store.draw(below, self.keyspace.now_ms)
            if self.find_kept(key) is not None:
                return key
            tries += 1
            if tries == _RANDOM_TRIES:
                store.close_gaps()
            elif tries > 2 * _RANDOM_TRIES:
                return next((key for key in store.all_keys() if self.find_kept(key) is not None), None)
        return None

    def evict(self, key: bytes) -> None:
        """Delete a key to free memory; clients that WATCH it are told. The caller tells the replicas."""
        self.drop(key, events.EVICTED)
        self.touched(key)
        self.accesses.pop(key, None)

    def expire(self, key: bytes) -> None:
        """Delete a key because it has expired; that is recorded."""
        self.drop(key, events.EXPIRED)
        self._note_expired(key)
        self.touched(key)

    def _note_expired(self, key: bytes) -> None:
        """An expired key is deleted or overwritten: count it and record it, so that replicas get its DEL before the
        command, or the append-only file of a writable replica does."""
        keyspace = self.keyspace
        if keyspace.expiry is not Expiry.IGNORE:
            keyspace.expired_keys_count += 1
            keyspace.expired.append((self.index, key))

    def _unpacked(self, key: bytes, packed: bytes) -> Value:
        """Unpack a collection that was found, store the unpacked value, and return it."""
        assert isinstance(packed, Packed)
        value = packed.unpack()
        self.store.replace(key, value, self.keyspace.now_ms)
        return value

    def _outlived(self, key: bytes) -> Value | None:
        """The result of a lookup that met no live key: None, unless there is an expired key that the reader may see."""
        value: Value | None = self.store.get(key)
        if value is None:
            return None
        mode = self.keyspace.expiry
        if mode is Expiry.IGNORE:
            return self._unpacked(key, value) if type(value) is not bytes and isinstance(value, bytes) else value
        if mode is Expiry.DELETE or mode is Expiry.REMOVE:
            self.expire(key)
        return None

    def _outlived_for_reader(self, key: bytes) -> Value | None:
        """As `_outlived`, for a key that a writing command only reads."""
        return None if self.keyspace.expiry is Expiry.REMOVE else self._outlived(key)
