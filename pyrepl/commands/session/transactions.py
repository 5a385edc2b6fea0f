"""MULTI, EXEC, DISCARD, WATCH and UNWATCH, and the bookkeeping of watched keys. `nested` runs the queued commands.

A database keeps the watchers of each key. When the key changes (`Database.changed`, `expire`, `clear`), it sets their
`dirty_cas`, which makes EXEC fail. Usually the watcher is the client itself.

Redis 7.0 has three more rules, which concern keys whose time to live has passed:

- A key that had expired when WATCH named it counts as missing. Its deletion later is no change.
- A key that expires between WATCH and EXEC has changed, whether it was deleted meanwhile or not.
- A key that was missing has not changed when SWAPDB brings an expired key of that name.

So where the key was missing or expired at WATCH, the watcher is a `MissingKeyWatch`, which knows these rules.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.nested import run_queue
from pyrepl.commands.engine.table import (
    ALL_ARGS,
    ALLOW_BUSY,
    FAST,
    IN_STREAM,
    LOADING,
    NO_SLOWLOG,
    NOSCRIPT,
    NOW_IN_MULTI,
    STALE,
    command,
)
from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.node.client import Client
from pyrepl.resp.reply import NULL_ARRAY, OK, NullArray, Reply, Simple

EXEC_WITHOUT_MULTI: Final = "ERR EXEC without MULTI"
EXECABORT: Final = "EXECABORT Transaction discarded because of previous errors."


@final
class MissingKeyWatch:
    """A client's watch of a key that was missing, or had expired, when WATCH named it.

    `is_stale` is true while the database still holds the expired key. The client is told of a change only when the key
    exists afterwards; the deletion of the expired key is none.
    """

    __slots__ = ("_db", "_key", "client", "is_stale")

    def __init__(self, client: Client, db: Database, key: bytes) -> None:
        self.client = client
        self._db = db
        self._key = key
        self.is_stale = db.holds(key)

    @property
    def dirty_cas(self) -> bool:
        """The client's flag: has a key that it watches changed? The database sets it on every watcher of a key."""
        return self.client.dirty_cas

    @dirty_cas.setter
    def dirty_cas(self, dirty: bool) -> None:
        if not self.is_stale or _exists(self._db, self._key):
            self.client.dirty_cas = dirty
        elif not self._db.holds(self._key):
            self.is_stale = False

    def note_swap(self) -> None:
        """SWAPDB has given the database the keys of another one."""
        if _exists(self._db, self._key):
            self.client.dirty_cas = True
        else:
            self.is_stale = self._db.holds(self._key)


def watch(client: Client, db: Database, key: bytes) -> None:
    """Begin to watch `key` of `db` for the client. Does nothing if the client watches it already."""
    if (db.index, key) in client.watching:
        return
    client.watching.add((db.index, key))
    watcher = client if _exists(db, key) else MissingKeyWatch(client, db, key)
    db.watchers.setdefault(key, set()).add(watcher)


def unwatch(client: Client, keyspace: Keyspace) -> None:
    """End all watches of the client, and reset its `dirty_cas`.

    EXEC, DISCARD, UNWATCH, RESET and the end of a connection do this.
    """
    for index, key in client.watching:
        watchers = keyspace.databases[index].watchers
        of_key = watchers[key]
        if client in of_key:
            of_key.remove(client)
        else:
            of_key.discard(_missing_key_watch(client, keyspace.databases[index], key))
        if not of_key:
            del watchers[key]
    client.watching.clear()
    client.dirty_cas = False


def is_dirty(client: Client, keyspace: Keyspace) -> bool:
    """Must EXEC fail, because a watched key has changed, or has expired since WATCH? O(watched keys)."""
    if client.dirty_cas:
        return True
    for index, key in client.watching:
        db = keyspace.databases[index]
        if client in db.watchers[key]:
            if _has_expired(db, key):
                return True
        elif _exists(db, key):
            return True
    return False


