"""Typed arguments: from the bytes of one argument to a number, a time or an option, or Redis's error text.

Every function raises CommandError with the text that Redis 7.0 prints for the same argument. Not here: the number of
arguments (`table`), the spelling of numbers (`pyrepl.resp.numbers`, `pyrepl.resp.doubles`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, final

from pyrepl.errors import CommandError
from pyrepl.resp.doubles import parse_double, parse_long_double
from pyrepl.resp.numbers import INT64_MAX, INT64_MIN, parse_integer, parse_unsigned

NOT_AN_INTEGER: Final = "ERR value is not an integer or out of range"
NOT_A_FLOAT: Final = "ERR value is not a valid float"
OUT_OF_RANGE: Final = "ERR value is out of range"
NO_SUCH_KEY: Final = "ERR no such key"

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1

MAX_STRING_BYTES: Final = 512 * 1024 * 1024
"""proto-max-bulk-len's default: no string may be longer."""

_PLAIN_DIGITS: Final = 10

SCAN_COUNT: Final = 10
"""How many elements a SCAN looks at when COUNT is not given."""


def syntax_error() -> CommandError:
    """The error for options that a command does not know or that exclude each other."""
    return CommandError("ERR syntax error")


def no_such_key() -> CommandError:
    """The error of commands that need an existing key (RENAME, LSET, ...)."""
    return CommandError(NO_SUCH_KEY)


def invalid_expire_time(command_name: str) -> CommandError:
    """The error for a time to live that is not positive or overflows; `command_name` in lower case, e.g. `set`."""
    return CommandError(f"ERR invalid expire time in '{command_name}' command")


def string_too_long() -> CommandError:
    """The error for a string that would exceed MAX_STRING_BYTES."""
    return CommandError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")


def integer_argument(text: bytes, complaint: str = NOT_AN_INTEGER) -> int:
    """A signed 64-bit integer in its canonical spelling: no spaces, no `+`, no leading zeros. `complaint` is the error
    text."""
    number = parse_integer(text)
    if number is None:
        raise CommandError(complaint)
    return number


def ranged_integer_argument(text: bytes, low: int, high: int, complaint: str | None = None) -> int:
    """An integer in low..high, both inclusive. `complaint` replaces the error texts for no integer and for another
    range."""
    number = integer_argument(text, complaint or NOT_AN_INTEGER)
    if not low <= number <= high:
        raise CommandError(complaint or f"ERR value is out of range, value must between {low} and {high}")
    return number


def int32_argument(text: bytes, complaint: str | None = None) -> int:
    """An integer that fits C's int (database numbers, WAIT's count, ...)."""
    return ranged_integer_argument(text, INT32_MIN, INT32_MAX, complaint)


def positive_argument(text: bytes, complaint: str | None = None) -> int:
    """An integer in 0..INT64_MAX, 0 included: Redis's text calls that positive."""
    if complaint is not None:
        return ranged_integer_argument(text, 0, INT64_MAX, complaint)
    number = integer_argument(text)
    if number < 0:
        raise CommandError("ERR value is out of range, must be positive")
    return number


def unsigned_argument(text: bytes, complaint: str = NOT_AN_INTEGER) -> int:
    """An integer in 0..2**64-1, both inclusive."""
    number = parse_unsigned(text)
    if number is None:
        raise CommandError(complaint)
    return number


def float_argument(text: bytes, complaint: str = NOT_A_FLOAT) -> float:
    """A double. Infinities are accepted, NaN is not."""
    number = parse_double(text)
    if number is None:
        raise CommandError(complaint)
    return number


def database_argument(text: bytes, count: int, complaint: str | None = None) -> int:
    """The number of a database, 0 <= n < count; `complaint` is the error text for anything but a 32-bit integer."""
    number = int32_argument(text, complaint)
    if not 0 <= number < count:
        raise CommandError("ERR DB index is out of range")
    return number


