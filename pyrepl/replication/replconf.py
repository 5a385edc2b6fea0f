"""The words of a REPLCONF: whether it is answered, and the values of its options, with Redis's errors.

Not here: what the options mean (session.py).
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.errors import CommandError
from pyrepl.resp.numbers import parse_integer
from pyrepl.words import split_words

MAX_ADDRESS_BYTES: Final = 255
"""Inclusive; Redis's NET_HOST_STR_LEN with its final zero."""
_SHOWN_WORD: Final = 128
_NOT_AN_INTEGER: Final = "ERR value is not an integer or out of range"


class Exclusion(enum.Flag):
    """What a snapshot is to leave out, by `REPLCONF rdb-filter-only`.

    Such a snapshot goes to sockets alone, as a file of it would take the place of dump.rdb, and without a delay where
    the others go to disk. It is shared only by those who want the same left out: of all that wait, the next one is for
    who has waited longest, and who wants the same. Source: Redis 8.2.
    """

    NONE = 0
    DATA = enum.auto()
    """The keys of all databases."""
    FUNCTIONS = enum.auto()
    """The function libraries."""


def is_answered(argv: list[bytes]) -> bool:
    """Is this REPLCONF answered? An ACK and a GETACK are not; all others are, also those with an argument too few."""
    return len(argv) % 2 == 0 or argv[1].lower() not in (b"ack", b"getack")


def number_of(value: bytes) -> int:
    """A whole number. Raises CommandError for any other word."""
    number = parse_integer(value)
    if number is None:
        raise CommandError(_NOT_AN_INTEGER)
    return number


def flag_of(value: bytes) -> bool:
    """0 or 1. Raises CommandError for any other word."""
    number = number_of(value)
    if number not in (0, 1):
        raise CommandError("ERR value is out of range, value must between 0 and 1")
    return number == 1


def address_of(value: bytes) -> str:
    """An address or a host's name. Raises CommandError for one that is too long."""
    if len(value) > MAX_ADDRESS_BYTES:
        raise CommandError(f"ERR REPLCONF ip-address provided by replica instance is too long: {len(value)} bytes")
    return value.decode("utf-8", "backslashreplace")


def exclusion_of(value: bytes) -> Exclusion:
    """What is left out where only the parts in `value`, words between spaces, are wanted: without a word everything.

    Raises CommandError for a word that is no part, or unbalanced quotes. Source: Redis 7.0 to 8.2, which know the one
    word `functions`.
    """
    words = split_words(value)
    if words is None:
        raise CommandError("ERR Missing rdb-filter-only values")
    excluded = Exclusion.DATA | Exclusion.FUNCTIONS
    for word in words:
        if word.lower() != b"functions":
            raise CommandError(f"ERR Unsupported rdb-filter-only option: {shown(word)}")
        excluded &= ~Exclusion.FUNCTIONS
    return excluded


def why_not_filter(excluded: Exclusion, *, reads_eof: bool) -> str:
    """Why a replica cannot have `excluded` left out of its snapshot, as an error line without its dash; "" if it can.

    `reads_eof`: it reads a snapshot of unknown size (capa eof), which all are that go to sockets.
    """
    return "ERR Filtered replica requires EOF capability" if excluded and not reads_eof else ""


def shown(word: bytes) -> str:
    """A word of the peer's for an error line: not too long, and without line ends, which would end the line."""
    return word[:_SHOWN_WORD].translate(_IN_ONE_LINE).decode("utf-8", "surrogateescape")


_IN_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")
