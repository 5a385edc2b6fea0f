"""Stream ids as commands spell them: `ms-seq`, `ms` alone, `-`, `+`, and `(` for an exclusive bound.

An id is a pair of unsigned 64-bit numbers: a Unix time in ms and a sequence number. The grammar of the text is that of
Redis 7.0 (`streamGenericParseIDOrReply`). Each half is first read as a canonical number. If that fails, it is read as
C's strtoull reads it, so spaces, a sign and zeros may stand before the digits.
"""

from __future__ import annotations

import re
from typing import Final

from pyrepl.errors import CommandError
from pyrepl.rdb.values import StreamId
from pyrepl.resp.numbers import parse_integer

UINT64_MAX: Final = 2**64 - 1
FIRST_ID: Final[StreamId] = (0, 0)
LAST_ID: Final[StreamId] = (UINT64_MAX, UINT64_MAX)

_LONGEST_TEXT: Final = 127
"""The greatest length in bytes, inclusive, of a text that can be an id (Redis copies it to a buffer of 128 bytes)."""
_LOOSE: Final = re.compile(rb"[ \t\n\v\f\r]*([+-]?)([0-9]+)")


def id_text(entry_id: StreamId) -> bytes:
    """The id as replies show it: `ms-seq`, both halves in decimal."""
    return b"%d-%d" % entry_id


def invalid_id() -> CommandError:
    """The error for a text that is no id."""
    return CommandError("ERR Invalid stream ID specified as stream command argument")


def parse_half(text: bytes) -> int | None:
    """One half of an id, 0..UINT64_MAX, or None when the text is no unsigned 64-bit number.

    A text that only strtoull accepts may carry a minus sign; the number then wraps modulo 2**64, as in C.
    """
    number = parse_integer(text)
    if number is not None:
        return number if number >= 0 else None
    match = _LOOSE.fullmatch(text)
    if match is None:
        return None
    number = int(match[2])
    if number > UINT64_MAX:
        return None
    return -number & UINT64_MAX if match[1] == b"-" else number


def parse_id(text: bytes, missing_seq: int = 0) -> StreamId | None:
    """The id that a text spells, or None when it spells none. `-` and `+` are no ids here.

    `missing_seq` is the sequence of a text that has none (`ms` alone).
    """
    if len(text) > _LONGEST_TEXT:
        return None
    ms_text, dash, seq_text = text.partition(b"\0")[0].partition(b"-")
    ms = parse_half(ms_text)
    seq = parse_half(seq_text) if dash else missing_seq
    return None if ms is None or seq is None else (ms, seq)


def strict_id(text: bytes, missing_seq: int = 0) -> StreamId:
    """As `parse_id`, but raises CommandError for a text that is no id."""
    entry_id = parse_id(text, missing_seq)
    if entry_id is None:
        raise invalid_id()
    return entry_id


def loose_id(text: bytes, missing_seq: int = 0) -> StreamId:
    """As `strict_id`, but `-` means the least id, 0-0, and `+` the greatest."""
    if text == b"-":
        return FIRST_ID
    if text == b"+":
        return LAST_ID
    return strict_id(text, missing_seq)


def range_start(text: bytes) -> StreamId:
    """The first id of an interval, inclusive. `(id` excludes that id, so it means the next one.

    Raises CommandError for a text that is no id, and for `(` before the greatest id, which no id follows.
    """
    if len(text) < 2 or text[:1] != b"(":
        return loose_id(text, 0)
    entry_id = next_id(strict_id(text[1:]))
    if entry_id is None:
        raise CommandError("ERR invalid start ID for the interval")
    return entry_id


def range_end(text: bytes) -> StreamId:
    """The last id of an interval, inclusive. `(id` excludes that id, so it means the one before it.

    A text without a sequence means the greatest sequence of that ms. Raises CommandError for a text that is no id, and
    for `(0-0`, which no id precedes.
    """
    if len(text) < 2 or text[:1] != b"(":
        return loose_id(text, UINT64_MAX)
    entry_id = previous_id(strict_id(text[1:], UINT64_MAX))
    if entry_id is None:
        raise CommandError("ERR invalid end ID for the interval")
    return entry_id


def next_id(entry_id: StreamId) -> StreamId | None:
    """The least id above `entry_id`, or None when `entry_id` is the greatest of all."""
    ms, seq = entry_id
    if seq < UINT64_MAX:
        return ms, seq + 1
    return (ms + 1, 0) if ms < UINT64_MAX else None


def previous_id(entry_id: StreamId) -> StreamId | None:
    """The greatest id below `entry_id`, or None when `entry_id` is 0-0."""
    ms, seq = entry_id
    if seq > 0:
        return ms, seq - 1
    return (ms - 1, UINT64_MAX) if ms > 0 else None