def timeout_argument(text: bytes, now_ms: int) -> int:
    """A blocking command's timeout in seconds with decimals, as ms rounded up; 0 means no timeout. Its end, counted
    from `now_ms` (Unix), must fit into 64 bits."""
    if len(text) < _PLAIN_DIGITS and text.isdigit():
        # Nearly all are such, and need none of the checks of the general rule.
        return int(text) * 1000
    seconds = parse_long_double(text)
    if seconds is None:
        raise CommandError("ERR timeout is not a float or out of range")
    if not seconds.is_finite():
        raise CommandError("ERR timeout is out of range" if seconds.infinity > 0 else "ERR timeout is negative")
    span_ms = math.ceil(seconds.value * 1000)
    if span_ms < 0:
        raise CommandError("ERR timeout is negative")
    if span_ms > INT64_MAX - now_ms:
        raise CommandError("ERR timeout is out of range")
    return span_ms


def timeout_ms_argument(text: bytes, now_ms: int) -> int:
    """A timeout in whole ms (WAIT, CLIENT PAUSE); 0 means no timeout. Its end, counted from `now_ms` (Unix), must fit
    into 64 bits."""
    span_ms = integer_argument(text, "ERR timeout is not an integer or out of range")
    if span_ms < 0:
        raise CommandError("ERR timeout is negative")
    if span_ms > INT64_MAX - now_ms:
        raise CommandError("ERR timeout is out of range")
    return span_ms


def expire_time_argument(text: bytes, command_name: str, unit_ms: int, base_ms: int) -> int:
    """The Unix time in ms at which a key expires, from the number in SET, SETEX, PSETEX, GETEX or MSETEX.

    `unit_ms` is 1000 for seconds and 1 for ms; `base_ms` is now for a span and 0 for a point in time. The number must
    be positive, and the time must fit into 64 bits. `command_name` is in lower case, for the error.
    """
    number = integer_argument(text)
    if number <= 0 or number > INT64_MAX // unit_ms:
        raise invalid_expire_time(command_name)
    at_ms = number * unit_ms + base_ms
    if at_ms > INT64_MAX:
        raise invalid_expire_time(command_name)
    return at_ms


def expire_point_argument(text: bytes, command_name: str, unit_ms: int, base_ms: int) -> int:
    """As `expire_time_argument`, for EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT, which allow zero and negative numbers."""
    number = integer_argument(text)
    if number * unit_ms > INT64_MAX - base_ms or number < -(-INT64_MIN // unit_ms):
        raise invalid_expire_time(command_name)
    return number * unit_ms + base_ms


def cursor_argument(text: bytes) -> int:
    """A SCAN cursor, 0..2**64-1, as Redis reads it by C's strtoul: a sign and leading zeros are allowed, spaces not.

    As in Redis, the empty text is cursor 0, and `-1` is cursor 2**64-1.
    """
    unsigned = text[1:] if text[:1] in (b"+", b"-") else text
    if text and not unsigned.isdigit():
        raise CommandError("ERR invalid cursor")
    digits = unsigned.lstrip(b"0")
    if len(digits) > 20 or int(digits or b"0") >= 2**64:
        raise CommandError("ERR invalid cursor")
    number = int(digits or b"0")
    return -number % 2**64 if text[:1] == b"-" else number


@final
class ScanOptions:
    """The options of SCAN, HSCAN, SSCAN and ZSCAN, which follow the cursor. `pattern` is None for all elements, also
    when `*` was given."""

    __slots__ = ("count", "pattern", "type_name")

    def __init__(self) -> None:
        self.count: int = SCAN_COUNT
        self.pattern: bytes | None = None
        self.type_name: bytes | None = None
        """Lower case; None for any type."""


def scan_options(arguments: Sequence[bytes], *, with_type: bool = False) -> ScanOptions:
    """Parse MATCH, COUNT and (for SCAN alone) TYPE; the last of a repeated option counts."""
    options = ScanOptions()
    for i in range(0, len(arguments), 2):
        word = arguments[i].upper()
        if i + 1 == len(arguments):
            raise syntax_error()
        value = arguments[i + 1]
        if word == b"COUNT":
            options.count = integer_argument(value)
            if options.count < 1:
                raise syntax_error()
        elif word == b"MATCH":
            options.pattern = None if value == b"*" else value
        elif word == b"TYPE" and with_type:
            options.type_name = value.lower()
        else:
            raise syntax_error()
    return options
