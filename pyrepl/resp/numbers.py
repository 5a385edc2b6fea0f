"""Integers as Redis writes and reads them: what counts as a 64-bit integer in a command or a protocol header.

Floating point is in doubles.py.
"""

from __future__ import annotations

from typing import Final

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
_SHORT_MIN: Final = -(2**62)
_SHORT_MAX: Final = 2**62 - 1
"""From here to there mypyc compares numbers without making objects of them."""

_LONGEST_TEXT: Final = 20
_ZERO: Final = 0x30
_PLAIN_DIGITS: Final = 18
"""So many digits are within 64 bits, whichever they are."""

_THOUSAND: Final = 1000
_TEXTS: Final[list[bytes]] = [b"%d" % number for number in range(_THOUSAND)]
_PADDED: Final[list[bytes]] = [b"%03d" % number for number in range(_THOUSAND)]


def format_integer(number: int) -> bytes:
    """The decimal digits of any integer; the usual ones without the general way of formatting."""
    if 0 <= number < _THOUSAND:
        return _TEXTS[number]
    if 0 <= number < _THOUSAND * _THOUSAND:
        return _TEXTS[number // _THOUSAND] + _PADDED[number % _THOUSAND]
    if 0 <= number < _THOUSAND * _THOUSAND * _THOUSAND:
        high, low = number // _THOUSAND, number % _THOUSAND
        return _TEXTS[high // _THOUSAND] + _PADDED[high % _THOUSAND] + _PADDED[low]
    return b"%d" % number


def is_int64(number: int) -> bool:
    """Is this a 64-bit signed integer?"""
    return _SHORT_MIN <= number <= _SHORT_MAX or INT64_MIN <= number <= INT64_MAX


def parse_digits(text: bytes) -> int:
    """The number that 1 to 18 decimal digits spell, leading zeros allowed; -1 for anything else. Quick."""
    size = len(text)
    if size == 0 or size > _PLAIN_DIGITS:
        return -1
    number = 0
    for index in range(size):
        digit = text[index] - 48
        if digit < 0 or digit > 9:
            return -1
        number = 10 * number + digit
    return number


def parse_integer(text: bytes) -> int | None:
    """The 64-bit signed integer that `text` spells canonically, else None.

    Only the one text that printing the number would give is accepted (Redis's string2ll): no plus sign, no leading
    zeros, no spaces, no `-0`, nothing outside INT64_MIN..INT64_MAX inclusive.
    """
    number = parse_digits(text)
    if number >= 0 and (text[0] != _ZERO or len(text) == 1):
        return number
    if number >= 0 or len(text) > _LONGEST_TEXT:
        return None
    try:
        number = int(text)
    except ValueError:
        return None
    if b"%d" % number != text or not is_int64(number):
        return None
    return number


def parse_unsigned(text: bytes) -> int | None:
    """Like parse_integer for 0..2**64-1 inclusive, as stream ids and cursors need; None for anything else."""
    if len(text) > _LONGEST_TEXT:
        return None
    try:
        number = int(text)
    except ValueError:
        return None
    if b"%d" % number != text or number < 0 or number >= 2**64:
        return None
    return number
