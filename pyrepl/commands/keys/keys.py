"""Commands on keys of any type: delete, ask for, rename, copy, move and list them.

Not here: times to live (`expiry`), SCAN (`scan`), OBJECT (`objects`), whole databases (`databases`).
"""

from __future__ import annotations

from pyrepl.commands.engine.arguments import database_argument, no_such_key, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.effects import InSlices
from pyrepl.commands.engine.slices import FEW_KEYS, KeysJob, OrderJob, is_order_far
from pyrepl.commands.engine.table import (
    ALL_ARGS,
    ARBITRARY_KEYS,
    DENYOOM,
    FAST,
    FIRST_ARG,
    FIRST_TWO,
    READONLY,
    WRITE,
    command,
)
from pyrepl.errors import CommandError
from pyrepl.glob import Glob
from pyrepl.keyspace.copying import copied
from pyrepl.keyspace.database import Database, Expiry
from pyrepl.keyspace.packed import kept_type_name
from pyrepl.resp.reply import OK, Simple

_SAME = "ERR source and destination objects are the same"


@command("DEL", arity=-2, flags=WRITE, keys=ALL_ARGS, group="generic")
def del_(call: Call, *keys: bytes) -> int:
    """Delete keys; how many there were."""
    return _delete(call.db, keys)


@command("UNLINK", arity=-2, flags=WRITE | FAST, keys=ALL_ARGS, group="generic", since="4.0.0")
def unlink(call: Call, *keys: bytes) -> int:
    """Delete keys; how many there were. The same as DEL here."""
    return _delete(call.db, keys)


def _delete(db: Database, keys: tuple[bytes, ...]) -> int:
    """Delete keys; how many of them were there, not counting expired ones."""
    deleted = 0
    # On a writable replica an expired key counts, as in Redis: only a client's command can delete it there.
    ends_expired = db.keyspace.expiry is not Expiry.REMOVE
    for key in keys:
        if ends_expired and db.timed_count:
            db.find_kept(key)
        if db.drop(key):
            db.changed(key)
            deleted += 1
    return deleted


@command("EXISTS", arity=-2, flags=READONLY | FAST, keys=ALL_ARGS, group="generic")
def exists(call: Call, *keys: bytes) -> int:
    """How many of the keys exist; one named twice counts twice."""
    return sum(call.db.read_kept(key) is not None for key in keys)


@command("TOUCH", arity=-2, flags=READONLY | FAST, keys=ALL_ARGS, group="generic", since="3.2.1")
def touch(call: Call, *keys: bytes) -> int:
    """Access keys; how many there are."""
    return sum(call.db.read_kept(key) is not None for key in keys)


@command("TYPE", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="generic")
def type_(call: Call, key: bytes) -> Simple:
    """The type of the value a key holds, or none."""
    value = call.db.read_kept(key)
    return Simple(b"none" if value is None else kept_type_name(value).encode())


@command("RENAME", arity=3, flags=WRITE, keys=FIRST_TWO, group="generic")
def rename(call: Call, key: bytes, new: bytes) -> Simple:
    """Give a key another name, over whatever had that name."""
    _rename(call.db, key, new, replace=True)
    return OK


@command("RENAMENX", arity=3, flags=WRITE | FAST, keys=FIRST_TWO, group="generic")
def renamenx(call: Call, key: bytes, new: bytes) -> int:
    """Give a key another name that is free; 1 if done."""
    return int(_rename(call.db, key, new, replace=False))


def _rename(db: Database, key: bytes, new: bytes, *, replace: bool) -> bool:
    """Move a value and its time to live to another key. Raises CommandError when there is no value.

    False, with nothing changed, when both keys are the same, and when `new` exists and `replace` is false.
    """
    value = db.find_kept(key)
    if value is None:
        raise no_such_key()
    if key == new or (db.find_kept(new) is not None and not replace):
        return False
    at_ms = db.expiry_of(key)
    db.put(new, value)
    db.expire_at(new, at_ms)
    db.delete(key)
    db.changed(key)
    db.changed(new, 0)
    return True


@command("COPY", arity=-3, flags=WRITE | DENYOOM, keys=FIRST_TWO, group="generic", since="6.2.0")
def copy(call: Call, key: bytes, new: bytes, *options: bytes) -> int:
    """Copy a value and its time to live to another key, perhaps in another database; 1 if done."""
    target, replace = _copy_options(call, options)
    if target is call.db and key == new:
        raise CommandError(_SAME)
    value = call.db.read_kept(key)
    if value is None or (target.find_kept(new) is not None and not replace):
        return 0
    at_ms = call.db.expiry_of(key)
    target.put(new, copied(value))
    target.expire_at(new, at_ms)
    target.changed(new)
    return 1


def _copy_options(call: Call, options: tuple[bytes, ...]) -> tuple[Database, bool]:
    """(the database to copy to, whether REPLACE is given) of COPY's options. Raises CommandError."""
    target, replace = call.db, False
    words = iter(options)
    for word in words:
        if word.upper() == b"REPLACE":
            replace = True
        elif word.upper() == b"DB" and (number := next(words, None)) is not None:
            target = _database(call, number)
        else:
            raise syntax_error()
    return target, replace


def _database(call: Call, number: bytes) -> Database:
    """The database of that number. Raises CommandError when there is none."""
    databases = call.keyspace.databases
    return databases[database_argument(number, len(databases))]


@command("MOVE", arity=3, flags=WRITE | FAST, keys=FIRST_ARG, group="generic")
def move(call: Call, key: bytes, number: bytes) -> int:
    """Move a key to another database; 1 if done, 0 when it is not here or is there already."""
    source, target = call.db, _database(call, number)
    if source is target:
        raise CommandError(_SAME)
    value = source.find_kept(key)
    if value is None or target.find_kept(key) is not None:
        return 0
    at_ms = source.expiry_of(key)
    target.put(key, value)
    target.expire_at(key, at_ms)
    source.delete(key)
    source.changed(key)
    target.changed(key, 0)
    return 1


@command("KEYS", arity=2, flags=READONLY, group="generic")
def keys_(call: Call, pattern: bytes) -> list[bytes] | Effect:
    """All keys that match a pattern. For big databases use SCAN: this takes long, and a reply as big as they are."""
    db = call.db
    matches = Glob(pattern).matches
    if db.key_count > FEW_KEYS:
        return InSlices(KeysJob(db, matches))
    found = db.all_keys() if pattern == b"*" else [key for key in db.all_keys() if matches(key)]
    return [key for key in found if not db.has_expired(key)] if db.timed_count else found


@command("RANDOMKEY", arity=1, flags=READONLY | ARBITRARY_KEYS, group="generic")
def randomkey(call: Call) -> bytes | Effect | None:
    """A random key; null when the database is empty."""
    db, below = call.db, call.random.below
    if is_order_far(db):
        return InSlices(OrderJob(db, lambda: db.random_key(below)))
    return db.random_key(below)
