"""Commands on ranges of a sorted set: by rank, by score, by member; read, count, remove, store.

`keyspace.zset_ranges` applies a range, `bounds` parses its ends. Replies and error texts are Redis 7.0's.

A range by member (BYLEX) makes sense only when all scores are equal. When they are not, Redis does not define the
result, and neither does pyrepl.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, FIRST_TWO, READONLY, WRITE, command
from pyrepl.commands.zsets.bounds import lex_range, rank_range, score_range
from pyrepl.commands.zsets.replies import scored_reply
from pyrepl.errors import CommandError
from pyrepl.keyspace import zset_verbs
from pyrepl.keyspace.zset_ranges import RankRange, Span, Window
from pyrepl.resp.reply import Reply

BY_RANK: Final = 0
BY_SCORE: Final = 1
BY_LEX: Final = 2

_LIMIT_COMPLAINT: Final = "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
_LEX_SCORES_COMPLAINT: Final = "ERR syntax error, WITHSCORES not supported in combination with BYLEX"


@final
class RangeQuery:
    """A question for a range: `by` is BY_RANK, BY_SCORE or BY_LEX; `window` is direction and LIMIT."""

    __slots__ = ("by", "span", "window", "with_scores")

    def __init__(self, by: int, reverse: bool) -> None:
        self.by = by
        self.window = Window(reverse)
        self.with_scores: bool = False
        self.span: Span = RankRange(0, -1)


def _range_query(
    ends: tuple[bytes, bytes], options: tuple[bytes, ...], by: int | None, reverse: bool | None, *, store: bool = False
) -> RangeQuery:
    """Parse the ends of a range and the options after them. Raises CommandError.

    `by` and `reverse` are None for a command whose options choose them (ZRANGE, ZRANGESTORE). `store` is true for
    ZRANGESTORE, which does not know WITHSCORES.
    """
    query = RangeQuery(by or BY_RANK, reverse or False)
    i = 0
    while i < len(options):
        word = options[i].upper()
        if word == b"WITHSCORES" and not store:
            query.with_scores = True
        elif word == b"LIMIT" and i + 2 < len(options):
            query.window.offset = integer_argument(options[i + 1])
            query.window.limit = integer_argument(options[i + 2])
            i += 2
        elif word == b"REV" and reverse is None:
            query.window.reverse = reverse = True
        elif word == b"BYLEX" and by is None:
            query.by = by = BY_LEX
        elif word == b"BYSCORE" and by is None:
            query.by = by = BY_SCORE
        else:
            raise syntax_error()
        i += 1
    if query.window.limit != -1 and query.by == BY_RANK:
        raise CommandError(_LIMIT_COMPLAINT)
    if query.by == BY_RANK:
        # Redis accepts LIMIT with a count of -1, which means no limit, for ranks too. Its offset then has no effect.
        query.window.offset = 0
    if query.with_scores and query.by == BY_LEX:
        raise CommandError(_LEX_SCORES_COMPLAINT)
    _set_range(query, ends)
    return query


def _set_range(query: RangeQuery, ends: tuple[bytes, bytes]) -> None:
    """Parse the ends. In reverse order the higher score or member comes first; ranks are counted from the other end."""
    if query.by == BY_RANK:
        query.span = rank_range(ends[0], ends[1])
        return
    low, high = (ends[1], ends[0]) if query.window.reverse else ends
    query.span = score_range(low, high) if query.by == BY_SCORE else lex_range(low, high)


def _answer(call: Call, key: bytes, query: RangeQuery) -> Reply:
    entries = zset_verbs.between(call.db, key, query.span, query.window)
    if query.with_scores:
        return scored_reply(call, entries)
    return [member for _, member in entries]


@command("ZRANGE", arity=-4, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zrange(call: Call, key: bytes, start: bytes, stop: bytes, *options: bytes) -> Reply:
    """The members in a range of ranks, scores (BYSCORE) or members (BYLEX), both ends inclusive by rank."""
    return _answer(call, key, _range_query((start, stop), options, None, None))


@command("ZREVRANGE", arity=-4, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zrevrange(call: Call, key: bytes, start: bytes, stop: bytes, *options: bytes) -> Reply:
    """The members in a range of ranks counted from the highest score."""
    return _answer(call, key, _range_query((start, stop), options, BY_RANK, True))


@command("ZRANGEBYSCORE", arity=-4, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="1.0.5")
def zrangebyscore(call: Call, key: bytes, low: bytes, high: bytes, *options: bytes) -> Reply:
    """The members with scores in a range, ascending."""
    return _answer(call, key, _range_query((low, high), options, BY_SCORE, False))


@command("ZREVRANGEBYSCORE", arity=-4, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="2.2.0")
def zrevrangebyscore(call: Call, key: bytes, high: bytes, low: bytes, *options: bytes) -> Reply:
    """The members with scores in a range, descending."""
    return _answer(call, key, _range_query((high, low), options, BY_SCORE, True))


@command("ZRANGEBYLEX", arity=-4, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="2.8.9")
def zrangebylex(call: Call, key: bytes, low: bytes, high: bytes, *options: bytes) -> Reply:
    """The members between two members, ascending."""
    return _answer(call, key, _range_query((low, high), options, BY_LEX, False))


@command("ZREVRANGEBYLEX", arity=-4, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="2.8.9")
def zrevrangebylex(call: Call, key: bytes, high: bytes, low: bytes, *options: bytes) -> Reply:
    """The members between two members, descending."""
    return _answer(call, key, _range_query((high, low), options, BY_LEX, True))


@command("ZRANGESTORE", arity=-5, flags=WRITE | DENYOOM, keys=FIRST_TWO, group="sorted-set", since="6.2.0")
def zrangestore(call: Call, destination: bytes, source: bytes, start: bytes, stop: bytes, *options: bytes) -> int:
    """Store the members that ZRANGE would answer, with their scores; how many they are."""
    query = _range_query((start, stop), options, None, None, store=True)
    entries = zset_verbs.between(call.db, source, query.span, query.window)
    zset_verbs.store(call.db, destination, {member: score for score, member in entries})
    return len(entries)


@command("ZCOUNT", arity=4, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="2.0.0")
def zcount(call: Call, key: bytes, low: bytes, high: bytes) -> int:
    """How many members have scores in a range."""
    return zset_verbs.count_between(call.db, key, score_range(low, high))


@command("ZLEXCOUNT", arity=4, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="2.8.9")
def zlexcount(call: Call, key: bytes, low: bytes, high: bytes) -> int:
    """How many members lie between two members."""
    return zset_verbs.count_between(call.db, key, lex_range(low, high))


@command("ZREMRANGEBYRANK", arity=4, flags=WRITE, keys=FIRST_ARG, group="sorted-set", since="2.0.0")
def zremrangebyrank(call: Call, key: bytes, start: bytes, stop: bytes) -> int:
    """Remove the members in a range of ranks, both ends inclusive; how many."""
    return zset_verbs.remove_between(call.db, key, rank_range(start, stop))


@command("ZREMRANGEBYSCORE", arity=4, flags=WRITE, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zremrangebyscore(call: Call, key: bytes, low: bytes, high: bytes) -> int:
    """Remove the members with scores in a range; how many."""
    return zset_verbs.remove_between(call.db, key, score_range(low, high))


@command("ZREMRANGEBYLEX", arity=4, flags=WRITE, keys=FIRST_ARG, group="sorted-set", since="2.8.9")
def zremrangebylex(call: Call, key: bytes, low: bytes, high: bytes) -> int:
    """Remove the members between two members; how many."""
    return zset_verbs.remove_between(call.db, key, lex_range(low, high))
