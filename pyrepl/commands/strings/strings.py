"""String commands: values that are plain bytes, and the numbers written in them.

Not here: operations on single bits (`bits`), longest common subsequence (`lcs`), times to live of any key (`expiry`).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine import deletions
from pyrepl.commands.engine.arguments import (
    INT32_MAX,
    NOT_A_FLOAT,
    NOT_AN_INTEGER,
    expire_time_argument,
    integer_argument,
    ranged_integer_argument,
    string_too_long,
    syntax_error,
)
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import (
    ALL_ARGS,
    COUNTED_PAIRS,
    DENYOOM,
    EVERY_SECOND,
    FAST,
    FIRST_ARG,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    Words,
    command,
)
from pyrepl.commands.strings.comparisons import CONDITIONS, Condition
from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Database, Expiry
from pyrepl.keyspace.values import is_string
from pyrepl.resp.doubles import format_long_double, parse_long_double
from pyrepl.resp.numbers import INT64_MIN, format_integer, is_int64, parse_integer
from pyrepl.resp.reply import OK, Simple

# For which command `_SetOptions` parses: they do not have the same options.
_FOR_SET: Final = 0
_FOR_GETEX: Final = 1
_FOR_MSETEX: Final = 2

_EXPIRE_WORDS: Final = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
"""Option -> (length of its unit in ms, whether its number is a span from now on and not a Unix time)."""


@final
class _Get(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        return call.db.read_as(bytes, argv[1])


_GET: Final = _Get()


@command("GET", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="string", words=_GET)
def get(call: Call, key: bytes) -> object:
    """The string value of a key."""
    return _GET.run(call, [b"GET", key])


@final
class _Set(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) == 3:
            call.db.write(argv[1], argv[2])
            return OK
        return _set(call, argv[1], argv[2], tuple(argv[3:]))


_SET: Final = _Set()


@command("SET", arity=-3, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="string", words=_SET)
def set_(call: Call, key: bytes, value: bytes, *options: bytes) -> object:
    """Set a key to a string, whatever it held before; a time to live goes unless KEEPTTL is given.

    A time to live propagates as PXAT (Unix ms), and GET is not propagated, as Redis 7.0 does.
    """
    return _SET.run(call, [b"SET", key, value, *options])


def _set(call: Call, key: bytes, value: bytes, options: tuple[bytes, ...]) -> Simple | bytes | None:
    """SET with options. A time to live as the only option is so common that it has a shorter way of its own."""
    if len(options) == 2 and (unit := _EXPIRE_WORDS.get(options[0].upper())) is not None:
        unit_ms, from_now = unit
        at_ms = expire_time_argument(options[1], "set", unit_ms, call.now_ms if from_now else 0)
        return _set_until(call, key, value, at_ms)
    return _set_with_options(call, key, value, options)


def _replace(db: Database, key: bytes, value: bytes) -> None:
    """Store `value` with KEEPTTL: the value that is there is overwritten, its time to live is not."""
    if db.followed and db.holds(key):
        db.note_put(key, value)
    db.replace(key, value)


def _set_with_options(call: Call, key: bytes, value: bytes, options: tuple[bytes, ...]) -> Simple | bytes | None:
    """SET with any options. Null when a condition is not met; with GET the value before, null without the key."""
    parsed = _SetOptions(options, _FOR_SET)
    at_ms = parsed.expire_at_ms(call, "set")
    db = call.db
    old: bytes | None = None
    if parsed.get:
        old = db.read_as(bytes, key)
    if parsed.only_if is not None and (db.find_kept(key) is not None) != parsed.only_if:
        return old
    if parsed.condition is not None and not parsed.condition.is_met_at(call, key):
        return old
    if parsed.keep_ttl:
        # KEEPTTL keeps no time to live that has passed: `find_kept` deletes an expired key first.
        db.find_kept(key)
        _replace(db, key, value)
    else:
        db.put(key, value)
    if at_ms is not None:
        db.expire_at(key, at_ms)
    db.changed(key)
    if at_ms is not None:
        call.rewrite(b"SET", key, value, b"PXAT", b"%d" % at_ms)
    elif parsed.get:
        call.rewrite(b"SET", key, value, *parsed.without_get)
    return old if parsed.get else OK


@final
class _SetOptions:
    """The options of SET, GETEX or MSETEX; `taken_by` (_FOR_SET, ...) says of which.

    As in Redis, an option may be repeated, and the last one counts. Raises CommandError for an unknown option and for
    options that exclude each other.
    """

    __slots__ = ("amount", "condition", "get", "keep_ttl", "only_if", "persist", "without_get", "word")

    def __init__(self, options: tuple[bytes, ...], taken_by: int) -> None:
        self.condition: Condition | None = None
        self.without_get: list[bytes] = []
        """All options except GET: SET is propagated with these, as replicas need no reply."""
        self.only_if: bool | None = None
        """True for XX (only if the key exists), False for NX (only if it does not), None for neither."""
        self.get = False
        self.keep_ttl = False
        self.persist = False
        self.word: bytes = b""
        """The option that sets a time to live: EX, PX, EXAT or PXAT; empty for none."""
        self.amount: bytes = b""
        """The number after `word`, as text."""
        words = iter(options)
        for option in words:
            word = option.upper()
            if word in _EXPIRE_WORDS:
                amount = next(words, None)
                if amount is None or self.keep_ttl or self.persist or self.word not in (b"", word):
                    raise syntax_error()
                self.word, self.amount = word, amount
                self.without_get += (option, amount)
            elif taken_by == _FOR_SET and word in CONDITIONS:
                expected = next(words, None)
                if expected is None or self.only_if is not None or self._has_condition_but(word):
                    raise syntax_error()
                self.condition = Condition(word, expected)
                self.without_get += (option, expected)
            elif taken_by == _FOR_GETEX:
                if not self._take_persist(word):
                    raise syntax_error()
            elif taken_by == _FOR_SET and word == b"GET":
                self.get = True
            elif self._take_for_set(word):
                self.without_get.append(option)
            else:
                raise syntax_error()

    def _has_condition_but(self, word: bytes) -> bool:
        """Was another condition than `word` given before? Two different ones exclude each other."""
        return self.condition is not None and self.condition.word != word

    def _take_for_set(self, word: bytes) -> bool:
        """Note NX, XX or KEEPTTL. False for another word, and for one that the options before exclude."""
        if word in (b"NX", b"XX"):
            wanted = word == b"XX"
            if self.only_if not in (None, wanted):
                return False
            self.only_if = wanted
        elif word == b"KEEPTTL" and not self.word:
            self.keep_ttl = True
        else:
            return False
        return True

    def _take_persist(self, word: bytes) -> bool:
        """Note PERSIST. False for another word, and after an option that sets a time to live."""
        if word != b"PERSIST" or self.word:
            return False
        self.persist = True
        return True

    def expire_at_ms(self, call: Call, command_name: str) -> int | None:
        """The Unix time in ms at which the key shall expire, None when the options set none. Raises CommandError."""
        if not self.word:
            return None
        unit_ms, from_now = _EXPIRE_WORDS[self.word]
        return expire_time_argument(self.amount, command_name, unit_ms, call.now_ms if from_now else 0)


@command("SETNX", arity=3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="string")
def setnx(call: Call, key: bytes, value: bytes) -> int:
    """Set a key that does not exist; 1 if set."""
    if call.db.find_kept(key) is not None:
        return 0
    call.db.write(key, value)
    return 1


@command("SETEX", arity=4, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="string", since="2.0.0")
def setex(call: Call, key: bytes, seconds: bytes, value: bytes) -> Simple:
    """Set a key and its time to live in seconds."""
    return _set_until(call, key, value, expire_time_argument(seconds, "setex", 1000, call.now_ms))


@command("PSETEX", arity=4, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="string", since="2.6.0")
def psetex(call: Call, key: bytes, span_ms: bytes, value: bytes) -> Simple:
    """Set a key and its time to live in milliseconds."""
    return _set_until(call, key, value, expire_time_argument(span_ms, "psetex", 1, call.now_ms))


def _set_until(call: Call, key: bytes, value: bytes, at_ms: int) -> Simple:
    """Set a key that expires at `at_ms`, a Unix time in ms; propagated as SET with PXAT."""
    call.db.put(key, value)
    call.db.expire_at(key, at_ms)
    call.db.changed(key)
    call.rewrite(b"SET", key, value, b"PXAT", b"%d" % at_ms)
    return OK


@command("GETSET", arity=3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="string")
def getset(call: Call, key: bytes, value: bytes) -> bytes | None:
    """Set a key and return the string it held."""
    old = call.db.read_as(bytes, key)
    call.db.write(key, value)
    call.rewrite(b"SET", key, value)
    return old


@command("GETDEL", arity=2, flags=WRITE | FAST, keys=FIRST_ARG, group="string", since="6.2.0")
def getdel(call: Call, key: bytes) -> bytes | None:
    """Return a key's string and delete the key."""
    value = call.db.read_as(bytes, key)
    # Even when the client sees no value there may be a key to delete: one that has expired, on a replica.
    if call.db.delete(key):
        call.db.changed(key)
        call.rewrite(b"DEL", key)
    return value