def tell_watchers_of_swap(one: Database, two: Database) -> None:
    """Tell the watchers of two databases that SWAPDB has exchanged the keys of these databases.

    A key that neither database holds has not changed, so its watchers are not told.
    """
    for db, before in ((one, two), (two, one)):
        for key, watchers in db.watchers.items():
            if db.holds(key) or before.holds(key):
                for watcher in watchers:
                    if isinstance(watcher, MissingKeyWatch):
                        watcher.note_swap()
                    else:
                        watcher.dirty_cas = True


def discard_queue(client: Client, keyspace: Keyspace) -> None:
    """Leave MULTI without running the queue, and end all watches (DISCARD, RESET, the end of a connection)."""
    client.end_multi()
    unwatch(client, keyspace)


def _has_expired(db: Database, key: bytes) -> bool:
    """Has the key a time to live, and is that over? True for an expired key that is not deleted yet."""
    at_ms = db.expiry_of(key)
    return at_ms is not None and at_ms <= db.keyspace.now_ms


def _exists(db: Database, key: bytes) -> bool:
    """Does the database hold the key, and has it not expired?"""
    return db.holds(key) and not _has_expired(db, key)


def _missing_key_watch(client: Client, db: Database, key: bytes) -> MissingKeyWatch:
    """The client's MissingKeyWatch of the key. The client must watch the key, and not be its watcher itself."""
    for watcher in db.watchers[key]:
        if isinstance(watcher, MissingKeyWatch) and watcher.client is client:
            return watcher
    raise AssertionError("a watched key has no watcher")


@command(
    "MULTI",
    arity=1,
    flags=NOSCRIPT | LOADING | STALE | FAST | NOW_IN_MULTI | IN_STREAM | ALLOW_BUSY,
    group="transactions",
    since="1.2.0",
)
def multi(call: Call) -> Simple:
    """Begin a transaction: the commands that follow are queued until EXEC"""
    client = call.client
    if client.queue is not None:
        raise CommandError("ERR MULTI calls can not be nested")
    client.begin_multi()
    return OK


@command(
    "EXEC",
    arity=1,
    flags=NOSCRIPT | LOADING | STALE | NO_SLOWLOG | NOW_IN_MULTI | IN_STREAM,
    group="transactions",
    since="1.2.0",
)
def exec_(call: Call) -> list[Reply] | NullArray:
    """Execute all commands queued since MULTI"""
    client = call.client
    queue = client.queue
    if queue is None:
        raise CommandError(EXEC_WITHOUT_MULTI)
    aborted, dirty = client.dirty_exec, is_dirty(client, call.keyspace)
    discard_queue(client, call.keyspace)
    if aborted:
        raise CommandError(EXECABORT)
    return NULL_ARRAY if dirty else run_queue(call, queue)


@command(
    "DISCARD",
    arity=1,
    flags=NOSCRIPT | LOADING | STALE | FAST | NOW_IN_MULTI | ALLOW_BUSY,
    group="transactions",
    since="2.0.0",
)
def discard(call: Call) -> Simple:
    """Drop the commands queued since MULTI and the watched keys"""
    if call.client.queue is None:
        raise CommandError("ERR DISCARD without MULTI")
    discard_queue(call.client, call.keyspace)
    return OK


@command(
    "WATCH",
    arity=-2,
    flags=NOSCRIPT | LOADING | STALE | FAST | NOW_IN_MULTI | ALLOW_BUSY,
    keys=ALL_ARGS,
    group="transactions",
    since="2.2.0",
)
def watch_(call: Call, *keys: bytes) -> Simple:
    """Let the next EXEC fail if one of these keys changes before it"""
    client = call.client
    if client.queue is not None:
        raise CommandError("ERR WATCH inside MULTI is not allowed")
    if not client.dirty_cas:
        for key in keys:
            watch(client, call.db, key)
    return OK


@command("UNWATCH", arity=1, flags=NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY, group="transactions", since="2.2.0")
def unwatch_(call: Call) -> Simple:
    """Forget all watched keys"""
    unwatch(call.client, call.keyspace)
    return OK
