"""MULTI, DISCARD, WATCH and UNWATCH, and the bookkeeping of watched keys. EXEC itself is run by `dispatch`.

A database tells the watchers of a key that it changed (`Database.changed`, `expire`, `clear`, `Keyspace.swap`) by
setting their `dirty_cas`. Usually the watcher is the client. Redis 7 has a rule on time besides: a key whose time has
passed already when WATCH named it counts as missing, so that its actual deletion later is no change; a key whose time
passes between WATCH and EXEC has changed, deleted or not. `StaleWatch` stands in for the client in the first case.
"""

from __future__ import annotations

from typing import final

from pyrepl.commands.call import Call
from pyrepl.commands.table import ALL_ARGS, FAST, LOADING, NO_SLOWLOG, NOSCRIPT, NOW_IN_MULTI, STALE, command
from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.node.client import Client
from pyrepl.resp.reply import OK, Simple

EXEC_WITHOUT_MULTI = "ERR EXEC without MULTI"


@final
class StaleWatch:
    """A client's watch of a key that had logically expired when it was named.

    While the key is still expired, or gone, nothing has changed for the client; anything else is passed on to it.
    """

    __slots__ = ("_db", "_key", "client")

    def __init__(self, client: Client, db: Database, key: bytes) -> None:
        self.client = client
        self._db = db
        self._key = key

    @property
    def dirty_cas(self) -> bool:
        return self.client.dirty_cas

    @dirty_cas.setter
    def dirty_cas(self, dirty: bool) -> None:
        if _is_there(self._db, self._key):
            self.client.dirty_cas = dirty


def watch(client: Client, db: Database, key: bytes) -> None:
    """Begin to watch `key` of `db`; watching it already changes nothing."""
    if (db.index, key) in client.watching:
        return
    client.watching.add((db.index, key))
    watcher = StaleWatch(client, db, key) if _has_expired(db, key) else client
    db.watchers.setdefault(key, set()).add(watcher)


def unwatch(client: Client, keyspace: Keyspace) -> None:
    """Forget what the client watches and that it changed (EXEC, DISCARD, UNWATCH, RESET, the end of a connection)."""
    for index, key in client.watching:
        watchers = keyspace.databases[index].watchers
        of_key = watchers[key]
        if client in of_key:
            of_key.remove(client)
        else:
            of_key.discard(_stale_watch(client, keyspace.databases[index], key))
        if not of_key:
            del watchers[key]
    client.watching.clear()
    client.dirty_cas = False


def is_dirty(client: Client, keyspace: Keyspace) -> bool:
    """Must EXEC fail, because a watched key has changed or its time has passed?

    A stale watch is asked again: SWAPDB tells watchers before it brings in what they would see.
    """
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


def discard_queue(client: Client, keyspace: Keyspace) -> None:
    """Leave MULTI without running anything, watched keys included (DISCARD, RESET, the end of a connection)."""
    client.queue = None
    client.queue_writes = False
    client.queue_grows = False
    client.dirty_exec = False
    unwatch(client, keyspace)
    client.review_guard()


def _has_expired(db: Database, key: bytes) -> bool:
    at_ms = db.expires.get(key)
    return at_ms is not None and at_ms <= db.keyspace.now_ms


def _is_there(db: Database, key: bytes) -> bool:
    return key in db.values and not _has_expired(db, key)


def _stale_watch(client: Client, db: Database, key: bytes) -> StaleWatch:
    for watcher in db.watchers[key]:
        if isinstance(watcher, StaleWatch) and watcher.client is client:
            return watcher
    raise AssertionError("a watched key has no watcher")


@command("MULTI", arity=1, flags=NOSCRIPT | LOADING | STALE | FAST | NOW_IN_MULTI, group="transactions", since="1.2.0")
def multi(call: Call) -> Simple:
    """Begin a transaction: the commands that follow are queued until EXEC"""
    client = call.client
    if client.queue is not None:
        raise CommandError("ERR MULTI calls can not be nested")
    client.queue = []
    client.queue_writes = False
    client.queue_grows = False
    client.dirty_exec = False
    client.review_guard()
    return OK


@command(
    "EXEC", arity=1, flags=NOSCRIPT | LOADING | STALE | NO_SLOWLOG | NOW_IN_MULTI, group="transactions", since="1.2.0"
)
def exec_(call: Call) -> None:
    """Execute all commands queued since MULTI

    The dispatcher runs the queue; it comes here only when there is none.
    """
    raise CommandError(EXEC_WITHOUT_MULTI)


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
