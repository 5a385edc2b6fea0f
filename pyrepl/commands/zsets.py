"""Commands on members of a sorted set: adding, removing, asking for scores and ranks, popping, random picks.

Ranges stand in `zset_ranges`, unions and their like in `zset_store`. Dirty counts, replies and texts are Redis 7.0's.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.arguments import float_argument, syntax_error
from pyrepl.commands.call import Call
from pyrepl.commands.key_counts import check_pick_count, pick_count_argument, pop_count_argument
from pyrepl.commands.lists import multi_pop_arguments
from pyrepl.commands.table import DENYOOM, FAST, FIRST_ARG, MOVABLE_KEYS, READONLY, WRITE, Words, command, numkeys_at
from pyrepl.commands.zset_replies import scored_reply
from pyrepl.errors import CommandError
from pyrepl.keyspace.packed import PackedZset
from pyrepl.keyspace.sampling import Below, distinct_positions
from pyrepl.keyspace.values import Value, ZsetValue, wrong_type
from pyrepl.rdb.compiled import edits
from pyrepl.resp.doubles import parse_double
from pyrepl.resp.numbers import parse_digits
from pyrepl.resp.reply import NULL_ARRAY, NullArray, Reply

_EXACT: Final = 2**53
"""Integers up to here are doubles."""

NOT_A_NUMBER: Final = "ERR resulting score is not a number (NaN)"


@final
class AddOptions:
    """ZADD's options and where the scores begin."""

    __slots__ = ("ch", "gt", "incr", "lt", "nx", "start", "xx")

    def __init__(self) -> None:
        self.nx: bool = False
        self.xx: bool = False
        self.gt: bool = False
        self.lt: bool = False
        self.ch: bool = False
        self.incr: bool = False
        self.start: int = 0

    def allows(self, old: float | None, score: float) -> bool:
        """May a member that has the score `old` (None: is not there) get `score`?"""
        if old is None:
            return not self.xx
        if self.nx:
            return False
        return not (self.gt and score <= old) and not (self.lt and score >= old)


def _add_options(arguments: tuple[bytes, ...]) -> AddOptions:
    options = AddOptions()
    for i, argument in enumerate(arguments):
        word = argument.upper()
        if word == b"NX":
            options.nx = True
        elif word == b"XX":
            options.xx = True
        elif word == b"CH":
            options.ch = True
        elif word == b"INCR":
            options.incr = True
        elif word == b"GT":
            options.gt = True
        elif word == b"LT":
            options.lt = True
        else:
            options.start = i
            break
    else:
        options.start = len(arguments)
    _check_add_options(options, len(arguments) - options.start)
    return options


def _check_add_options(options: AddOptions, size: int) -> None:
    """`size` is how many arguments follow the options."""
    if size == 0 or size & 1:
        raise syntax_error()
    if options.nx and options.xx:
        raise CommandError("ERR XX and NX options at the same time are not compatible")
    if options.gt + options.lt + options.nx > 1:
        raise CommandError("ERR GT, LT, and/or NX options at the same time are not compatible")
    if options.incr and size > 2:
        raise CommandError("ERR INCR option supports a single increment-element pair")


@final
class _Zadd(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) == 4:
            # A few digits need none of the checks of the general rule.
            number = parse_digits(argv[2])
            score = float(number) if 0 <= number < _EXACT else parse_double(argv[2])
            if score is not None:
                return _add_one(call, argv[1], score, argv[3])
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
    options = _add_options(arguments)
    if options.incr:
        step = float_argument(arguments[options.start])
        return _increment(call, key, step, arguments[options.start + 1], options)
    pairs = arguments[options.start :]
    return _add_pairs(call, key, [float_argument(text) for text in pairs[::2]], pairs[1::2], options)


def _add_one(call: Call, key: bytes, score: float, member: bytes) -> int:
    """The usual case: one pair, no options."""
    db = call.db
    value = db.find_kept(key)
    if value is None:
        made = edits.packed_zset(PackedZset, member, score)
        db.put(key, ZsetValue({member: score or 0.0}) if made is None else made)
        db.changed(key, 1)
        return 1
    if type(value) is PackedZset:
        done = edits.set_score(db.values, key, value, member, score)
        if done > 0:
            db.changed(key, 1)
        if done >= 0:
            return done & 1
        value = db.find(key)
    if type(value) is not ZsetValue:
        raise wrong_type()
    assert isinstance(value, ZsetValue)
    old = value.scores.get(member)
    if old != score:
        value.put(member, score)
        db.changed(key, 1)
    return 1 if old is None else 0


