"""Which keyspace events a command causes, from the facts that the databases noted while it ran (`keyspace.events`).

Most facts are events as they stand. Here is what the fact `CHANGED` is called, for each command: one row for most. A
command that has no row changes keys without an event of its own (DEL, EXPIRE: their facts say all).

The order is Redis's (8.2): new and overwritten, then what the command did, then what followed from it (a time to live,
the deletion of a value that is empty now). A command that stores a result deletes its destination when the result is
empty; then the deletion is the only event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyrepl.keyspace.events import (
    CHANGED,
    DELETED,
    EXPIRED,
    MISSED,
    NEW,
    OVERWRITTEN,
    TYPE_CHANGED,
    Event,
    Fact,
)
from pyrepl.node.node import Node

_BY_COMMAND: Final[tuple[tuple[str, str, str], ...]] = (
    ("$", "set", "SET SETNX SETEX PSETEX GETSET MSET MSETNX MSETEX BITOP"),
    ("$", "append", "APPEND"),
    ("$", "setrange", "SETRANGE"),
    ("$", "incrby", "INCR DECR INCRBY DECRBY"),
    ("$", "incrbyfloat", "INCRBYFLOAT"),
    ("$", "setbit", "SETBIT BITFIELD"),
    ("$", "pfadd", "PFADD PFMERGE"),
    ("l", "lpush", "LPUSH LPUSHX"),
    ("l", "rpush", "RPUSH RPUSHX"),
    ("l", "lpop", "LPOP BLPOP"),
    ("l", "rpop", "RPOP BRPOP"),
    ("l", "linsert", "LINSERT"),
    ("l", "lset", "LSET"),
    ("l", "lrem", "LREM"),
    ("l", "ltrim", "LTRIM"),
    ("l", "sortstore", "SORT"),
    ("s", "sadd", "SADD"),
    ("s", "srem", "SREM"),
    ("s", "spop", "SPOP"),
    ("s", "sinterstore", "SINTERSTORE"),
    ("s", "sunionstore", "SUNIONSTORE"),
    ("s", "sdiffstore", "SDIFFSTORE"),
    ("z", "zincr", "ZINCRBY"),
    ("z", "zadd", "GEOADD"),
    ("z", "zrem", "ZREM"),
    ("z", "zpopmin", "ZPOPMIN BZPOPMIN"),
    ("z", "zpopmax", "ZPOPMAX BZPOPMAX"),
    ("z", "zremrangebyrank", "ZREMRANGEBYRANK"),
    ("z", "zremrangebyscore", "ZREMRANGEBYSCORE"),
    ("z", "zremrangebylex", "ZREMRANGEBYLEX"),
    ("z", "zunionstore", "ZUNIONSTORE"),
    ("z", "zinterstore", "ZINTERSTORE"),
    ("z", "zdiffstore", "ZDIFFSTORE"),
    ("z", "zrangestore", "ZRANGESTORE"),
    ("z", "geosearchstore", "GEOSEARCHSTORE"),
    ("z", "georadiusstore", "GEORADIUS GEORADIUSBYMEMBER"),
    ("h", "hset", "HSET HSETNX HMSET HSETEX"),
    ("h", "hincrby", "HINCRBY"),
    ("h", "hincrbyfloat", "HINCRBYFLOAT"),
    ("h", "hdel", "HDEL HGETDEL"),
    ("t", "xadd", "XADD"),
    ("t", "xtrim", "XTRIM"),
    ("t", "xdel", "XDEL XDELEX XACKDEL"),
)
_BY_PLACE: Final[tuple[tuple[str, tuple[Event, ...]], ...]] = (
    ("SMOVE", (Event("s", "srem"), Event("s", "sadd"))),
    ("RPOPLPUSH BRPOPLPUSH", (Event("l", "lpush"), Event("l", "rpop"))),
    ("RENAME RENAMENX", (Event("g", "rename_from"), Event("g", "rename_to"))),
    ("MOVE", (Event("g", "move_from"), Event("g", "move_to"))),
    ("COPY", (Event("g", "copy_to"),)),
    ("RESTORE RESTORE-ASKING", (Event("g", "restore"),)),
)
"""Commands -> what the first, the second key that they change is told to be."""
STORING: Final = frozenset(
    {"BITOP", "SORT", "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE", "ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"}
    | {"ZRANGESTORE", "GEOSEARCHSTORE", "GEORADIUS", "GEORADIUSBYMEMBER"}
)
"""Commands that store a result, or delete the destination of an empty one."""
PLACING: Final = frozenset({"RENAME", "RENAMENX", "MOVE", "COPY", "RESTORE", "RESTORE-ASKING"})
"""Commands that put a whole key somewhere. A key that was there is deleted before, without an event, and told to be
overwritten at the end; the time to live that came along is not told."""

SILENT: Final = frozenset({"OBJECT|ENCODING", "OBJECT|FREQ", "OBJECT|IDLETIME", "OBJECT|REFCOUNT", "MEMORY|USAGE"})
"""Commands that tell of no key that they miss."""

_POP: Final = {b"LEFT": Event("l", "lpop"), b"RIGHT": Event("l", "rpop")}
_PUSH: Final = {b"LEFT": Event("l", "lpush"), b"RIGHT": Event("l", "rpush")}
_ZPOP: Final = {b"MIN": Event("z", "zpopmin"), b"MAX": Event("z", "zpopmax")}
_ZADD: Final = Event("z", "zadd")
_ZINCR: Final = Event("z", "zincr")
_ZADD_OPTIONS: Final = frozenset({b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"})


def _of_lmove(argv: list[bytes]) -> tuple[Event, ...]:
    return (_PUSH[argv[4].upper()], _POP[argv[3].upper()])


def _of_lmpop(argv: list[bytes]) -> tuple[Event, ...]:
    return (_POP[argv[2 + int(argv[1])].upper()],)


def _of_blmpop(argv: list[bytes]) -> tuple[Event, ...]:
    return (_POP[argv[3 + int(argv[2])].upper()],)


def _of_zmpop(argv: list[bytes]) -> tuple[Event, ...]:
    return (_ZPOP[argv[2 + int(argv[1])].upper()],)


def _of_bzmpop(argv: list[bytes]) -> tuple[Event, ...]:
    return (_ZPOP[argv[3 + int(argv[2])].upper()],)


def _of_zadd(argv: list[bytes]) -> tuple[Event, ...]:
    for word in argv[2:]:
        option = word.upper()
        if option == b"INCR":
            return (_ZINCR,)
        if option not in _ZADD_OPTIONS:
            break
    return (_ZADD,)


_BY_WORDS: Final[dict[str, Callable[[list[bytes]], tuple[Event, ...]]]] = {
    "LMOVE": _of_lmove,
    "BLMOVE": _of_lmove,
    "LMPOP": _of_lmpop,
    "BLMPOP": _of_blmpop,
    "ZMPOP": _of_zmpop,
    "BZMPOP": _of_bzmpop,
    "ZADD": _of_zadd,
}
"""Commands whose words decide; they have been executed, so the words are right."""

_ROWS: Final[dict[str, tuple[Event, ...]]] = {
    name: (Event(kind, event),) for kind, event, names in _BY_COMMAND for name in names.split()
} | {name: events for names, events in _BY_PLACE for name in names.split()}
NAMED: Final = frozenset(_ROWS) | frozenset(_BY_WORDS)
"""Commands that have an event of their own."""
_AT_ONCE: Final = frozenset({NEW, OVERWRITTEN, TYPE_CHANGED, MISSED, EXPIRED})


def tell_events(node: Node, name: str, argv: list[bytes]) -> None:
    """Publish what happened to keys while command `name` (of its row; empty for no command) was executed as `argv`."""
    facts = node.keyspace.facts
    if facts:
        node.deliveries.extend(node.notifications.messages(events_of(name, argv, facts)))
        facts.clear()


def events_of(name: str, argv: list[bytes], facts: list[Fact]) -> list[Fact]:
    """The events that command `name` (of its row) caused, in order; no CHANGED among them."""
    if name in SILENT:
        facts = [fact for fact in facts if fact[0] is not MISSED]
    if len(facts) == 1 and facts[0][0] is not CHANGED:
        return facts
    of_words = _BY_WORDS.get(name)
    own = _ROWS.get(name, ()) if of_words is None else of_words(argv) if _has_changed(facts) else ()
    if name in PLACING:
        return _placed(own, facts)
    if not own:
        return [fact for fact in facts if fact[0] is not CHANGED]
    return _followed(own, facts, stores=name in STORING)


def _has_changed(facts: list[Fact]) -> bool:
    return any(fact[0] is CHANGED for fact in facts)


def _followed(own: tuple[Event, ...], facts: list[Fact], *, stores: bool) -> list[Fact]:
    """Each CHANGED by its name; what followed from the change behind it, though it was noted before."""
    told: list[Fact] = []
    later: list[Fact] = []
    number = 0
    for fact in facts:
        event, index, key = fact
        if event is CHANGED:
            is_deleted = stores and (DELETED, index, key) in later
            if not is_deleted:
                told.append((own[min(number, len(own) - 1)], index, key))
            number += 1
        elif event not in _AT_ONCE:
            later.append(fact)
            continue
        elif event is not NEW:
            told.append(fact)
            continue
        # The change is told, or another value begins: what was noted of the key comes now.
        told.extend([noted for noted in later if noted[1:] == (index, key)])
        later = [noted for noted in later if noted[1:] != (index, key)]
        if event is NEW:
            told.append(fact)
    return told + later


def _placed(own: tuple[Event, ...], facts: list[Fact]) -> list[Fact]:
    """The events of a command that puts a whole key somewhere (PLACING)."""
    told = [fact for fact in facts if fact[0] in (EXPIRED, MISSED)]
    changed = [fact for fact in facts if fact[0] is CHANGED]
    replaced = [fact for fact in facts if fact[0] is OVERWRITTEN or fact[0] is TYPE_CHANGED]
    placed = [fact for fact in facts if fact[0] is NEW] + [(NEW, *fact[1:]) for fact in replaced[:1]]
    if not placed:
        return told + [fact for fact in facts if fact[0] is DELETED]
    named = [(own[number], index, key) for number, (_, index, key) in enumerate(changed)]
    return told + placed + named + replaced
