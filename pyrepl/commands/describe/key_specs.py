"""What each command does with its keys: the key specs of COMMAND INFO, and COMMAND GETKEYSANDFLAGS (Redis 8.2 and 8.6).

A spec is written as a place and some flags, such as `1 RW update`. The places:

| place | keys |
|---|---|
| `1` | one, at word 1 of the command (the name, or both words of a subcommand's, come first) |
| `1..-1`, `1..-1/2` | from word 1 to the last, each or every second |
| `#1`, `#1/2` | word 1 says how many follow, the next ones or every second |
| `STORE=5` | one, behind this word, which is looked for from word 5 on |
| `KEYS*-2` | all that follow this word, which is looked for from the last word but one back |
| `STREAMS+1` | the first half of what follows this word, looked for from word 1 on |
| `?` | only code that knows the command can find these keys |

The flags RO (reads), RW (reads and writes), OW (overwrites) and RM (removes) say what happens to the value as a whole;
access, update, insert and delete say what happens to its contents; not_key stands for a shard channel, incomplete for a
spec that misses keys in some calls. For a few
commands the options decide, see `_flags_by_options`. A command without a row in SPECS only reads its keys; its row in
the command table says where they stand.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from pyrepl.commands.engine.table import Command

_SPECS: Final[tuple[tuple[str, str], ...]] = (
    ("1 RO", "TYPE STRLEN LLEN SISMEMBER SCARD HLEN HEXISTS HSTRLEN ZCARD XLEN"),
    ("1..-1 RO", "EXISTS TOUCH WATCH"),
    ("2 RO", "OBJECT|ENCODING OBJECT|REFCOUNT OBJECT|IDLETIME OBJECT|FREQ MEMORY|USAGE"),
    (
        "1 RW update",
        "EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST SETRANGE LSET HSET HMSET HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT"
        " HPERSIST HSETEX ZADD XADD XSETID XACK XCLAIM XCFGSET XIDMPRECORD GEOADD",
    ),
    (
        "1 RW access update",
        "MOVE GETSET GETEX INCR DECR INCRBY DECRBY INCRBYFLOAT SETBIT HINCRBY HINCRBYFLOAT HGETEX ZINCRBY"
        # Redis says so of all commands of its module.
        " VADD VCARD VDIM VEMB VGETATTR VINFO VISMEMBER VLINKS VRANDMEMBER VRANGE VREM VSETATTR VSIM",
    ),
    ("1..-1 RW access", "PFCOUNT"),
    ("1 RW access insert; 2..-1 RO access", "PFMERGE"),
    ("2 RW access", "PFDEBUG"),
    ("1 RW access update variable_flags", "SET BITFIELD"),
    (
        "1 RW delete",
        "LTRIM LREM SREM HDEL ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX XDEL XDELEX XTRIM XAUTOCLAIM",
    ),
    ("1 RW update delete", "XACKDEL"),
    ("1 RW insert", "APPEND LPUSH RPUSH LPUSHX RPUSHX LINSERT SADD HSETNX PFADD"),
    ("1 RW access delete", "GETDEL LPOP RPOP SPOP HGETDEL ZPOPMIN ZPOPMAX"),
    ("1 OW update", "RESTORE RESTORE-ASKING SETEX PSETEX"),
    ("1 OW insert", "SETNX"),
    ("1..-1/2 OW update", "MSET"),
    ("1..-1/2 OW insert", "MSETNX"),
    ("1..-1 RM delete", "DEL UNLINK"),
    ("1 RM delete", "DELIFEQ"),
    ("1 RW delete variable_flags", "DELEX"),
    ("#1/2 OW update", "MSETEX"),
    ("1 RW access delete; 2 RW insert", "LMOVE RPOPLPUSH SMOVE BLMOVE BRPOPLPUSH"),
    ("1 RW access delete; 2 OW update", "RENAME"),
    ("1 RW access delete; 2 OW insert", "RENAMENX"),
    ("1 RO access; 2 OW update", "COPY"),
    ("1 OW update; 2 RO access", "ZRANGESTORE GEOSEARCHSTORE"),
    ("1 OW update; 2..-1 RO access", "SINTERSTORE SUNIONSTORE SDIFFSTORE"),
    ("1 OW update; #2 RO access", "ZUNIONSTORE ZINTERSTORE ZDIFFSTORE"),
    ("2 OW update; 3..-1 RO access", "BITOP"),
    ("#1 RO access", "SINTERCARD ZUNION ZINTER ZDIFF ZINTERCARD"),
    ("#1 RW access delete", "LMPOP ZMPOP"),
    ("#2 RW access delete", "BLMPOP BZMPOP"),
    ("1..-2 RW access delete", "BLPOP BRPOP BZPOPMIN BZPOPMAX"),
    ("1 RO access; STORE=6 OW update; STOREDIST=6 OW update", "GEORADIUS"),
    ("1 RO access; STORE=5 OW update; STOREDIST=5 OW update", "GEORADIUSBYMEMBER"),
    ("#2 RW access update", "EVAL EVALSHA FCALL"),
    ("#2 RO access", "EVAL_RO EVALSHA_RO FCALL_RO"),
    ("1 RO access; ? RO access; ? OW update", "SORT"),
    ("1 RO access; ? RO access", "SORT_RO"),
    ("2 RW insert", "XGROUP|CREATE XGROUP|CREATECONSUMER"),
    ("2 RW delete", "XGROUP|DESTROY XGROUP|DELCONSUMER"),
    ("2 RW update", "XGROUP|SETID"),
    ("1 not_key", "SPUBLISH CLUSTERSCAN"),
    ("1..-1 not_key", "SSUBSCRIBE SUNSUBSCRIBE"),
    ("3 RW access delete; KEYS*-2 RW access delete incomplete", "MIGRATE"),
    ("STREAMS+1 RO access", "XREAD"),
    ("STREAMS+4 RO access", "XREADGROUP"),
)
SPECS: Final[dict[str, str]] = {name: spec for spec, names in _SPECS for name in names.split()}

_PLACE: Final = re.compile(
    r"(?P<count>#)?(?P<first>\d+)(\.\.(?P<last>-?\d+))?(/(?P<step>\d+))?|(?P<word>[A-Z]+)(?P<reach>[+=*])(?P<start>-?\d+)"
)


_REACHES: Final = {"+": (-1, 2), "*": (-1, 0), "=": (0, 0)}
"""The sign behind a word -> `lastkey` and `limit` of the keys that follow it."""


class Search(NamedTuple):
    """Half of a spec: how to find the first key, or how to find the keys after it.

    `type` is Redis's name of the method, `spec` its parameters by Redis's names.
    """

    type: str
    spec: tuple[tuple[str, int | bytes], ...] = ()


class KeySpec(NamedTuple):
    """One spec: where some of the keys stand (`begin`, `find`), and what is done with them (`flags`)."""

    flags: tuple[str, ...]
    begin: Search
    find: Search


def specs_of(row: Command) -> tuple[KeySpec, ...]:
    """The specs of a row, in Redis's order; empty for a command without keys."""
    text = SPECS.get(row.name)
    if text is None and row.keys.first:
        last = row.keys.last
        text = f"{row.keys.first}{'' if last == row.keys.first else f'..{last}'}/{row.keys.step} RO access"
    return _parsed(text) if text else ()


