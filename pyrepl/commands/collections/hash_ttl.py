"""Times to live of hash fields: setting them, asking for them, removing them (Redis 7.4).

Error texts and replies are Redis 8.2's. Commands that read or write values together with times (HGETEX, HSETEX,
HGETDEL) are in `hash_ttl_values`. The removal of expired fields is in `keyspace.field_expiry`.

| reply per field | the four HEXPIRE commands | the four HTTL commands | HPERSIST |
|---|---|---|---|
| -2 | no such field | no such field | no such field |
| -1 | | no time to live | no time to live |
| 0 | condition not met | | |
| 1 | set | | removed |
| 2 | deleted, as the time is past | | |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyrepl.commands.collections.hash_fields import counted_fields, field_expiry_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import FAST, FIRST_ARG, READONLY, WRITE, command
from pyrepl.keyspace import hash_verbs
from pyrepl.keyspace.hash_verbs import DELETED, DONE

_CONDITIONS: Final = (b"NX", b"XX", b"GT", b"LT")
_SECOND_MS: Final = 1000
_COUNT_COMPLAINT: Final = "ERR Parameter `numFields` should be greater than 0"


@command("HEXPIRE", arity=-6, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hexpire(call: Call, key: bytes, span: bytes, *options: bytes) -> list[int]:
    """Set times to live of hash fields in seconds."""
    return _expire(call, key, span, options, "hexpire", _SECOND_MS, call.now_ms)


@command("HPEXPIRE", arity=-6, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hpexpire(call: Call, key: bytes, span: bytes, *options: bytes) -> list[int]:
    """Set times to live of hash fields in milliseconds."""
    return _expire(call, key, span, options, "hpexpire", 1, call.now_ms)


@command("HEXPIREAT", arity=-6, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hexpireat(call: Call, key: bytes, point: bytes, *options: bytes) -> list[int]:
    """Set the Unix time in seconds at which hash fields expire."""
    return _expire(call, key, point, options, "hexpireat", _SECOND_MS, 0)


@command("HPEXPIREAT", arity=-6, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hpexpireat(call: Call, key: bytes, point: bytes, *options: bytes) -> list[int]:
    """Set the Unix time in milliseconds at which hash fields expire."""
    return _expire(call, key, point, options, "hpexpireat", 1, 0)


def _expire(
    call: Call, key: bytes, text: bytes, options: tuple[bytes, ...], name: str, unit_ms: int, base_ms: int
) -> list[int]:
    """Set the times of fields, for all four commands: `text` units of `unit_ms` after `base_ms`. One answer per field.

    A replica's clock differs, so what is propagated are points in time: one HPEXPIREAT for the fields whose time was
    set, and one HDEL for each field that was deleted because its time is past.
    """
    hash_verbs.check(call.db, key)
    at_ms = field_expiry_argument(text, name, unit_ms, base_ms)
    condition = options[0].upper() if options[0].upper() in _CONDITIONS else b""
    names = counted_fields(options[1:] if condition else options, _COUNT_COMPLAINT)
    outcomes = hash_verbs.expire(call.db, key, names, at_ms, condition)
    expired = [field for field, outcome in zip(names, outcomes) if outcome == DONE]
    if expired:
        head = [b"HPEXPIREAT", key, b"%d" % at_ms, *([condition] if condition else [])]
        call.rewrite(*head, b"FIELDS", b"%d" % len(expired), *expired)
    propagate_deletions(call, key, [field for field, outcome in zip(names, outcomes) if outcome == DELETED])
    return outcomes


def propagate_deletions(call: Call, key: bytes, fields: Iterable[bytes]) -> None:
    """Tell the replicas that these fields were deleted because their new time was past.

    Each field goes out as an HDEL of its own, as in Redis 8.2.
    """
    for field in fields:
        call.rewrite(b"HDEL", key, field)


@command("HPERSIST", arity=-5, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hpersist(call: Call, key: bytes, *options: bytes) -> list[int]:
    """Take away the times to live of hash fields."""
    hash_verbs.check(call.db, key)
    return hash_verbs.persist(call.db, key, counted_fields(options))


@command("HTTL", arity=-5, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def httl(call: Call, key: bytes, *options: bytes) -> list[int]:
    """The times to live of hash fields in seconds, rounded up."""
    return _times(call, key, options, call.now_ms, _SECOND_MS)


@command("HPTTL", arity=-5, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hpttl(call: Call, key: bytes, *options: bytes) -> list[int]:
    """The times to live of hash fields in milliseconds."""
    return _times(call, key, options, call.now_ms, 1)


@command("HEXPIRETIME", arity=-5, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hexpiretime(call: Call, key: bytes, *options: bytes) -> list[int]:
    """The Unix times in seconds at which hash fields expire, rounded up."""
    return _times(call, key, options, 0, _SECOND_MS)


@command("HPEXPIRETIME", arity=-5, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hpexpiretime(call: Call, key: bytes, *options: bytes) -> list[int]:
    """The Unix times in milliseconds at which hash fields expire."""
    return _times(call, key, options, 0, 1)


def _times(call: Call, key: bytes, options: tuple[bytes, ...], base_ms: int, unit_ms: int) -> list[int]:
    """The answer for each field: when it expires, in units of `unit_ms` after `base_ms`, rounded up; else -1 or -2."""
    hash_verbs.check_to_read(call.db, key)
    times = hash_verbs.expiries(call.db, key, counted_fields(options))
    return [at_ms if at_ms < 0 else (at_ms - base_ms + unit_ms - 1) // unit_ms for at_ms in times]
