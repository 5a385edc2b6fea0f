"""Commands on members of a sorted set: adding, removing, asking for scores and ranks, popping, random picks.

The operations on a sorted set are in `keyspace.zset_verbs`. Commands on ranges are in `ranges`, unions, intersections
and differences in `store`, those that wait for members in `blocking_zsets`. Dirty counts, replies and error texts are
Redis 7.0's.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.collections.lists import MultiPop, multi_pop_arguments
from pyrepl.commands.engine.arguments import float_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import (
    REPEATS_LIMIT,
    check_pick_count,
    pick_count_argument,
    pop_count_argument,
)
from pyrepl.commands.engine.table import (
    DENYOOM,
    FAST,
    FIRST_ARG,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    Words,
    command,
    numkeys_at,
)
from pyrepl.commands.zsets.replies import scored_reply
from pyrepl.errors import CommandError
from pyrepl.keyspace import zset_verbs
from pyrepl.keyspace.zset_verbs import Condition
from pyrepl.resp.doubles import parse_double
from pyrepl.resp.numbers import parse_digits
from pyrepl.resp.reply import NULL_ARRAY, NullArray, Reply

_EXACT: Final = 2**53
"""A double holds every integer below this number exactly."""


@final
class AddOptions:
    """The options of ZADD. `start` is the index of the first score in the arguments after the key."""

    __slots__ = ("ch", "condition", "incr", "start")

    def __init__(self) -> None:
        self.condition = Condition()
        self.ch: bool = False
        self.incr: bool = False
        self.start: int = 0


def _add_options(arguments: tuple[bytes, ...]) -> AddOptions:
    """Parse the options, which end at the first word that is none. Raises CommandError."""
    options = AddOptions()
    condition = options.condition
    for i, argument in enumerate(arguments):
        word = argument.upper()
        if word == b"NX":
            condition.nx = True
        elif word == b"XX":
            condition.xx = True
        elif word == b"CH":
            options.ch = True
        elif word == b"INCR":
            options.incr = True
        elif word == b"GT":
            condition.gt = True
        elif word == b"LT":
            condition.lt = True
        else:
            options.start = i
            break
    else:
        options.start = len(arguments)
    _check_add_options(options, len(arguments) - options.start)
    return options


def _check_add_options(options: AddOptions, size: int) -> None:
    """Raise CommandError for options that exclude each other. `size` is how many words follow the options."""
    if size == 0 or size & 1:
        raise syntax_error()
    condition = options.condition
    if condition.nx and condition.xx:
        raise CommandError("ERR XX and NX options at the same time are not compatible")
    if condition.gt + condition.lt + condition.nx > 1:
        raise CommandError("ERR GT, LT, and/or NX options at the same time are not compatible")
    if options.incr and size > 2:
        raise CommandError("ERR INCR option supports a single increment-element pair")


@final
class _Zadd(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) == 4:
            # Most scores are a few digits, which need none of the checks of `parse_double`.
            number = parse_digits(argv[2])
            score = float(number) if 0 <= number < _EXACT else parse_double(argv[2])
            if score is not None:
                return zset_verbs.add(call.db, argv[1], argv[3], score)
        return _zadd(call, argv[1], tuple(argv[2:]))


_ZADD: Final = _Zadd()


@command(
    "ZADD",
    arity=-4,
    flags=WRITE | DENYOOM | FAST,
    keys=FIRST_ARG,
    group="sorted-set",
    since="1.2.0",
    words=_ZADD,
)
def zadd(call: Call, key: bytes, *arguments: bytes) -> object:
    """Add members with scores to a sorted set, or change scores; how many were new."""
    return _ZADD.run(call, [b"ZADD", key, *arguments])


def _zadd(call: Call, key: bytes, arguments: tuple[bytes, ...]) -> int | float | None:
    """ZADD with options or several members: how many were new (CH: or changed), with INCR the new score or null."""
    options = _add_options(arguments)
    if options.incr:
        step = float_argument(arguments[options.start])
        return zset_verbs.increment(call.db, key, arguments[options.start + 1], step, options.condition)
    pairs = arguments[options.start :]
    scores = [float_argument(text) for text in pairs[::2]]
    added, updated = zset_verbs.add_several(call.db, key, pairs[1::2], scores, options.condition)
    return added + updated if options.ch else added


@command("ZINCRBY", arity=4, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zincrby(call: Call, key: bytes, increment: bytes, member: bytes) -> float | None:
    """Add to the score of a member, 0 if it is not there; the sum."""
    return zset_verbs.increment(call.db, key, member, float_argument(increment), Condition())


@command("ZREM", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zrem(call: Call, key: bytes, *members: bytes) -> int:
    """Remove members of a sorted set; how many were there."""
    return zset_verbs.discard(call.db, key, members)


@command("ZCARD", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zcard(call: Call, key: bytes) -> int:
    """The number of members of a sorted set."""
    return zset_verbs.size(call.db, key)


@command("ZSCORE", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zscore(call: Call, key: bytes, member: bytes) -> float | None:
    """The score of a member."""
    return zset_verbs.score(call.db, key, member)


@command("ZMSCORE", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="6.2.0")
def zmscore(call: Call, key: bytes, *members: bytes) -> list[float | None]:
    """The scores of several members."""
    return zset_verbs.scores(call.db, key, members)


@command("ZRANK", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="2.0.0")
def zrank(call: Call, key: bytes, member: bytes, *options: bytes) -> Reply:
    """The rank of a member, the lowest score being 0; with its score on request (Redis 7.2)."""
    return _rank(call, key, member, options, False)


@command("ZREVRANK", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="2.0.0")
def zrevrank(call: Call, key: bytes, member: bytes, *options: bytes) -> Reply:
    """The rank of a member, the highest score being 0; with its score on request (Redis 7.2)."""
    return _rank(call, key, member, options, True)


def _rank(call: Call, key: bytes, member: bytes, options: tuple[bytes, ...], reverse: bool) -> Reply:
    """The rank of a member from 0, or null; with WITHSCORE [rank, score]. `reverse` counts from the highest score."""
    if len(options) > 1:
        raise CommandError(f"ERR wrong number of arguments for '{'zrevrank' if reverse else 'zrank'}' command")
    if options and options[0].upper() != b"WITHSCORE":
        raise syntax_error()
    found = zset_verbs.rank(call.db, key, member, reverse)
    if found is None:
        return NULL_ARRAY if options else None
    return [found[0], found[1]] if options else found[0]


@command("ZPOPMIN", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="sorted-set", since="5.0.0")
def zpopmin(call: Call, key: bytes, *counts: bytes) -> Reply:
    """Remove and return the members with the lowest scores."""
    return _pop(call, key, counts, False)


@command("ZPOPMAX", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="sorted-set", since="5.0.0")
def zpopmax(call: Call, key: bytes, *counts: bytes) -> Reply:
    """Remove and return the members with the highest scores."""
    return _pop(call, key, counts, True)


def _pop(call: Call, key: bytes, counts: tuple[bytes, ...], highest: bool) -> Reply:
    """Pop one member, or as many as the only item of `counts` says. Raises CommandError."""
    if len(counts) > 1:
        raise syntax_error()
    count = pop_count_argument(counts[0]) if counts else 1
    taken = zset_verbs.pop_several(call.db, key, count, highest)
    if not taken:
        return []
    if counts:
        return scored_reply(call, taken)
    score, member = taken[0]
    return [member, score]


@command("ZMPOP", arity=-4, flags=WRITE | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="7.0.0")
def zmpop(call: Call, *arguments: bytes) -> list[Reply] | NullArray:
    """Pop members from the first non-empty sorted set of several; the set's key, the members and their scores.

    Propagates as ZPOPMIN or ZPOPMAX with a count.
    """
    return pop_of_several(call, multi_pop_arguments(arguments, (b"MIN", b"MAX")))


def pop_of_several(call: Call, asked: MultiPop) -> list[Reply] | NullArray:
    """ZMPOP and BZMPOP: [the key of the first sorted set that is there, its members with scores], or null; propagates
    as ZMPOP does."""
    for key in asked.keys:
        taken = zset_verbs.pop_several(call.db, key, asked.count, asked.which == 1)
        if taken is None:
            continue
        call.rewrite(b"ZPOPMAX" if asked.which else b"ZPOPMIN", key, b"%d" % len(taken))
        return [key, [(member, score) for score, member in taken]]
    return NULL_ARRAY


@command("ZRANDMEMBER", arity=-2, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="6.2.0")
def zrandmember(call: Call, key: bytes, *options: bytes) -> Reply:
    """Random members of a sorted set, with their scores on request; a negative count allows repetitions."""
    if not options:
        return zset_verbs.pick(call.db, key, call.random.below)
    entries = _random_entries(call, key, _random_count(options))
    if len(options) == 1:
        return [member for _, member in entries]
    return scored_reply(call, entries)


def _random_count(options: tuple[bytes, ...]) -> int:
    """The count of `count [WITHSCORES]`, negative for repetitions. Raises CommandError."""
    count = pick_count_argument(options[0])
    if len(options) > 2 or (len(options) == 2 and options[1].upper() != b"WITHSCORES"):
        raise syntax_error()
    if len(options) == 2:
        check_pick_count(count, pairs=True)
    return count


def _random_entries(call: Call, key: bytes, count: int) -> list[tuple[float, bytes]]:
    """Random (score, member) pairs: `count` different ones, or -`count` that may repeat when `count` is negative."""
    if count >= 0:
        return zset_verbs.sample(call.db, key, count, call.random.below)
    if count >= -REPEATS_LIMIT:
        return zset_verbs.pick_several(call.db, key, -count, call.random.below)
    # As in Redis, a count out of range is an error only when there is a sorted set.
    if zset_verbs.size(call.db, key):
        check_pick_count(count, pairs=False)
    return []
