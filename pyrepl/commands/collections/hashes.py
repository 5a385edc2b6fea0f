"""Commands on hashes. The operations on a hash are in `keyspace.hash_verbs`, times to live of fields in `hash_ttl`.

Replies are copies, because later commands of a transaction may change the hash before the reply is sent. Setting a
field removes its time to live, incrementing it keeps the time (Redis 7.4). Dirty counts, replies and error texts are
Redis 7.0's.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import REPEATS_LIMIT, check_pick_count, pick_count_argument
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, READONLY, WRITE, Words, command
from pyrepl.errors import CommandError
from pyrepl.keyspace import hash_verbs
from pyrepl.resp.doubles import LongDouble, format_long_double, parse_long_double
from pyrepl.resp.numbers import INT64_MAX, INT64_MIN, parse_integer
from pyrepl.resp.reply import OK, Reply, Simple


@final
class _Hset(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) == 4:
            return hash_verbs.put(call.db, argv[1], argv[2], argv[3])
        return _put_pairs(call, argv[1], tuple(argv[2:]), "hset")


_HSET: Final = _Hset()


@command("HSET", arity=-4, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="hash", since="2.0.0", words=_HSET)
def hset(call: Call, key: bytes, *pairs: bytes) -> object:
    """Set fields of a hash, creating it if need be; how many were new."""
    return _HSET.run(call, [b"HSET", key, *pairs])


@command("HMSET", arity=-4, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="hash", since="2.0.0")
def hmset(call: Call, key: bytes, *pairs: bytes) -> Simple:
    """Set several fields of a hash, creating it if need be."""
    _put_pairs(call, key, pairs, "hmset")
    return OK


def _put_pairs(call: Call, key: bytes, pairs: tuple[bytes, ...], name: str) -> int:
    """Set fields from field, value, field, value, ...; how many were new. Raises CommandError for an odd number.

    `name` is the command's, in lower case, for the error.
    """
    if len(pairs) & 1:
        raise CommandError(f"ERR wrong number of arguments for '{name}' command")
    return hash_verbs.put_pairs(call.db, key, pairs)


@command("HSETNX", arity=4, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="hash", since="2.0.0")
def hsetnx(call: Call, key: bytes, field: bytes, content: bytes) -> int:
    """Set a field of a hash unless it exists; 1 if set, 0 if not."""
    return int(hash_verbs.put_new(call.db, key, field, content))


@command("HGET", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="2.0.0")
def hget(call: Call, key: bytes, field: bytes) -> bytes | None:
    """The value of a field."""
    return hash_verbs.get(call.db, key, field)


@command("HMGET", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="2.0.0")
def hmget(call: Call, key: bytes, *names: bytes) -> list[bytes | None]:
    """The values of several fields."""
    return hash_verbs.get_several(call.db, key, names)


@command("HGETALL", arity=2, flags=READONLY, keys=FIRST_ARG, group="hash", since="2.0.0")
def hgetall(call: Call, key: bytes) -> list[bytes] | dict[bytes, bytes]:
    """All fields and values of a hash."""
    return hash_verbs.flat(call.db, key) if call.client.proto < 3 else hash_verbs.everything(call.db, key)


@command("HKEYS", arity=2, flags=READONLY, keys=FIRST_ARG, group="hash", since="2.0.0")
def hkeys(call: Call, key: bytes) -> list[bytes]:
    """All fields of a hash."""
    return hash_verbs.names(call.db, key)


@command("HVALS", arity=2, flags=READONLY, keys=FIRST_ARG, group="hash", since="2.0.0")
def hvals(call: Call, key: bytes) -> list[bytes]:
    """All values of a hash."""
    return hash_verbs.contents(call.db, key)


@command("HLEN", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="2.0.0")
def hlen(call: Call, key: bytes) -> int:
    """The number of fields of a hash, with those that have expired and are still there (Redis 8.2)."""
    return hash_verbs.size(call.db, key)


@command("HEXISTS", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="2.0.0")
def hexists(call: Call, key: bytes, field: bytes) -> int:
    """Whether a field exists: 1 or 0."""
    return 0 if hash_verbs.get(call.db, key, field) is None else 1


@command("HSTRLEN", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group="hash", since="3.2.0")
def hstrlen(call: Call, key: bytes, field: bytes) -> int:
    """The length of a field's value in bytes, 0 without the field."""
    return len(hash_verbs.get(call.db, key, field) or b"")


