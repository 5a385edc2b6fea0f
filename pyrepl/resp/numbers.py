"""Integers as Redis writes and reads them: what counts as a 64-bit integer in a command or a protocol header.

Floating point is in doubles.py.
"""

from __future__ import annotations

from typing import Final

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1

_LONGEST_TEXT: Final = 20


def parse_integer(text: bytes) -> int | None:
    """The 64-bit signed integer that `text` spells canonically, else None.

    Only the one text that printing the number would give is accepted (Redis's string2ll): no plus sign, no leading
    zeros, no spaces, no `-0`, nothing outside INT64_MIN..INT64_MAX inclusive.
    """
    if len(text) > _LONGEST_TEXT:
        return None
    try:
        number = int(text)
    except ValueError:
        return None
    if b"%d" % number != text or number > INT64_MAX or number < INT64_MIN:
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
