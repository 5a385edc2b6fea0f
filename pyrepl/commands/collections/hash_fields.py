"""Arguments of the commands on times to live of hash fields: `FIELDS n field ...`, and points in time.

Error texts are Redis 8.2's.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import integer_argument, invalid_expire_time
from pyrepl.errors import CommandError
from pyrepl.resp.numbers import INT64_MAX, parse_integer

MAX_FIELD_EXPIRY_MS: Final = 2**46 - 1
"""The latest Unix time in ms, inclusive, at which a field may expire. Redis stores it in 48 bits and accepts a quarter
of what they can hold."""

FIELDS_MISSING: Final = "ERR Mandatory argument FIELDS is missing or not at the right position"
FIELDS_MISMATCH: Final = "ERR The `numfields` parameter must match the number of arguments"
FIELDS_NOT_POSITIVE: Final = "ERR Number of fields must be a positive integer"


def counted_fields(arguments: tuple[bytes, ...], complaint: str = FIELDS_NOT_POSITIVE) -> tuple[bytes, ...]:
    """The fields of `FIELDS n field [field ...]`, which must be the whole of `arguments`.

    Raises CommandError; `complaint` is the error text for an n that is no number of 1 or more.
    """
    if not arguments or arguments[0].upper() != b"FIELDS":
        raise CommandError(FIELDS_MISSING)
    count = field_count(arguments[1], complaint) if len(arguments) > 1 else 0
    if len(arguments) < 3 or count != len(arguments) - 2:
        raise CommandError(FIELDS_MISMATCH)
    return arguments[2:]


def field_count(text: bytes, complaint: str, limit: int = INT64_MAX) -> int:
    """The n of `FIELDS n`, 1..limit, both inclusive. Raises CommandError with the text `complaint`."""
    count = parse_integer(text)
    if count is None or not 1 <= count <= limit:
        raise CommandError(complaint)
    return count


def field_expiry_argument(text: bytes, command_name: str, unit_ms: int, base_ms: int) -> int:
    """The Unix time in ms of the point that lies `text` units of `unit_ms` after `base_ms`.

    `base_ms` is now for a span, and 0 for a point in time. The point may be in the past. Raises CommandError for a
    negative number and for a point after MAX_FIELD_EXPIRY_MS.
    """
    number = integer_argument(text)
    if number < 0:
        raise CommandError("ERR invalid expire time, must be >= 0")
    at_ms = number * unit_ms + base_ms
    if at_ms > MAX_FIELD_EXPIRY_MS:
        raise invalid_expire_time(command_name)
    return at_ms