@command("HDEL", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="2.0.0")
def hdel(call: Call, key: bytes, *names: bytes) -> int:
    """Remove fields of a hash; how many were there, those among them that have expired (Redis 8.2)."""
    return hash_verbs.discard(call.db, key, names)


@command("HINCRBY", arity=4, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="hash", since="2.0.0")
def hincrby(call: Call, key: bytes, field: bytes, increment: bytes) -> int:
    """Add to the integer in a field, 0 if it is not there; the sum."""
    step = integer_argument(increment)
    text = hash_verbs.written(call.db, key, field)
    number = 0 if text is None else parse_integer(text)
    if number is None:
        raise CommandError("ERR hash value is not an integer")
    total = number + step
    if not INT64_MIN <= total <= INT64_MAX:
        raise CommandError("ERR increment or decrement would overflow")
    hash_verbs.put_keeping(call.db, key, field, b"%d" % total)
    return total


@command("HINCRBYFLOAT", arity=4, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="hash", since="2.6.0")
def hincrbyfloat(call: Call, key: bytes, field: bytes, increment: bytes) -> bytes:
    """Add to the floating-point number in a field, 0 if it is not there; the sum.

    Propagates as HSET of the sum, because another machine's arithmetic might give another sum. HSET removes the field's
    time to live, so that is propagated after it, as HPEXPIREAT.
    """
    step = parse_long_double(increment)
    if step is None:
        raise CommandError("ERR value is not a valid float")
    if not step.is_finite():
        raise CommandError("ERR value is NaN or Infinity")
    total = _sum(hash_verbs.written(call.db, key, field), step)
    at_ms = hash_verbs.put_keeping(call.db, key, field, total)
    call.rewrite(b"HSET", key, field, total)
    if at_ms is not None:
        call.rewrite(b"HPEXPIREAT", key, b"%d" % at_ms, b"FIELDS", b"1", field)
    return total


def _sum(text: bytes | None, step: LongDouble) -> bytes:
    """The text of a field's number plus `step`; None counts as 0. Raises CommandError."""
    number = parse_long_double(b"0" if text is None else text)
    if number is None:
        raise CommandError("ERR hash value is not a float")
    total = number.plus(step)
    if total is None or not total.is_finite():
        raise CommandError("ERR increment would produce NaN or Infinity")
    return format_long_double(total)


@command("HRANDFIELD", arity=-2, flags=READONLY, keys=FIRST_ARG, group="hash", since="6.2.0")
def hrandfield(call: Call, key: bytes, *options: bytes) -> Reply:
    """Random fields of a hash, with their values on request; a negative count allows repetitions.

    O(size): a dict has no access by position, so its fields are first copied to a list.
    """
    below = call.random.below
    if not options:
        return hash_verbs.pick(call.db, key, below)
    count = _random_count(options)
    if len(options) == 2:
        pairs = hash_verbs.sample_pairs(call.db, key, count, below)
        return pairs if call.client.proto > 2 else [part for pair in pairs for part in pair]
    if count >= -REPEATS_LIMIT:
        return hash_verbs.sample(call.db, key, count, below)
    # Refused only where there is a hash.
    if hash_verbs.pick(call.db, key, below) is not None:
        check_pick_count(count, pairs=False)
    return []


def _random_count(options: tuple[bytes, ...]) -> int:
    """The count of `count [WITHVALUES]`, negative for repetitions. Raises CommandError."""
    count = pick_count_argument(options[0])
    if len(options) > 2 or (len(options) == 2 and options[1].upper() != b"WITHVALUES"):
        raise syntax_error()
    if len(options) == 2:
        check_pick_count(count, pairs=True)
    return count