def _add_pairs(call: Call, key: bytes, scores: list[float], members: tuple[bytes, ...], options: AddOptions) -> int:
    db = call.db
    kept = db.find_kept(key)
    value = db.find_as(ZsetValue, key)
    if value is None:
        if options.xx:
            return 0
        value = ZsetValue()
        db.put(key, value)
    added = updated = 0
    for score, member in zip(scores, members):
        old = value.scores.get(member)
        if not options.allows(old, score) or old == score:
            continue
        value.put(member, score)
        if old is None:
            added += 1
        else:
            updated += 1
    if kept is None or type(kept) is PackedZset:
        made = edits.packed_scores(PackedZset, value.scores)
        if made is not None:
            db.replace(key, made)
    if added + updated:
        db.changed(key, added + updated)
    return added + updated if options.ch else added


def _increment(call: Call, key: bytes, step: float, member: bytes, options: AddOptions) -> float | None:
    """Add to a member's score; the sum, or None when the options forbid it."""
    old = _score_in(call.db.find_kept(key), member)
    if old is not None and options.nx:
        return None
    score = step if old is None else old + step
    if score != score:
        raise CommandError(NOT_A_NUMBER)
    if not options.allows(old, score):
        return None
    if old != score:
        _add_one(call, key, score, member)
    return score


