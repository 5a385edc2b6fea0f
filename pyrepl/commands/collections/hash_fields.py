"""Arguments of the commands on times to live of hash fields: `FIELDS n field ...`, and points in time.

Texts are Redis 8.2's.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import integer_argument, invalid_expire_time
from pyrepl.errors import CommandError
from pyrepl.resp.numbers import INT64_MAX, parse_integer

MAX_FIELD_EXPIRY_MS: Final = 2**46 - 1
"""The latest time, inclusive, that a field may expire at (Redis: a quarter of its 48 bits)."""

FIELDS_MISSING: Final = "ERR Mandatory argument FIELDS is missing or not at the right position"
FIELDS_MISMATCH: Final = "ERR The `numfields` parameter must match the number of arguments"
FIELDS_NOT_POSITIVE: Final = "ERR Number of fields must be a positive integer"


def counted_fields(arguments: tuple[bytes, ...], complaint: str = FIELDS_NOT_POSITIVE) -> tuple[bytes, ...]:
    """The fields of `FIELDS n field [field ...]`, which must be all of `arguments`.

    `complaint` is for an n that is no positive number.
    """
    if not arguments or arguments[0].upper() != b"FIELDS":
        raise CommandError(FIELDS_MISSING)
    count = field_count(arguments[1], complaint) if len(arguments) > 1 else 0
    if len(arguments) < 3 or count != len(arguments) - 2:
        raise CommandError(FIELDS_MISMATCH)
    return arguments[2:]


def field_count(text: bytes, complaint: str, limit: int = INT64_MAX) -> int:
    """The n of `FIELDS n`, 1..limit."""
    count = parse_integer(text)
    if count is None or not 1 <= count <= limit:
        raise CommandError(complaint)
    return count


def field_expiry_argument(text: bytes, command_name: str, unit_ms: int, base_ms: int) -> int:
    """The Unix ms of a point in time given as `text` units after `base_ms` (0: since 1970); the past is allowed."""
    number = integer_argument(text)
    if number < 0:
        raise CommandError("ERR invalid expire time, must be >= 0")
    at_ms = number * unit_ms + base_ms
    if at_ms > MAX_FIELD_EXPIRY_MS:
        raise invalid_expire_time(command_name)
    return at_ms
