"""Unions, intersections and differences of sorted sets (plain sets count as scores of 1), answered, stored or counted.

Sums of scores depend on the order in which inputs are taken, so that is Redis's: by size, the smallest first. A product
or sum that is not a number counts as 0. Replies and texts are Redis 7.0's.
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
    """One key's members with their scores, and the factor of the scores."""

    __slots__ = ("scores", "weight")

    def __init__(self, scores: Mapping[bytes, float]) -> None:
        self.scores = scores
        self.weight: float = 1.0

    def weighed(self, score: float) -> float:
        product = self.weight * score
        return product if product == product else 0.0


@final
class Request:
    """Inputs and options of one command of the family. `limit` 0 means none."""

    __slots__ = ("aggregate", "inputs", "limit", "with_scores")

    def __init__(self, inputs: list[Input]) -> None:
        self.inputs = inputs
        self.aggregate: Aggregate = _sum
        self.with_scores: bool = False
        self.limit: int = 0

    def by_size(self) -> list[Input]:
        return sorted(self.inputs, key=lambda source: len(source.scores))


def _inputs(call: Call, arguments: tuple[bytes, ...], name: str) -> list[Input]:
    """The inputs that `numkeys key [key ...]` names; missing keys are empty."""
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
    """Parse keys, then options; the flags say which options the command knows (`weights`: AGGREGATE too)."""
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
    """The members of any input, scores aggregated."""
    result: dict[bytes, float] = {}
    aggregate = request.aggregate
    for source in request.by_size():
        for member, score in source.scores.items():
            weighed = source.weighed(score)
            known = result.get(member)
            result[member] = weighed if known is None else aggregate(known, weighed)
    return result


def intersection(request: Request) -> dict[bytes, float]:
    """The members of every input, scores aggregated."""
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
    """The members of the first input that no other has, with their scores."""
    first, *others = request.inputs
    return {
        member: score for member, score in first.scores.items() if not any(member in source.scores for source in others)
    }


def _shared_count(request: Request) -> int:
    """How many members all inputs share, up to the limit."""
    first, *others = request.by_size()
    count = 0
    for member in first.scores:
        if all(member in source.scores for source in others):
            count += 1
            if count == request.limit:
                break
    return count


def _answer(call: Call, request: Request, result: dict[bytes, float]) -> Reply:
    entries = sorted((score, member) for member, score in result.items())
    return scored_reply(call, entries) if request.with_scores else [member for _, member in entries]


def _store(call: Call, destination: bytes, result: dict[bytes, float]) -> int:
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
