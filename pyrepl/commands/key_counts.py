"""Arguments that say how many keys follow (`SINTERCARD 2 a b`), and numbers of elements asked for.

Texts are Redis 7.0's. Where the keys of a command stand, for COMMAND GETKEYS, is `table.numkeys_at`.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.arguments import integer_argument, ranged_integer_argument
from pyrepl.errors import CommandError
from pyrepl.resp.numbers import INT64_MAX

REPEATS_LIMIT: Final = 2**26
"""Most elements that a random pick with repetitions returns; Redis has no bound but memory."""


def counted_keys(arguments: tuple[bytes, ...], too_many: str) -> tuple[bytes, ...]:
    """The keys of `numkeys key [key ...] ...`; `too_many` is the error text when fewer arguments follow."""
    count = integer_argument(arguments[0], "ERR numkeys should be greater than 0")
    if count <= 0:
        raise CommandError("ERR numkeys should be greater than 0")
    if count > len(arguments) - 1:
        raise CommandError(too_many)
    return arguments[1 : 1 + count]


def limit_argument(text: bytes) -> int:
    """LIMIT of SINTERCARD and ZINTERCARD: 0 means no limit."""
    limit = integer_argument(text, "ERR LIMIT can't be negative")
    if limit < 0:
        raise CommandError("ERR LIMIT can't be negative")
    return limit


def pick_count_argument(text: bytes) -> int:
    """How many random elements: positive for distinct ones, negative for as many with repetitions.

    More than REPEATS_LIMIT repetitions are refused, so that one command cannot take all memory.
    """
    count = ranged_integer_argument(text, -INT64_MAX, INT64_MAX)
    if count < -REPEATS_LIMIT:
        raise CommandError("ERR value is out of range")
    return count
