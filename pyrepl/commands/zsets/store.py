"""Unions, intersections and differences of sorted sets, answered, stored or counted. A plain set has scores of 1.

`keyspace.zset_algebra` computes them. Replies and error texts are Redis 7.0's.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import float_argument, integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.key_counts import limit_argument
from pyrepl.commands.engine.table import DENYOOM, MOVABLE_KEYS, READONLY, WRITE, command, numkeys_at
from pyrepl.commands.zsets.replies import scored_reply
from pyrepl.errors import CommandError
from pyrepl.keyspace import zset_verbs
from pyrepl.keyspace.zset_algebra import AGGREGATES, ScoredSets
from pyrepl.resp.reply import Reply


@final
class Request:
    """The inputs and options of one command. `limit` is the number to stop counting at, 0 for no limit."""

    __slots__ = ("inputs", "limit", "with_scores")

    def __init__(self, inputs: ScoredSets) -> None:
        self.inputs = inputs
        self.with_scores: bool = False
        self.limit: int = 0


def _keys(arguments: tuple[bytes, ...], name: str) -> tuple[bytes, ...]:
    """The keys of `numkeys key [key ...]`. `name` is the command's, for the error. Raises CommandError."""
    count = integer_argument(arguments[0])
    if count < 1:
        raise CommandError(f"ERR at least 1 input key is needed for '{name}' command")
    if count > len(arguments) - 1:
        raise syntax_error()
    return arguments[1 : 1 + count]


def _request(
    call: Call,
    arguments: tuple[bytes, ...],
    name: str,
    *,
    weights: bool = False,
    scores: bool = False,
    limit: bool = False,
) -> Request:
    """Parse the keys and then the options. Raises CommandError, WRONGTYPE before a fault in an option.

    The flags tell which options the command knows: `weights` WEIGHTS and AGGREGATE, `scores` WITHSCORES, `limit` LIMIT.
    """
    keys = _keys(arguments, name)
    request = Request(ScoredSets(call.db, keys))
    count = len(keys)
    options = arguments[1 + count :]
    i = 0
    while i < len(options):
        word = options[i].upper()
        remaining = len(options) - i
        if weights and word == b"WEIGHTS" and remaining > count:
            texts = options[i + 1 : i + 1 + count]
            request.inputs.weigh([float_argument(text, "ERR weight value is not a float") for text in texts])
            i += count
        elif weights and word == b"AGGREGATE" and remaining > 1 and options[i + 1].upper() in AGGREGATES:
            request.inputs.aggregate = AGGREGATES[options[i + 1].upper()]
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
    return _answer(call, request, request.inputs.union())


@command("ZINTER", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="6.2.0")
def zinter(call: Call, *arguments: bytes) -> Reply:
    """The members that several sorted sets share, scores weighted and aggregated."""
    request = _request(call, arguments, "zinter", weights=True, scores=True)
    return _answer(call, request, request.inputs.intersection())


@command("ZDIFF", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="6.2.0")
def zdiff(call: Call, *arguments: bytes) -> Reply:
    """The members of the first sorted set that none of the others has."""
    request = _request(call, arguments, "zdiff", scores=True)
    return _answer(call, request, request.inputs.difference())


_STORED: Final = numkeys_at(2, leading=1)


@command("ZUNIONSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORED, group="sorted-set", since="2.0.0")
def zunionstore(call: Call, destination: bytes, *arguments: bytes) -> int:
    """Store the members of any of several sorted sets; how many they are."""
    return _store(call, destination, _request(call, arguments, "zunionstore", weights=True).inputs.union())


@command("ZINTERSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORED, group="sorted-set", since="2.0.0")
def zinterstore(call: Call, destination: bytes, *arguments: bytes) -> int:
    """Store the members that several sorted sets share; how many they are."""
    return _store(call, destination, _request(call, arguments, "zinterstore", weights=True).inputs.intersection())


@command("ZDIFFSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORED, group="sorted-set", since="6.2.0")
def zdiffstore(call: Call, destination: bytes, *arguments: bytes) -> int:
    """Store the members of the first sorted set that none of the others has; how many they are."""
    return _store(call, destination, _request(call, arguments, "zdiffstore").inputs.difference())


@command("ZINTERCARD", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=numkeys_at(1), group="sorted-set", since="7.0.0")
def zintercard(call: Call, *arguments: bytes) -> int:
    """How many members several sorted sets share, counted up to a limit."""
    request = _request(call, arguments, "zintercard", limit=True)
    return request.inputs.shared_count(request.limit)