@command("ZINCRBY", arity=4, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zincrby(call: Call, key: bytes, increment: bytes, member: bytes) -> float | None:
    """Add to the score of a member, 0 if it is not there; the sum."""
    return _increment(call, key, float_argument(increment), member, AddOptions())


@command("ZREM", arity=-3, flags=WRITE | FAST, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zrem(call: Call, key: bytes, *members: bytes) -> int:
    """Remove members of a sorted set; how many were there."""
    db = call.db
    value = db.find_as(ZsetValue, key)
    if value is None:
        return 0
    removed = 0
    for member in members:
        if value.discard(member):
            removed += 1
    if removed:
        if not value.scores:
            db.delete(key)
        db.changed(key, removed)
    return removed


@command("ZCARD", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zcard(call: Call, key: bytes) -> int:
    """The number of members of a sorted set."""
    kept = call.db.read_kept(key)
    if type(kept) is PackedZset:
        return edits.element_count(kept) >> 1
    if kept is None:
        return 0
    if not isinstance(kept, ZsetValue):
        raise wrong_type()
    return len(kept.scores)


@command("ZSCORE", arity=3, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zscore(call: Call, key: bytes, member: bytes) -> float | None:
    """The score of a member."""
    return _score_in(call.db.read_kept(key), member)


def _score_in(kept: Value | None, member: bytes) -> float | None:
    """The score of a member in what `find_kept` gave. CommandError WRONGTYPE when that is no sorted set."""
    if kept is None:
        return None
    if type(kept) is PackedZset:
        score: float | None = edits.member_score(kept, member)
        return score
    if not isinstance(kept, ZsetValue):
        raise wrong_type()
    return kept.scores.get(member)


@command("ZMSCORE", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="6.2.0")
def zmscore(call: Call, key: bytes, *members: bytes) -> list[float | None]:
    """The scores of several members."""
    kept = call.db.read_kept(key)
    return [_score_in(kept, member) for member in members]


@command("ZRANK", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="2.0.0")
def zrank(call: Call, key: bytes, member: bytes, *options: bytes) -> Reply:
    """The rank of a member, the lowest score being 0; with its score on request (Redis 7.2)."""
    return _rank(call, key, member, options, False)


@command("ZREVRANK", arity=-3, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="2.0.0")
def zrevrank(call: Call, key: bytes, member: bytes, *options: bytes) -> Reply:
    """The rank of a member, the highest score being 0; with its score on request (Redis 7.2)."""
    return _rank(call, key, member, options, True)


def _rank(call: Call, key: bytes, member: bytes, options: tuple[bytes, ...], reverse: bool) -> Reply:
    if len(options) > 1:
        raise CommandError(f"ERR wrong number of arguments for '{'zrevrank' if reverse else 'zrank'}' command")
    if options and options[0].upper() != b"WITHSCORE":
        raise syntax_error()
    value = call.db.read_as(ZsetValue, key)
    score = None if value is None else value.scores.get(member)
    if value is None or score is None:
        return NULL_ARRAY if options else None
    position: int = value.order.bisect_left((score, member))
    rank = len(value.scores) - 1 - position if reverse else position
    return [rank, score] if options else rank


@command("ZPOPMIN", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="sorted-set", since="5.0.0")
def zpopmin(call: Call, key: bytes, *counts: bytes) -> Reply:
    """Remove and return the members with the lowest scores."""
    return _pop(call, key, counts, 0)


@command("ZPOPMAX", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="sorted-set", since="5.0.0")
def zpopmax(call: Call, key: bytes, *counts: bytes) -> Reply:
    """Remove and return the members with the highest scores."""
    return _pop(call, key, counts, -1)


def _pop(call: Call, key: bytes, counts: tuple[bytes, ...], end: int) -> Reply:
    """`end` is the index to pop at: 0 or -1."""
    if len(counts) > 1:
        raise syntax_error()
    count = pop_count_argument(counts[0]) if counts else 1
    value = call.db.find_as(ZsetValue, key)
    if value is None or count == 0:
        return []
    taken = _take(call, key, value, count, end)
    if counts:
        return scored_reply(call, taken)
    score, member = taken[0]
    return [member, score]


def _take(call: Call, key: bytes, value: ZsetValue, count: int, end: int) -> list[tuple[float, bytes]]:
    """Remove up to `count` (at least 1) members from one end; (score, member) in the order of popping."""
    db = call.db
    if count >= len(value.scores):
        taken = list(value.order)
        if end:
            taken.reverse()
        db.delete(key)
    else:
        taken = [value.pop(end) for _ in range(count)]
    db.changed(key, len(taken))
    return taken


@command("ZMPOP", arity=-4, flags=WRITE | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="7.0.0")
def zmpop(call: Call, *arguments: bytes) -> list[Reply] | NullArray:
    """Pop members from the first non-empty sorted set of several; the set's key, the members and their scores.

    Propagates as ZPOPMIN or ZPOPMAX with a count.
    """
    asked = multi_pop_arguments(arguments, (b"MIN", b"MAX"))
    for key in asked.keys:
        value = call.db.find_as(ZsetValue, key)
        if value is None:
            continue
        taken = _take(call, key, value, asked.count, -asked.which)
        call.rewrite(b"ZPOPMAX" if asked.which else b"ZPOPMIN", key, b"%d" % len(taken))
        return [key, [(member, score) for score, member in taken]]
    return NULL_ARRAY


@command("ZRANDMEMBER", arity=-2, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="6.2.0")
def zrandmember(call: Call, key: bytes, *options: bytes) -> Reply:
    """Random members of a sorted set, with their scores on request; a negative count allows repetitions."""
    count = _random_count(options) if options else 0
    value = call.db.read_as(ZsetValue, key)
    if not options:
        return None if value is None else _member_at(value, call.random.below(len(value.scores)))
    entries = [] if value is None else _random_entries(value, count, call.random.below)
    if len(options) == 1:
        return [member for _, member in entries]
    return scored_reply(call, entries)


def _random_count(options: tuple[bytes, ...]) -> int:
    count = pick_count_argument(options[0])
    if len(options) > 2 or (len(options) == 2 and options[1].upper() != b"WITHSCORES"):
        raise syntax_error()
    if len(options) == 2:
        check_pick_count(count, pairs=True)
    return count


def _member_at(value: ZsetValue, position: int) -> bytes:
    member: bytes = value.order[position][1]
    return member


def _random_entries(value: ZsetValue, count: int, below: Below) -> list[tuple[float, bytes]]:
    order = value.order
    size = len(value.scores)
    if count < 0:
        check_pick_count(count, pairs=False)
        return [order[below(size)] for _ in range(-count)]
    if count >= size:
        return list(order)
    return [order[position] for position in distinct_positions(count, size, below)]
