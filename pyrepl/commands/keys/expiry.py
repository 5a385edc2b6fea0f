"""Times to live of keys: EXPIRE and TTL in their four forms each, and PERSIST.

Not here: the options of SET and GETEX (`strings`), times to live of hash fields (`hash_ttl`), the deletion of expired
keys (`keyspace`).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine import deletions
from pyrepl.commands.engine.arguments import expire_point_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import FAST, FIRST_ARG, READONLY, WRITE, command
from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Expiry
from pyrepl.words import to_text

_SECOND_MS: Final = 1000
NO_KEY: Final = -2
NO_TTL: Final = -1


@command("EXPIRE", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="generic")
def expire(call: Call, key: bytes, seconds: bytes, *options: bytes) -> int:
    """Set a time to live in seconds; 1 if set, 0 if not.

    Replicas apply the stream later than we do, so it propagates as an absolute PEXPIREAT (Unix ms), its options kept.
    """
    condition = Condition(options)
    at_ms = expire_point_argument(seconds, "expire", _SECOND_MS, call.now_ms)
    return _expire(call, key, at_ms, condition, options)


@command("PEXPIRE", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="generic", since="2.6.0")
def pexpire(call: Call, key: bytes, span_ms: bytes, *options: bytes) -> int:
    """Set a time to live in milliseconds; 1 if set, 0 if not."""
    condition = Condition(options)
    at_ms = expire_point_argument(span_ms, "pexpire", 1, call.now_ms)
    return _expire(call, key, at_ms, condition, options)


@command("EXPIREAT", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="generic", since="1.2.0")
def expireat(call: Call, key: bytes, at_s: bytes, *options: bytes) -> int:
    """Set the Unix time in seconds at which a key expires; 1 if set, 0 if not."""
    condition = Condition(options)
    at_ms = expire_point_argument(at_s, "expireat", _SECOND_MS, 0)
    return _expire(call, key, at_ms, condition, options)


@command("PEXPIREAT", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="generic", since="2.6.0")
def pexpireat(call: Call, key: bytes, at: bytes, *options: bytes) -> int:
    """Set the Unix time in milliseconds at which a key expires; 1 if set, 0 if not."""
    condition = Condition(options)
    at_ms = expire_point_argument(at, "pexpireat", 1, 0)
    return _expire(call, key, at_ms, condition, options)


@final
class Condition:
    """The options NX, XX, GT and LT of EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT.

    Raises CommandError for another word, and for options that exclude each other.
    """

    __slots__ = ("gt", "lt", "nx", "xx")

    def __init__(self, options: tuple[bytes, ...]) -> None:
        words = [option.upper() for option in options]
        for word, option in zip(words, options):
            if word not in (b"NX", b"XX", b"GT", b"LT"):
                raise CommandError(f"ERR Unsupported option {to_text(option)}")
        self.nx = b"NX" in words
        self.xx = b"XX" in words
        self.gt = b"GT" in words
        self.lt = b"LT" in words
        if self.nx and (self.xx or self.gt or self.lt):
            raise CommandError("ERR NX and XX, GT or LT options at the same time are not compatible")
        if self.gt and self.lt:
            raise CommandError("ERR GT and LT options at the same time are not compatible")

    def allows(self, at_ms: int, current_ms: int | None) -> bool:
        """May the key expire at `at_ms` in place of `current_ms`, both Unix times in ms?

        None stands for a key without a time to live; GT and LT treat that as later than any time.
        """
        if current_ms is None:
            return not (self.xx or self.gt)
        return not (self.nx or (self.gt and at_ms <= current_ms) or (self.lt and at_ms >= current_ms))


def _expire(call: Call, key: bytes, at_ms: int, condition: Condition, options: tuple[bytes, ...]) -> int:
    """Let a key expire at `at_ms`, a Unix time in ms; 1 if the condition allows it, else 0.

    A time in the past deletes the key, which is propagated as DEL or UNLINK. A replica does not delete by itself.
    """
    db = call.db
    if db.find_kept(key) is None or not condition.allows(at_ms, db.expiry_of(key)):
        return 0
    if at_ms <= call.now_ms and db.keyspace.expiry is Expiry.DELETE:
        db.drop(key)
        call.rewrite(deletions.of_expired(call.node.settings), key)
    else:
        db.expire_at(key, at_ms)
        call.rewrite(b"PEXPIREAT", key, b"%d" % at_ms, *options)
    db.changed(key)
    return 1


@command("TTL", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="generic")
def ttl(call: Call, key: bytes) -> int:
    """How long a key has to live, in seconds; -1 without a time to live, -2 without the key."""
    return _in_seconds(_time_to_live(call, key))


@command("PTTL", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="generic", since="2.6.0")
def pttl(call: Call, key: bytes) -> int:
    """How long a key has to live, in milliseconds; -1 without a time to live, -2 without the key."""
    return _time_to_live(call, key)


@command("EXPIRETIME", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="generic", since="7.0.0")
def expiretime(call: Call, key: bytes) -> int:
    """The Unix time in seconds at which a key expires; -1 without a time to live, -2 without the key."""
    return _in_seconds(_expire_time(call, key))


@command("PEXPIRETIME", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="generic", since="7.0.0")
def pexpiretime(call: Call, key: bytes) -> int:
    """The Unix time in milliseconds at which a key expires; -1 without a time to live, -2 without the key."""
    return _expire_time(call, key)


def _expire_time(call: Call, key: bytes) -> int:
    """The Unix time in ms at which a key expires, or NO_KEY or NO_TTL."""
    if call.db.read_kept(key) is None:
        return NO_KEY
    at_ms = call.db.expiry_of(key)
    return NO_TTL if at_ms is None else at_ms


def _time_to_live(call: Call, key: bytes) -> int:
    """How many ms a key has to live, 0 or more, or NO_KEY or NO_TTL."""
    if call.db.read_kept(key) is None:
        return NO_KEY
    at_ms = call.db.expiry_of(key)
    # A replica shows an expired key to its master until the master deletes it: Redis answers 0 then.
    return NO_TTL if at_ms is None else max(0, at_ms - call.now_ms)


def _in_seconds(number_ms: int) -> int:
    """A time in ms as seconds, rounded to the nearest; NO_KEY and NO_TTL, which are negative, stay as they are."""
    return number_ms if number_ms < 0 else (number_ms + 500) // 1000


@command("PERSIST", arity=2, flags=WRITE | FAST, keys=FIRST_ARG, group="generic", since="2.2.0")
def persist(call: Call, key: bytes) -> int:
    """Take a key's time to live away; 1 if it had one."""
    db = call.db
    if db.find_kept(key) is None or db.expiry_of(key) is None:
        return 0
    db.expire_at(key, None)
    db.changed(key)
    return 1
