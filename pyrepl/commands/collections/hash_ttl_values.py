"""Reading and writing hash fields together with their times to live: HGETDEL, HGETEX, HSETEX (Redis 8.0).

Error texts and replies are Redis 8.2's. Commands on the times alone are in `hash_ttl`.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.collections.hash_fields import counted_fields, field_count, field_expiry_argument
from pyrepl.commands.collections.hash_ttl import propagate_deletions
from pyrepl.commands.engine.arguments import INT32_MAX
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, WRITE, command
from pyrepl.errors import CommandError
from pyrepl.keyspace import hash_verbs
from pyrepl.keyspace.hash_verbs import DELETED, DONE, NO_FIELD

_UNITS: Final[dict[bytes, tuple[int, bool]]] = {
    b"EX": (1000, True),
    b"PX": (1, True),
    b"EXAT": (1000, False),
    b"PXAT": (1, False),
}
"""Option -> (length of its unit in ms, whether its number is a span from now on and not a Unix time)."""


def _point(call: Call, word: bytes, text: bytes, name: str) -> int:
    """The Unix time in ms that an option of `_UNITS` and its number mean; `name` is the command's, in lower case.

    Raises CommandError.
    """
    unit_ms, from_now = _UNITS[word]
    return field_expiry_argument(text, name, unit_ms, call.now_ms if from_now else 0)


@command("HGETDEL", arity=-5, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="8.0.0")
def hgetdel(call: Call, key: bytes, *options: bytes) -> list[bytes | None]:
    """Answer and remove hash fields.

    Propagates as HDEL.
    """
    hash_verbs.check(call.db, key)
    names = counted_fields(options)
    found = hash_verbs.take(call.db, key, names)
    if found.count(None) < len(found):
        call.rewrite(b"HDEL", key, *names)
    return found


@command("HGETEX", arity=-5, flags=WRITE | FAST, keys=FIRST_ARG, group="hash", since="8.0.0")
def hgetex(call: Call, key: bytes, *options: bytes) -> list[bytes | None]:
    """Answer hash fields and set or take away their times to live.

    Propagates as HPEXPIREAT, HPERSIST or HDEL.
    """
    hash_verbs.check(call.db, key)
    word = options[0].upper()
    if word in _UNITS:
        at_ms = _point(call, word, options[1], "hgetex")
        return _get_expiring(call, key, counted_fields(options[2:]), at_ms)
    if word == b"PERSIST":
        return _get_persisting(call, key, counted_fields(options[1:]))
    return hash_verbs.written_several(call.db, key, counted_fields(options))


def _get_expiring(call: Call, key: bytes, names: tuple[bytes, ...], at_ms: int) -> list[bytes | None]:
    """The values of fields, which get a new time to live. When `at_ms` is past they are deleted instead.

    A field that the client named twice may be deleted by the first mention; the second then answers null.
    """
    contents, outcomes = hash_verbs.get_expiring(call.db, key, names, at_ms)
    if DONE in outcomes:
        call.rewrite(b"HPEXPIREAT", key, b"%d" % at_ms, b"FIELDS", b"%d" % len(names), *names)
    propagate_deletions(call, key, [field for field, outcome in zip(names, outcomes) if outcome == DELETED])
    return [None if outcome == NO_FIELD else content for content, outcome in zip(contents, outcomes)]


def _get_persisting(call: Call, key: bytes, names: tuple[bytes, ...]) -> list[bytes | None]:
    """The values of fields, whose times to live are removed; propagated if any had one."""
    contents, outcomes = hash_verbs.get_persisting(call.db, key, names)
    if DONE in outcomes:
        call.rewrite(b"HPERSIST", key, b"FIELDS", b"%d" % len(names), *names)
    return contents


@final
class SetOptions:
    """The options of HSETEX.

    `condition` is FNX, FXX or empty. `at_ms` is a Unix time in ms, None when no time is given. With neither `at_ms` nor
    `keep_ttl` the fields lose their times to live.
    """

    __slots__ = ("at_ms", "condition", "keep_ttl", "pairs")

    def __init__(self) -> None:
        self.condition: bytes = b""
        self.at_ms: int | None = None
        self.keep_ttl: bool = False
        self.pairs: tuple[bytes, ...] = ()
        """field, value, field, value, ..."""


def _set_options(call: Call, arguments: tuple[bytes, ...]) -> SetOptions:
    """Parse what follows the key of HSETEX. FIELDS must come last. Raises CommandError."""
    options = SetOptions()
    i = 0
    while i < len(arguments):
        word = arguments[i].upper()
        if word == b"FIELDS":
            options.pairs = _pairs(arguments[i + 1 :])
            break
        if word in (b"FNX", b"FXX"):
            if options.condition:
                raise CommandError("ERR Only one of FXX or FNX arguments can be specified")
            options.condition = word
        elif word == b"KEEPTTL" or (word in _UNITS and i + 1 < len(arguments)):
            if options.keep_ttl or options.at_ms is not None:
                raise CommandError("ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified")
            if word == b"KEEPTTL":
                options.keep_ttl = True
            else:
                i += 1
                options.at_ms = _point(call, word, arguments[i], "hsetex")
        else:
            raise CommandError(f"ERR unknown argument: {arguments[i].decode('utf-8', 'replace')}")
        i += 1
    if not options.pairs:
        raise CommandError("ERR missing FIELDS argument")
    return options


def _pairs(arguments: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The pairs of `n field value [field value ...]`, flat; n counts the pairs. Raises CommandError."""
    wrong_number = CommandError("ERR wrong number of arguments for 'hsetex' command")
    if len(arguments) < 3:
        raise wrong_number
    count = field_count(arguments[0], "ERR invalid number of fields", INT32_MAX)
    if count * 2 != len(arguments) - 1:
        raise wrong_number
    return arguments[1:]


@command("HSETEX", arity=-6, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="hash", since="8.0.0")
def hsetex(call: Call, key: bytes, *arguments: bytes) -> int:
    """Set hash fields and their times to live, perhaps only if all exist (FXX) or none does (FNX); 1 if set, 0 if not.

    Propagates with PXAT, or as HDEL when the time is already past.
    """
    options = _set_options(call, arguments)
    must_exist = options.condition == b"FXX" if options.condition else None
    outcomes = hash_verbs.put_timed(call.db, key, options.pairs, must_exist, options.at_ms, options.keep_ttl)
    if outcomes is None:
        return 0
    if options.at_ms is not None:
        _propagate_written(call, key, options, options.at_ms, outcomes)
    return 1


def _propagate_written(call: Call, key: bytes, options: SetOptions, at_ms: int, outcomes: list[int]) -> None:
    """Propagate an HSETEX with a time: with PXAT, or as HDEL of each field when the time is past."""
    names = options.pairs[::2]
    if DELETED in outcomes:
        propagate_deletions(call, key, dict.fromkeys(names))
        return
    condition = [options.condition] if options.condition else []
    time = [b"PXAT", b"%d" % at_ms]
    call.rewrite(b"HSETEX", key, *condition, *time, b"FIELDS", b"%d" % len(names), *options.pairs)
