"""Parses arguments that say how many keys follow (`SINTERCARD 2 a b`), and how many elements are asked for.

Error texts are Redis 7.0's. `table.numkeys_at` says where such keys stand, for COMMAND GETKEYS.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import integer_argument, positive_argument, ranged_integer_argument
from pyrepl.errors import CommandError
from pyrepl.resp.numbers import INT64_MAX

REPEATS_LIMIT: Final = 2**24
"""How many elements a random pick with repetitions returns at most; in Redis only memory sets a limit."""

_MAX_PAIRS: Final = INT64_MAX // 2


def counted_keys(arguments: tuple[bytes, ...], too_many: str) -> tuple[bytes, ...]:
    """The keys of `numkeys key [key ...] ...`; `too_many` is the error text when fewer arguments follow."""
    count = integer_argument(arguments[0], "ERR numkeys should be greater than 0")
    if count <= 0:
        raise CommandError("ERR numkeys should be greater than 0")
    if count > len(arguments) - 1:
        raise CommandError(too_many)
    return arguments[1 : 1 + count]


def limit_argument(text: bytes) -> int:
    """The LIMIT of SINTERCARD and ZINTERCARD, 0 or more; 0 means no limit. Raises CommandError."""
    limit = integer_argument(text, "ERR LIMIT can't be negative")
    if limit < 0:
        raise CommandError("ERR LIMIT can't be negative")
    return limit


def pop_count_argument(text: bytes) -> int:
    """How many elements to pop, 0 or more. Raises CommandError."""
    return positive_argument(text, "ERR value is out of range, must be positive")


def pick_count_argument(text: bytes) -> int:
    """How many random elements to pick: n for n different ones, -n for n that may repeat. Raises CommandError."""
    return ranged_integer_argument(text, -INT64_MAX, INT64_MAX)


def check_pick_count(count: int, *, pairs: bool) -> None:
    """Refuse more repetitions than REPEATS_LIMIT, so that one command cannot take all memory.

    With values (`pairs`) Redis refuses more than half of all 64-bit numbers, before it looks at the key.
    """
    if count < -REPEATS_LIMIT or (pairs and count > _MAX_PAIRS):
        raise CommandError("ERR value is out of range")
