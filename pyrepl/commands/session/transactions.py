"""MULTI, EXEC, DISCARD, WATCH and UNWATCH, and the bookkeeping of watched keys. `nested` runs what was queued.

A database tells the watchers of a key that it changed (`Database.changed`, `expire`, `clear`) by setting their
`dirty_cas`. Usually the watcher is the client. Redis 7 has a rule on time besides: a key whose time has passed already
when WATCH named it counts as missing, so that its actual deletion later is no change; a key whose time passes between
WATCH and EXEC has changed, deleted or not. SWAPDB is no change either where a key was missing and one comes whose time
has passed. `AbsentWatch` stands in for the client where the key was missing, in either sense.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.nested import run_queue
from pyrepl.commands.engine.table import (
    ALL_ARGS,
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
class AbsentWatch:
    """A client's watch of a key that was missing when it was named, or had logically expired (`is_stale`).

    While the key is still expired, or gone, nothing has changed for the client; anything else is passed on to it.
    """

    __slots__ = ("_db", "_key", "client", "is_stale")

    def __init__(self, client: Client, db: Database, key: bytes) -> None:
        self.client = client
        self._db = db
        self._key = key
        self.is_stale = db.holds(key)

    @property
    def dirty_cas(self) -> bool:
        return self.client.dirty_cas

    @dirty_cas.setter
    def dirty_cas(self, dirty: bool) -> None:
        if not self.is_stale or _is_there(self._db, self._key):
            self.client.dirty_cas = dirty
        elif not self._db.holds(self._key):
            self.is_stale = False

    def swapped(self) -> None:
        """What the database holds is another's from now on."""
        if _is_there(self._db, self._key):
            self.client.dirty_cas = True
        else:
            self.is_stale = self._db.holds(self._key)


def watch(client: Client, db: Database, key: bytes) -> None:
    """Begin to watch `key` of `db`; watching it already changes nothing."""
    if (db.index, key) in client.watching:
        return
    client.watching.add((db.index, key))
    watcher = client if _is_there(db, key) else AbsentWatch(client, db, key)
    db.watchers.setdefault(key, set()).add(watcher)


def unwatch(client: Client, keyspace: Keyspace) -> None:
    """Forget what the client watches and that it changed (EXEC, DISCARD, UNWATCH, RESET, the end of a connection)."""
    for index, key in client.watching:
        watchers = keyspace.databases[index].watchers
        of_key = watchers[key]
        if client in of_key:
            of_key.remove(client)
        else:
            of_key.discard(_absent_watch(client, keyspace.databases[index], key))
        if not of_key:
            del watchers[key]
    client.watching.clear()
    client.dirty_cas = False


def is_dirty(client: Client, keyspace: Keyspace) -> bool:
    """Must EXEC fail, because a watched key has changed or its time has passed?"""
    if client.dirty_cas:
        return True
    for index, key in client.watching:
        db = keyspace.databases[index]
        if client in db.watchers[key]:
            if _has_expired(db, key):
                return True
        elif _is_there(db, key):
            return True
    return False


def tell_of_swap(one: Database, two: Database) -> None:
    """SWAPDB has exchanged what two databases hold: whoever watches a key that either held is told."""
    for db, before in ((one, two), (two, one)):
        for key, watchers in db.watchers.items():
            if db.holds(key) or before.holds(key):
                for watcher in watchers:
                    if isinstance(watcher, AbsentWatch):
                        watcher.swapped()
                    else:
                        watcher.dirty_cas = True


def discard_queue(client: Client, keyspace: Keyspace) -> None:
    """Leave MULTI without running anything, watched keys included (DISCARD, RESET, the end of a connection)."""
    client.end_multi()
    unwatch(client, keyspace)


def _has_expired(db: Database, key: bytes) -> bool:
    at_ms = db.expiry_of(key)
    return at_ms is not None and at_ms <= db.keyspace.now_ms


def _is_there(db: Database, key: bytes) -> bool:
    return db.holds(key) and not _has_expired(db, key)


def _absent_watch(client: Client, db: Database, key: bytes) -> AbsentWatch:
    for watcher in db.watchers[key]:
        if isinstance(watcher, AbsentWatch) and watcher.client is client:
            return watcher
    raise AssertionError("a watched key has no watcher")


@command(
    "MULTI",
    arity=1,
    flags=NOSCRIPT | LOADING | STALE | FAST | NOW_IN_MULTI | IN_STREAM,
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
    "DISCARD", arity=1, flags=NOSCRIPT | LOADING | STALE | FAST | NOW_IN_MULTI, group="transactions", since="2.0.0"
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
    flags=NOSCRIPT | LOADING | STALE | FAST | NOW_IN_MULTI,
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


@command("UNWATCH", arity=1, flags=NOSCRIPT | LOADING | STALE | FAST, group="transactions", since="2.2.0")
def unwatch_(call: Call) -> Simple:
    """Forget all watched keys"""
    unwatch(call.client, call.keyspace)
    return OK
