"""Commands on ranges of a sorted set: by rank, by score, by member; read, count, remove, store.

A range becomes a half-open pair of positions in the set's order by bisection; everything else is slicing. Parsing the
ends of a range is `bounds`. Replies and texts are Redis 7.0's.

By member (BYLEX) presumes that all scores are equal; Redis leaves the result open when they are not, and so do we.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FAST, FIRST_ARG, FIRST_TWO, READONLY, WRITE, command
from pyrepl.commands.zsets.bounds import LexRange, RankRange, ScoreRange, lex_range, rank_range, score_range
from pyrepl.commands.zsets.replies import scored_reply
from pyrepl.errors import CommandError
from pyrepl.keyspace import zset_verbs
from pyrepl.keyspace.values import ZsetValue
from pyrepl.resp.reply import Reply

BY_RANK: Final = 0
BY_SCORE: Final = 1
BY_LEX: Final = 2

_LIMIT_COMPLAINT: Final = "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
_LEX_SCORES_COMPLAINT: Final = "ERR syntax error, WITHSCORES not supported in combination with BYLEX"


@final
class RangeQuery:
    """What ZRANGE and its relatives ask for. `limit` is negative for no limit; `offset` is in the direction of walk."""

    __slots__ = ("by", "limit", "offset", "range", "reverse", "with_scores")

    def __init__(self, by: int, reverse: bool) -> None:
        self.by = by
        self.reverse = reverse
        self.offset: int = 0
        self.limit: int = -1
        self.with_scores: bool = False
        self.range: RankRange | ScoreRange | LexRange | None = None

    def entries(self, value: ZsetValue) -> list[tuple[float, bytes]]:
        """The (score, member) asked for, in the order asked for."""
        assert self.range is not None
        if isinstance(self.range, LexRange):
            start, end = self.range.positions(value, self.reverse, max(0, self.offset))
        else:
            start, end = self.range.positions(value, self.reverse)
        if self.by != BY_RANK:
            start, end = self._limited(start, end)
        found = value.slice(start, end) if start < end else []
        if self.reverse:
            found.reverse()
        return found

    def _limited(self, start: int, end: int) -> tuple[int, int]:
        """Cut [start, end) by offset and limit; a negative offset skips everything, as in Redis."""
        if self.offset < 0:
            return start, start
        if self.reverse:
            end -= self.offset
            return (start if self.limit < 0 else max(start, end - self.limit)), end
        start += self.offset
        return start, (end if self.limit < 0 else min(end, start + self.limit))


def _range_query(
    ends: tuple[bytes, bytes], options: tuple[bytes, ...], by: int | None, reverse: bool | None, *, store: bool = False
) -> RangeQuery:
    """Parse ends and options; `by` and `reverse` are None where an option may choose them (ZRANGE, ZRANGESTORE)."""
    query = RangeQuery(by or BY_RANK, reverse or False)
    i = 0
    while i < len(options):
        word = options[i].upper()
        if word == b"WITHSCORES" and not store:
            query.with_scores = True
        elif word == b"LIMIT" and i + 2 < len(options):
            query.offset = integer_argument(options[i + 1])
            query.limit = integer_argument(options[i + 2])
            i += 2
        elif word == b"REV" and reverse is None:
            query.reverse = reverse = True
        elif word == b"BYLEX" and by is None:
            query.by = by = BY_LEX
        elif word == b"BYSCORE" and by is None:
            query.by = by = BY_SCORE
        else:
            raise syntax_error()
        i += 1
    if query.limit != -1 and query.by == BY_RANK:
        raise CommandError(_LIMIT_COMPLAINT)
    if query.with_scores and query.by == BY_LEX:
        raise CommandError(_LEX_SCORES_COMPLAINT)
    _set_range(query, ends)
    return query


def _set_range(query: RangeQuery, ends: tuple[bytes, bytes]) -> None:
    if query.by == BY_RANK:
        query.range = rank_range(ends[0], ends[1])
        return
    low, high = (ends[1], ends[0]) if query.reverse else ends
    query.range = score_range(low, high) if query.by == BY_SCORE else lex_range(low, high)


def _answer(call: Call, key: bytes, query: RangeQuery) -> Reply:
    value = zset_verbs.read(call.db, key)
    if value is None:
        return []
    entries = query.entries(value)
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
    value = zset_verbs.read(call.db, source)
    entries = [] if value is None else query.entries(value)
    zset_verbs.store(call.db, destination, {member: score for score, member in entries})
    return len(entries)


def _count(call: Call, key: bytes, asked: ScoreRange | LexRange) -> int:
    value = zset_verbs.read(call.db, key)
    if value is None:
        return 0
    start, end = asked.positions(value, False)
    return max(end - start, 0)


@command("ZCOUNT", arity=4, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="2.0.0")
def zcount(call: Call, key: bytes, low: bytes, high: bytes) -> int:
    """How many members have scores in a range."""
    return _count(call, key, score_range(low, high))


@command("ZLEXCOUNT", arity=4, flags=READONLY | FAST, keys=FIRST_ARG, group="sorted-set", since="2.8.9")
def zlexcount(call: Call, key: bytes, low: bytes, high: bytes) -> int:
    """How many members lie between two members."""
    return _count(call, key, lex_range(low, high))


def _remove(call: Call, key: bytes, asked: RankRange | ScoreRange | LexRange) -> int:
    value = zset_verbs.find(call.db, key)
    if value is None:
        return 0
    start, end = asked.positions(value, False)
    if start >= end:
        return 0
    zset_verbs.remove_slice(call.db, key, value, start, end)
    return end - start


@command("ZREMRANGEBYRANK", arity=4, flags=WRITE, keys=FIRST_ARG, group="sorted-set", since="2.0.0")
def zremrangebyrank(call: Call, key: bytes, start: bytes, stop: bytes) -> int:
    """Remove the members in a range of ranks, both ends inclusive; how many."""
    return _remove(call, key, rank_range(start, stop))


@command("ZREMRANGEBYSCORE", arity=4, flags=WRITE, keys=FIRST_ARG, group="sorted-set", since="1.2.0")
def zremrangebyscore(call: Call, key: bytes, low: bytes, high: bytes) -> int:
    """Remove the members with scores in a range; how many."""
    return _remove(call, key, score_range(low, high))


@command("ZREMRANGEBYLEX", arity=4, flags=WRITE, keys=FIRST_ARG, group="sorted-set", since="2.8.9")
def zremrangebylex(call: Call, key: bytes, low: bytes, high: bytes) -> int:
    """Remove the members between two members; how many."""
    return _remove(call, key, lex_range(low, high))