def named_specs(row: Command) -> list[int]:
    """The indexes of the specs whose keys stand among the arguments; SORT's patterns make keys that do not."""
    specs = specs_of(row)
    return [at for at, spec in enumerate(specs) if spec.begin.type != "unknown" or spec.flags[0] == "OW"]


@cache
def _parsed(text: str) -> tuple[KeySpec, ...]:
    return tuple(_spec(part.split()) for part in text.split("; "))


def _spec(words: list[str]) -> KeySpec:
    place, *flags = words
    found = _PLACE.fullmatch(place)
    if found is None:
        return KeySpec(tuple(flags), Search("unknown"), Search("unknown"))
    step = int(found["step"] or 1)
    if found["word"]:
        begin = Search("keyword", (("keyword", found["word"].encode()), ("startfrom", int(found["start"]))))
        last, limit = _REACHES[found["reach"]]
        return KeySpec(tuple(flags), begin, Search("range", (("lastkey", last), ("keystep", step), ("limit", limit))))
    first = int(found["first"])
    begin = Search("index", (("index", first),))
    if found["count"]:
        return KeySpec(tuple(flags), begin, Search("keynum", (("keynumidx", 0), ("firstkey", 1), ("keystep", step))))
    last = int(found["last"] or first)
    reach = last - first if last >= 0 else last
    return KeySpec(tuple(flags), begin, Search("range", (("lastkey", reach), ("keystep", step), ("limit", 0))))


def ends_before_a_key(row: Command, size: int) -> bool:
    """Does a call of `size` words end before the place at which a spec finds its first key (PFMERGE without sources)?

    Redis refuses to say where its keys are, though it executes it.
    """
    places = [place for spec in specs_of(row) for name, place in spec.begin.spec if name == "index"]
    return any(isinstance(place, int) and place >= size for place in places)


def keys_with_flags(row: Command, argv: list[bytes], positions: list[int]) -> list[tuple[int, tuple[str, ...]]]:
    """(position, flags) of each key of `argv`: what this very call does to the key.

    `positions` are those that the row finds. When a command has several specs, each stands for one key, and the last
    one for all keys that are left.
    """
    specs = specs_of(row)
    if row.name in ("SORT", "SORT_RO"):
        return [(at, specs[0].flags if number == 0 else ("OW", "update")) for number, at in enumerate(positions)]
    flags = [_flags_by_options(row, argv, spec.flags) for spec in specs]
    return [(at, flags[min(number, len(flags) - 1)]) for number, at in enumerate(positions)]


def _flags_by_options(row: Command, argv: list[bytes], flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of a spec for this call: for a few commands the options decide what is done to the key."""
    if row.name == "SET" and b"GET" not in [word.upper() for word in argv[3:]]:
        return ("OW", "update")
    if row.name == "DELEX" and len(argv) == 2:
        return ("RM", "delete")
    if row.name == "BITFIELD" and not {b"SET", b"INCRBY"} & {word.upper() for word in argv[2:]}:
        return ("RO", "access")
    return tuple(flag for flag in flags if flag != "variable_flags")
