"""Commands on lists: pushing, popping, reading and moving elements.

The operations on a list are in `keyspace.list_verbs`. The commands that search a list or change its inside (LINSERT,
LREM, LPOS, LSET) are in `list_edits`, those that wait for elements in `blocking_lists`. Dirty counts, replies and error
texts are Redis 7.0's.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import counted_keys, pop_count_argument
from pyrepl.commands.engine.table import (
    DENYOOM,
    FAST,
    FIRST_ARG,
    FIRST_TWO,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    Words,
    command,
    numkeys_at,
)
from pyrepl.errors import CommandError
from pyrepl.keyspace import list_verbs
from pyrepl.resp.numbers import parse_integer
from pyrepl.resp.reply import NULL_ARRAY, OK, NullArray, Simple

_COUNT_COMPLAINT: Final = "ERR count should be greater than 0"


@final
class _Lpush(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) == 3:
            return list_verbs.push(call.db, argv[1], argv[2], True)
        return list_verbs.extend(call.db, argv[1], argv[2:], True)


_LPUSH: Final = _Lpush()


@command("LPUSH", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="list", words=_LPUSH)
def lpush(call: Call, key: bytes, *elements: bytes) -> object:
    """Prepend elements to a list, creating it if need be; its new length."""
    return _LPUSH.run(call, [b"LPUSH", key, *elements])


@final
class _Rpush(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) == 3:
            return list_verbs.push(call.db, argv[1], argv[2], False)
        return list_verbs.extend(call.db, argv[1], argv[2:], False)


_RPUSH: Final = _Rpush()


@command("RPUSH", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="list", words=_RPUSH)
def rpush(call: Call, key: bytes, *elements: bytes) -> object:
    """Append elements to a list, creating it if need be; its new length."""
    return _RPUSH.run(call, [b"RPUSH", key, *elements])


@command("LPUSHX", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="list", since="2.2.0")
def lpushx(call: Call, key: bytes, *elements: bytes) -> int:
    """Prepend elements to a list only if it exists; its new length."""
    return list_verbs.extend_existing(call.db, key, list(elements), True)


@command("RPUSHX", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="list", since="2.2.0")
def rpushx(call: Call, key: bytes, *elements: bytes) -> int:
    """Append elements to a list only if it exists; its new length."""
    return list_verbs.extend_existing(call.db, key, list(elements), False)


@final
class _Lpop(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) == 2:
            return list_verbs.pop(call.db, argv[1], True)
        return _pop_counted(call, argv[1], tuple(argv[2:]), True, "lpop")


_LPOP: Final = _Lpop()


@command("LPOP", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="list", words=_LPOP)
def lpop(call: Call, key: bytes, *counts: bytes) -> object:
    """Remove and return the first elements of a list."""
    return _LPOP.run(call, [b"LPOP", key, *counts])


@command("RPOP", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="list")
def rpop(call: Call, key: bytes, *counts: bytes) -> bytes | list[bytes] | NullArray | None:
    """Remove and return the last elements of a list."""
    if counts:
        return _pop_counted(call, key, counts, False, "rpop")
    return list_verbs.pop(call.db, key, False)


def _pop_counted(call: Call, key: bytes, counts: tuple[bytes, ...], left: bool, name: str) -> list[bytes] | NullArray:
    """Pop as many elements as the only item of `counts` says; null without a list. Raises CommandError.

    `name` is the command's, in lower case, for the error.
    """
    if len(counts) > 1:
        raise CommandError(f"ERR wrong number of arguments for '{name}' command")
    taken = list_verbs.pop_several(call.db, key, pop_count_argument(counts[0]), left)
    return NULL_ARRAY if taken is None else taken


@command("LLEN", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="list")
def llen(call: Call, key: bytes) -> int:
    """The length of a list."""
    return list_verbs.size(call.db, key)


@command("LINDEX", arity=3, flags=READONLY, keys=FIRST_ARG, group="list")
def lindex(call: Call, key: bytes, index: bytes) -> bytes | None:
    """The element at an index; negative ones count from the end."""
    number = parse_integer(index)
    element = list_verbs.at(call.db, key, 0 if number is None else number)
    # As in Redis, an index that is no number is an error only when there is a list.
    return element if number is not None or element is None else list_verbs.at(call.db, key, integer_argument(index))


@final
class _Lrange(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        return list_verbs.between(call.db, argv[1], integer_argument(argv[2]), integer_argument(argv[3]))


_LRANGE: Final = _Lrange()


@command("LRANGE", arity=4, flags=READONLY, keys=FIRST_ARG, group="list", words=_LRANGE)
def lrange(call: Call, key: bytes, start: bytes, stop: bytes) -> object:
    """The elements between two indices, both inclusive."""
    return _LRANGE.run(call, [b"LRANGE", key, start, stop])


@command("LTRIM", arity=4, flags=WRITE, keys=FIRST_ARG, group="list")
def ltrim(call: Call, key: bytes, start: bytes, stop: bytes) -> Simple:
    """Keep only the elements between two indices, both inclusive."""
    first = integer_argument(start)
    list_verbs.trim(call.db, key, first, integer_argument(stop))
    return OK


def is_left(word: bytes) -> bool:
    """Is the word LEFT, in any case? Raises CommandError for a word that is neither LEFT nor RIGHT."""
    side = word.upper()
    if side == b"LEFT":
        return True
    if side == b"RIGHT":
        return False
    raise syntax_error()


@command("LMOVE", arity=5, flags=WRITE | DENYOOM, keys=FIRST_TWO, group="list", since="6.2.0")
def lmove(call: Call, source: bytes, destination: bytes, from_side: bytes, to_side: bytes) -> bytes | None:
    """Move an element from one end of a list to one end of another, or of the same; the element."""
    from_left = is_left(from_side)
    to_left = is_left(to_side)
    return list_verbs.move(call.db, source, destination, from_left, to_left)


@command("RPOPLPUSH", arity=3, flags=WRITE | DENYOOM, keys=FIRST_TWO, group="list", since="1.2.0")
def rpoplpush(call: Call, source: bytes, destination: bytes) -> bytes | None:
    """Move the last element of a list to the head of another, or of the same; the element."""
    return list_verbs.move(call.db, source, destination, False, True)


@final
class MultiPop:
    """The arguments of LMPOP and commands like it.

    At most `count` elements are popped from the first of `keys` that exists. `which` is the side to pop from, as an
    index into the two words that the command allows (`multi_pop_arguments`).
    """

    __slots__ = ("count", "keys", "which")

    def __init__(self, keys: tuple[bytes, ...], which: int, count: int) -> None:
        self.keys = keys
        self.which = which
        self.count = count


def multi_pop_arguments(arguments: tuple[bytes, ...], sides: tuple[bytes, bytes]) -> MultiPop:
    """Parse `numkeys key [key ...] SIDE [COUNT count]`; `sides` are the two words allowed, in upper case.

    Both numbers must be 1 or more. Raises CommandError.
    """
    keys = counted_keys(arguments, "ERR syntax error")
    rest = arguments[1 + len(keys) :]
    if not rest or rest[0].upper() not in sides:
        raise syntax_error()
    which = sides.index(rest[0].upper())
    if len(rest) == 1:
        return MultiPop(keys, which, 1)
    if len(rest) == 2 or rest[1].upper() != b"COUNT":
        raise syntax_error()
    count = integer_argument(rest[2], _COUNT_COMPLAINT)
    if count <= 0:
        raise CommandError(_COUNT_COMPLAINT)
    if len(rest) > 3:
        raise syntax_error()
    return MultiPop(keys, which, count)


@command("LMPOP", arity=-4, flags=WRITE | MOVABLE_KEYS, keys=numkeys_at(1), group="list", since="7.0.0")
def lmpop(call: Call, *arguments: bytes) -> list[bytes | list[bytes]] | NullArray:
    """Pop elements from the first non-empty list of several; the list's key and the elements.

    Propagates as LPOP or RPOP with a count.
    """
    return pop_of_several(call, multi_pop_arguments(arguments, (b"LEFT", b"RIGHT")))


def pop_of_several(call: Call, asked: MultiPop) -> list[bytes | list[bytes]] | NullArray:
    """LMPOP and BLMPOP: [the key of the first list that is there, its elements], or null; propagates as LMPOP does."""
    for key in asked.keys:
        taken = list_verbs.pop_several(call.db, key, asked.count, asked.which == 0)
        if taken is None:
            continue
        call.rewrite(b"RPOP" if asked.which else b"LPOP", key, b"%d" % len(taken))
        return [key, taken]
    return NULL_ARRAY