@command("GETEX", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="string", since="6.2.0")
def getex(call: Call, key: bytes, *options: bytes) -> bytes | None:
    """Return a key's string and set or remove its time to live."""
    parsed = _SetOptions(options, _FOR_GETEX)
    db = call.db
    value = db.read_as(bytes, key)
    if value is None:
        return None
    at_ms = parsed.expire_at_ms(call, "getex")
    if at_ms is not None and at_ms <= call.now_ms and db.keyspace.expiry is Expiry.DELETE:
        db.delete(key)
        db.changed(key)
        call.rewrite(deletions.of_expired(call.node.settings), key)
    elif at_ms is not None:
        db.expire_at(key, at_ms)
        db.changed(key)
        call.rewrite(b"PEXPIREAT", key, b"%d" % at_ms)
    elif parsed.persist and db.expiry_of(key) is not None:
        db.expire_at(key, None)
        db.changed(key)
        call.rewrite(b"PERSIST", key)
    return value


@command("MGET", arity=-2, flags=READONLY | FAST, keys=ALL_ARGS, group="string")
def mget(call: Call, *keys: bytes) -> list[bytes | None]:
    """The strings of several keys; null for a key that is missing or holds another type."""
    db = call.db
    replies: list[bytes | None] = []
    for key in keys:
        value = db.read(key)
        replies.append(value if is_string(value) else None)
    return replies


