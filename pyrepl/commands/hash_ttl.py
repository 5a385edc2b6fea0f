"""Times to live of hash fields: setting, asking, taking away (Redis 7.4). Texts and replies are Redis 8.2's.

Commands that read or write fields together with their times (HGETEX, HSETEX, HGETDEL) stand in `hash_ttl_values`; how
expired fields go is `keyspace.field_expiry`.

| reply per field | HEXPIRE and its like | HTTL and its like | HPERSIST |
|---|---|---|---|
| -2 | no such field | no such field | no such field |
| -1 | | no time to live | no time to live |
| 0 | condition not met | | |
| 1 | set | | taken away |
| 2 | deleted, as the time is past | | |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyrepl.commands.call import Call
from pyrepl.commands.hash_fields import counted_fields, field_expiry_argument
from pyrepl.commands.table import FAST, FIRST_ARG, READONLY, WRITE, command
from pyrepl.keyspace.database import Expiry
from pyrepl.keyspace.field_expiry import find_hash, read_hash
from pyrepl.keyspace.values import HashValue

NO_FIELD: Final = -2
NO_TTL: Final = -1
NOT_MET: Final = 0
DONE: Final = 1
DELETED: Final = 2

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
    """Propagates as HPEXPIREAT for the fields that changed, or as HDEL for each whose time is already past."""
    value = find_hash(call.db, key)
    at_ms = field_expiry_argument(text, name, unit_ms, base_ms)
    condition = options[0].upper() if options[0].upper() in _CONDITIONS else b""
    names = counted_fields(options[1:] if condition else options, _COUNT_COMPLAINT)
    if value is None:
        return [NO_FIELD] * len(names)
    outcomes = [expire_field(call, value, field, at_ms, condition) for field in names]
    expired = [field for field, outcome in zip(names, outcomes) if outcome == DONE]
    if expired:
        head = [b"HPEXPIREAT", key, b"%d" % at_ms, *([condition] if condition else [])]
        call.rewrite(*head, b"FIELDS", b"%d" % len(expired), *expired)
        call.db.volatile_hashes.add(key)
    deleted = [field for field, outcome in zip(names, outcomes) if outcome == DELETED]
    propagate_deletions(call, key, deleted)
    note_change(call, key, value, len(expired) + len(deleted))
    return outcomes


def propagate_deletions(call: Call, key: bytes, fields: Iterable[bytes]) -> None:
    """Tell the replicas of fields whose time was past when it was set: each by itself, as Redis 8.2 does."""
    for field in fields:
        call.rewrite(b"HDEL", key, field)


def note_change(call: Call, key: bytes, value: HashValue, count: int) -> None:
    """After `count` fields changed: drop the hash with its last field, and record the change."""
    if not value.fields:
        call.db.delete(key)
    if count:
        call.db.changed(key, count)


def expire_field(call: Call, value: HashValue, field: bytes, at_ms: int, condition: bytes = b"") -> int:
    """Set one field's time if `condition` (NX, XX, GT, LT or empty) holds; the field goes when that time is past.

    A replica leaves the deletion to its master's HDEL. The caller propagates.
    """
    if field not in value.fields:
        return NO_FIELD
    if condition and not _holds(condition, value.expiry(field), at_ms):
        return NOT_MET
    if at_ms <= call.now_ms and call.keyspace.expiry is Expiry.DELETE:
        value.discard(field)
        return DELETED
    value.expire_at(field, at_ms)
    return DONE


def _holds(condition: bytes, old_ms: int | None, at_ms: int) -> bool:
    """No time to live counts as an infinite one, as for keys."""
    if condition == b"NX":
        return old_ms is None
    if condition == b"XX":
        return old_ms is not None
    if condition == b"GT":
        return old_ms is not None and at_ms > old_ms
    return old_ms is None or at_ms < old_ms


@command("HPERSIST", arity=-5, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="7.4.0")
def hpersist(call: Call, key: bytes, *options: bytes) -> list[int]:
    """Take away the times to live of hash fields."""
    value = find_hash(call.db, key)
    names = counted_fields(options)
    if value is None:
        return [NO_FIELD] * len(names)
    outcomes = [_persist(value, field) for field in names]
    changed = outcomes.count(DONE)
    if changed:
        call.db.changed(key, changed)
    return outcomes


def _persist(value: HashValue, field: bytes) -> int:
    if field not in value.fields:
        return NO_FIELD
    return DONE if value.persist(field) else NO_TTL


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
    """When each field expires, in units from `base_ms` on, rounded up."""
    value = read_hash(call.db, key)
    names = counted_fields(options)
    if value is None:
        return [NO_FIELD] * len(names)
    times: list[int] = []
    for field in names:
        at_ms = value.expiry(field)
        if at_ms is not None:
            times.append((at_ms - base_ms + unit_ms - 1) // unit_ms)
        else:
            times.append(NO_TTL if field in value.fields else NO_FIELD)
    return times
