"""Unions, intersections and differences of sorted sets, answered, stored or counted. A plain set has scores of 1.

The sum of floating-point scores depends on the order in which they are added. So the inputs are taken in Redis's order:
by size, the smallest first. A product or sum that is not a number (such as inf - inf) becomes 0. Replies and error
texts are Redis 7.0's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, final

from pyrepl.commands.engine.arguments import float_argument, integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import limit_argument
from pyrepl.commands.engine.table import DENYOOM, MOVABLE_KEYS, READONLY, WRITE, command, numkeys_at
from pyrepl.commands.zsets.replies import scored_reply
from pyrepl.errors import CommandError
from pyrepl.keyspace import zset_verbs
from pyrepl.keyspace.scores import read_scores
from pyrepl.resp.reply import Reply

Aggregate = Callable[[float, float], float]
"""Makes one score of two, for a member that two inputs have."""


def _sum(one: float, other: float) -> float:
    total = one + other
    return total if total == total else 0.0


def _lesser(one: float, other: float) -> float:
    return min(one, other)


def _greater(one: float, other: float) -> float:
    return max(one, other)


AGGREGATES: Final[dict[bytes, Aggregate]] = {b"SUM": _sum, b"MIN": _lesser, b"MAX": _greater}


@final
class Input:
    """The members of one key with their scores, and `weight`, the factor that WEIGHTS gives these scores."""

    __slots__ = ("scores", "weight")

    def __init__(self, scores: Mapping[bytes, float]) -> None:
        self.scores = scores
        self.weight: float = 1.0

    def weighed(self, score: float) -> float:
        """The score times the weight; 0 where that is not a number (0 * inf)."""
        product = self.weight * score
        return product if product == product else 0.0


@final
class Request:
    """The inputs and options of one command. `limit` is the number to stop counting at, 0 for no limit."""

    __slots__ = ("aggregate", "inputs", "limit", "with_scores")

    def __init__(self, inputs: list[Input]) -> None:
        self.inputs = inputs
        self.aggregate: Aggregate = _sum
        self.with_scores: bool = False
        self.limit: int = 0

    def by_size(self) -> list[Input]:
        """The inputs, the smallest first; those of equal size in the order of the keys."""
        return sorted(self.inputs, key=lambda source: len(source.scores))


def _inputs(call: Call, arguments: tuple[bytes, ...], name: str) -> list[Input]:
    """The inputs that `numkeys key [key ...]` names; a missing key is empty. `name` is the command's, for the error.

    Raises CommandError, WRONGTYPE for a key that holds neither a sorted set nor a set.
    """
    count = integer_argument(arguments[0])
    if count < 1:
        raise CommandError(f"ERR at least 1 input key is needed for '{name}' command")
    if count > len(arguments) - 1:
        raise syntax_error()
    return [Input(read_scores(call.db, key)) for key in arguments[1 : 1 + count]]


def _request(
    call: Call,
    arguments: tuple[bytes, ...],
    name: str,
    *,
    weights: bool = False,
    scores: bool = False,
    limit: bool = False,
) -> Request:
    """Parse the keys and then the options. Raises CommandError.

    The flags tell which options the command knows: `weights` WEIGHTS and AGGREGATE, `scores` WITHSCORES, `limit` LIMIT.
    """
    request = Request(_inputs(call, arguments, name))
    count = len(request.inputs)
    options = arguments[1 + count :]
    i = 0
    while i < len(options):
        word = options[i].upper()
        remaining = len(options) - i
        if weights and word == b"WEIGHTS" and remaining > count:
            for source, text in zip(request.inputs, options[i + 1 :]):
                source.weight = float_argument(text, "ERR weight value is not a float")
            i += count
        elif weights and word == b"AGGREGATE" and remaining > 1 and options[i + 1].upper() in AGGREGATES:
            request.aggregate = AGGREGATES[options[i + 1].upper()]
            i += 1
        elif scores and word == b"WITHSCORES":
            request.with_scores = True
        elif limit and word == b"LIMIT" and remaining > 1:
            request.limit = limit_argument(options[i + 1])
            i += 1
        else:
            raise syntax_error()
        i += 1
    return request


def union(request: Request) -> dict[bytes, float]:
    """The members that at least one input has. Weighted scores of the same member are aggregated."""
    result: dict[bytes, float] = {}
    aggregate = request.aggregate
    for source in request.by_size():
        for member, score in source.scores.items():
            weighed = source.weighed(score)
            known = result.get(member)
            result[member] = weighed if known is None else aggregate(known, weighed)
    return result


def intersection(request: Request) -> dict[bytes, float]:
    """The members that every input has. Their weighted scores are aggregated."""
    first, *others = request.by_size()
    result: dict[bytes, float] = {}
    for member, score in first.scores.items():
        total = first.weighed(score)
        for source in others:
            other = source.scores.get(member)
            if other is None:
                break
            total = request.aggregate(total, source.weighed(other))
        else:
            result[member] = total
    return result


def difference(request: Request) -> dict[bytes, float]:
    """The members of the first input that no other input has, with their scores in the first."""
    first, *others = request.inputs
    return {
        member: score for member, score in first.scores.items() if not any(member in source.scores for source in others)
    }


def _shared_count(request: Request) -> int:
    """How many members all inputs have in common. Stops counting at the limit."""
    first, *others = request.by_size()
    count = 0
    for member in first.scores:
        if all(member in source.scores for source in others):
            count += 1
            if count == request.limit:
                break
    return count


def _answer(call: Call, request: Request, result: dict[bytes, float]) -> Reply:
    """The members as a reply, ascending by score, then by member."""
    entries = sorted((score, member) for member, score in result.items())
    return scored_reply(call, entries) if request.with_scores else [member for _, member in entries]


def _store(call: Call, destination: bytes, result: dict[bytes, float]) -> int:
    """Put the result in place of any value under `destination`; return its size. An empty result only deletes."""
    zset_verbs.store(call.db, destination, result)
    return len(result)


@command("ZUNION", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="6.2.0")
def zunion(call: Call, *arguments: bytes) -> Reply:
    """The members of any of several sorted sets, scores weighted and aggregated."""
    request = _request(call, arguments, "zunion", weights=True, scores=True)
    return _answer(call, request, union(request))


@command("ZINTER", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="6.2.0")
def zinter(call: Call, *arguments: bytes) -> Reply:
    """The members that several sorted sets share, scores weighted and aggregated."""
    request = _request(call, arguments, "zinter", weights=True, scores=True)
    return _answer(call, request, intersection(request))


@command("ZDIFF", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="6.2.0")
def zdiff(call: Call, *arguments: bytes) -> Reply:
    """The members of the first sorted set that none of the others has."""
    request = _request(call, arguments, "zdiff", scores=True)
    return _answer(call, request, difference(request))


_STORED: Final = numkeys_at(2, leading=1)


@command("ZUNIONSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORED, group="sorted-set", since="2.0.0")
def zunionstore(call: Call, destination: bytes, *arguments: bytes) -> int:
    """Store the members of any of several sorted sets; how many they are."""
    return _store(call, destination, union(_request(call, arguments, "zunionstore", weights=True)))


@command("ZINTERSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORED, group="sorted-set", since="2.0.0")
def zinterstore(call: Call, destination: bytes, *arguments: bytes) -> int:
    """Store the members that several sorted sets share; how many they are."""
    return _store(call, destination, intersection(_request(call, arguments, "zinterstore", weights=True)))


@command("ZDIFFSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORED, group="sorted-set", since="6.2.0")
def zdiffstore(call: Call, destination: bytes, *arguments: bytes) -> int:
    """Store the members of the first sorted set that none of the others has; how many they are."""
    return _store(call, destination, difference(_request(call, arguments, "zdiffstore")))


@command("ZINTERCARD", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="7.0.0")
def zintercard(call: Call, *arguments: bytes) -> int:
    """How many members several sorted sets share, counted up to a limit."""
    return _shared_count(_request(call, arguments, "zintercard", limit=True))