@final
class _Mset(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        size = len(argv)
        if size % 2 == 0:
            raise CommandError("ERR wrong number of arguments for 'mset' command")
        db = call.db
        fetched = 1
        index = 1
        while index < size:
            if index >= fetched:
                fetched = db.prefetch_words(argv, index, 2)
            db.write(argv[index], argv[index + 1])
            index += 2
        return OK


_MSET: Final = _Mset()


@command("MSET", arity=-3, flags=WRITE | DENYOOM, keys=EVERY_SECOND, group="string", since="1.0.1", words=_MSET)
def mset(call: Call, *pairs: bytes) -> object:
    """Set several keys at once."""
    return _MSET.run(call, [b"MSET", *pairs])


@command("MSETNX", arity=-3, flags=WRITE | DENYOOM, keys=EVERY_SECOND, group="string", since="1.0.1")
def msetnx(call: Call, *pairs: bytes) -> int:
    """Set several keys at once if none of them exists; 1 if set."""
    if len(pairs) % 2:
        raise CommandError("ERR wrong number of arguments for 'msetnx' command")
    db = call.db
    for i in range(0, len(pairs), 2):
        if db.find_kept(pairs[i]) is not None:
            return 0
    for i in range(0, len(pairs), 2):
        db.write(pairs[i], pairs[i + 1])
    return 1


@command("MSETEX", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=COUNTED_PAIRS, group="string", since="8.4.0")
def msetex(call: Call, count_text: bytes, *words: bytes) -> int:
    """Set several keys at once with one time to live, if all (XX) or none (NX) of them exist; 1 if set.

    A span propagates as PXAT (Unix ms), a point in time as it came, as Redis 8.6 does.
    """
    count = ranged_integer_argument(count_text, 1, INT32_MAX, "ERR invalid numkeys value")
    if 2 * count > len(words):
        raise CommandError("ERR wrong number of key-value pairs")
    pairs, options = words[: 2 * count], words[2 * count :]
    parsed = _SetOptions(options, _FOR_MSETEX)
    at_ms = parsed.expire_at_ms(call, "msetex")
    db = call.db
    if parsed.only_if is not None:
        for i in range(0, 2 * count, 2):
            if (db.find_kept(pairs[i]) is not None) != parsed.only_if:
                return 0
    for i in range(0, 2 * count, 2):
        if parsed.keep_ttl:
            db.find_kept(pairs[i])
            _replace(db, pairs[i], pairs[i + 1])
        else:
            db.put(pairs[i], pairs[i + 1])
        if at_ms is not None:
            db.expire_at(pairs[i], at_ms)
        db.changed(pairs[i])
    if at_ms is not None and parsed.word in (b"EX", b"PX"):
        call.rewrite(call.argv[0], count_text, *pairs, *_as_point(options, at_ms))
    return 1


def _as_point(options: tuple[bytes, ...], at_ms: int) -> list[bytes]:
    """The options of MSETEX with `PXAT at_ms` in place of the last EX or PX; earlier ones are left out."""
    others: list[bytes] = []
    place = 0
    words = iter(options)
    for option in words:
        if option.upper() in _EXPIRE_WORDS:
            next(words)
            place = len(others)
        else:
            others.append(option)
    return [*others[:place], b"PXAT", b"%d" % at_ms, *others[place:]]


@final
class _Incr(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        return _add(call, argv[1], 1)


_INCR: Final = _Incr()


@command("INCR", arity=2, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="string", words=_INCR)
def incr(call: Call, key: bytes) -> object:
    """Add one to the integer a key holds; a missing key counts as 0."""
    return _INCR.run(call, [b"INCR", key])


@command("DECR", arity=2, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="string")
def decr(call: Call, key: bytes) -> int:
    """Subtract one from the integer a key holds; a missing key counts as 0."""
    return _add(call, key, -1)


@command("INCRBY", arity=3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="string")
def incrby(call: Call, key: bytes, amount: bytes) -> int:
    """Add to the integer a key holds; a missing key counts as 0."""
    return _add(call, key, integer_argument(amount))


@command("DECRBY", arity=3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="string")
def decrby(call: Call, key: bytes, amount: bytes) -> int:
    """Subtract from the integer a key holds; a missing key counts as 0."""
    number = integer_argument(amount)
    if number == INT64_MIN:
        raise CommandError("ERR decrement would overflow")
    return _add(call, key, -number)


def _add(call: Call, key: bytes, amount: int) -> int:
    """Add to the integer under a key, 0 for a missing one, and return the sum.

    Raises CommandError when the key holds no 64-bit integer, or when the sum is none.
    """
    db = call.db
    value = db.find_as(bytes, key)
    number = 0 if value is None else parse_integer(value)
    if number is None:
        raise CommandError(NOT_AN_INTEGER)
    total = number + amount
    if not is_int64(total):
        raise CommandError("ERR increment or decrement would overflow")
    db.update(key, format_integer(total))
    return total


@command("INCRBYFLOAT", arity=3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="string", since="2.6.0")
def incrbyfloat(call: Call, key: bytes, amount: bytes) -> bytes:
    """Add to the decimal number a key holds; a missing key counts as 0.

    Propagates as SET with the result and KEEPTTL, so that another machine's floating point cannot differ.
    """
    value = call.db.find_as(bytes, key)
    number = parse_long_double(b"0" if value is None else value)
    increment = parse_long_double(amount)
    if number is None or increment is None:
        raise CommandError(NOT_A_FLOAT)
    total = number.plus(increment)
    if total is None or not total.is_finite():
        raise CommandError("ERR increment would produce NaN or Infinity")
    text = format_long_double(total)
    call.db.update(key, text)
    call.rewrite(b"SET", key, text, b"KEEPTTL")
    return text


@command("APPEND", arity=3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="string", since="2.0.0")
def append(call: Call, key: bytes, suffix: bytes) -> int:
    """Append to the string a key holds, or create it; the length it has then."""
    value = call.db.find_as(bytes, key)
    if value is not None:
        check_length(call, len(value) + len(suffix))
        suffix = value + suffix
    call.db.update(key, suffix)
    return len(suffix)


def check_length(call: Call, size: int) -> None:
    """Raise CommandError when `size` bytes are more than proto-max-bulk-len allows for a string.

    A command of our master passes: the master has executed it, so this node must too.
    """
    if size > call.node.settings.proto_max_bulk_len and not call.client.is_master_link:
        raise string_too_long()


@command("STRLEN", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="string", since="2.2.0")
def strlen(call: Call, key: bytes) -> int:
    """The length in bytes of the string a key holds; 0 when there is none."""
    value = call.db.read_as(bytes, key)
    return 0 if value is None else len(value)


@command("GETRANGE", arity=4, flags=READONLY, keys=FIRST_ARG, group="string", since="2.4.0")
def getrange(call: Call, key: bytes, first: bytes, last: bytes) -> bytes:
    """The bytes from `first` to `last` inclusive; negative positions count from the end."""
    return _getrange(call, key, first, last)


@command("SUBSTR", arity=4, flags=READONLY, keys=FIRST_ARG, group="string")
def substr(call: Call, key: bytes, first: bytes, last: bytes) -> bytes:
    """The old name of GETRANGE."""
    return _getrange(call, key, first, last)


def _getrange(call: Call, key: bytes, first: bytes, last: bytes) -> bytes:
    """The bytes from `first` to `last`, both inclusive; empty when there are none."""
    start, end = integer_argument(first), integer_argument(last)
    value = call.db.read_as(bytes, key)
    if value is None or (start < 0 and end < 0 and start > end):
        return b""
    start = max(start + len(value), 0) if start < 0 else start
    end = max(end + len(value), 0) if end < 0 else end
    return value[start : end + 1] if start <= end else b""


@command("SETRANGE", arity=4, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="string", since="2.2.0")
def setrange(call: Call, key: bytes, at: bytes, part: bytes) -> int:
    """Overwrite part of a string from a byte position on, padding with zero bytes; the length it has then."""
    position = integer_argument(at)
    if position < 0:
        raise CommandError("ERR offset is out of range")
    value = call.db.find_as(bytes, key) or b""
    if not part:
        return len(value)
    check_length(call, position + len(part))
    head = value[:position].ljust(position, b"\0")
    value = head + part + value[position + len(part) :]
    call.db.update(key, value)
    return len(value)
