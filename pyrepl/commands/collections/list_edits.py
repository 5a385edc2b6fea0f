"""Commands that search a list or change its inside: LSET, LINSERT, LREM, LPOS. Commands on its ends are in `lists`.

All of them are O(n), as in Redis. Replies and error texts are Redis 7.0's.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import (
    integer_argument,
    no_such_key,
    positive_argument,
    ranged_integer_argument,
    syntax_error,
)
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FIRST_ARG, READONLY, WRITE, command
from pyrepl.errors import CommandError
from pyrepl.keyspace import list_verbs
from pyrepl.resp.numbers import INT64_MAX
from pyrepl.resp.reply import OK, Simple

_RANK_ZERO: Final = (
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from "
    "the end of the list"
)


@command("LSET", arity=4, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="list")
def lset(call: Call, key: bytes, index: bytes, element: bytes) -> Simple:
    """Replace the element at an index."""
    if not list_verbs.exists(call.db, key):
        raise no_such_key()
    if not list_verbs.replace(call.db, key, integer_argument(index), element):
        raise CommandError("ERR index out of range")
    return OK


@command("LINSERT", arity=5, flags=WRITE | DENYOOM, keys=FIRST_ARG, group="list", since="2.2.0")
def linsert(call: Call, key: bytes, where: bytes, pivot: bytes, element: bytes) -> int:
    """Insert an element before or after another; the new length, -1 when the pivot is not there, 0 without a list."""
    side = where.upper()
    if side not in (b"BEFORE", b"AFTER"):
        raise syntax_error()
    return list_verbs.insert(call.db, key, pivot, element, side == b"AFTER")


@command("LREM", arity=4, flags=WRITE, keys=FIRST_ARG, group="list")
def lrem(call: Call, key: bytes, count: bytes, element: bytes) -> int:
    """Remove elements equal to one: the first `count`, the last when it is negative, all when it is 0; how many."""
    return list_verbs.remove(call.db, key, element, integer_argument(count))


@final
class PositionQuery:
    """The options of LPOS.

    `rank` says which match comes first: 1 is the first from the head, -1 the first from the tail; never 0. `count` is
    how many matches to answer: None for a single one, 0 for all. `maxlen` is how many elements to compare, 0 for all.
    """

    __slots__ = ("count", "maxlen", "rank")

    def __init__(self) -> None:
        self.rank: int = 1
        self.count: int | None = None
        self.maxlen: int = 0


def _position_query(options: tuple[bytes, ...]) -> PositionQuery:
    """Parse the options of LPOS, which come in pairs. Raises CommandError."""
    query = PositionQuery()
    for i in range(0, len(options), 2):
        word = options[i].upper()
        if i + 1 == len(options):
            raise syntax_error()
        if word == b"RANK":
            # In C the lowest 64-bit number cannot be negated: Redis 8.2 refuses it, 7.0 overflows.
            query.rank = ranged_integer_argument(options[i + 1], -INT64_MAX, INT64_MAX)
            if query.rank == 0:
                raise CommandError(_RANK_ZERO)
        elif word == b"COUNT":
            query.count = positive_argument(options[i + 1], "ERR COUNT can't be negative")
        elif word == b"MAXLEN":
            query.maxlen = positive_argument(options[i + 1], "ERR MAXLEN can't be negative")
        else:
            raise syntax_error()
    return query


@command("LPOS", arity=-3, flags=READONLY, keys=FIRST_ARG, group="list", since="6.0.6")
def lpos(call: Call, key: bytes, element: bytes, *options: bytes) -> int | list[int] | None:
    """The index of an element in a list, or the indices of several matches."""
    query = _position_query(options)
    wanted = 1 if query.count is None else query.count
    found = list_verbs.positions(call.db, key, element, query.rank, wanted, query.maxlen)
    if query.count is not None:
        return found
    return found[0] if found else None
