"""Parses the two ends of a range in a sorted set. `keyspace.zset_ranges` applies a range, `ranges` has the commands.

The spellings are Redis's: ranks `0`, `-1`; scores `1.5`, `(1.5`, `-inf`; members `[a`, `(a`, `-`, `+`. A `(` excludes
the end; all other ends are inclusive.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.engine.arguments import integer_argument
from pyrepl.errors import CommandError
from pyrepl.keyspace.zset_ranges import LexBound, LexRange, RankRange, ScoreRange
from pyrepl.resp.doubles import parse_double

_BAD_SCORES: Final = "ERR min or max is not a float"
_BAD_MEMBERS: Final = "ERR min or max not valid string range item"
_SPACES: Final = b" \t\n\v\f\r"


def rank_range(first: bytes, last: bytes) -> RankRange:
    """The range between two ranks, both inclusive; negative ones count from the highest. Raises CommandError."""
    return RankRange(integer_argument(first), integer_argument(last))


def score_range(low: bytes, high: bytes) -> ScoreRange:
    """The range between two scores; a `(` before a score excludes it. Raises CommandError."""
    low_exclusive = low.startswith(b"(")
    high_exclusive = high.startswith(b"(")
    return ScoreRange(
        _score(low[1:] if low_exclusive else low),
        low_exclusive,
        _score(high[1:] if high_exclusive else high),
        high_exclusive,
    )


def _score(text: bytes) -> float:
    """The score that a text spells. Raises CommandError for NaN and for a text that is no number.

    Redis reads these scores by C's strtod, which accepts more than it accepts for other numbers: an empty text is 0,
    spaces may lead, and a number too great is infinity.
    """
    number = parse_double(text) if text else 0.0
    if number is None:
        number = _lenient(text.lstrip(_SPACES))
    return number


def _lenient(text: bytes) -> float:
    """A number as Python reads it, without what only Python accepts: `_` between digits, spaces at the end."""
    if not text or b"_" in text or text[-1:] in _SPACES:
        raise CommandError(_BAD_SCORES)
    try:
        number = float(text)
    except ValueError:
        raise CommandError(_BAD_SCORES) from None
    if number != number:
        raise CommandError(_BAD_SCORES)
    return number


def lex_range(low: bytes, high: bytes) -> LexRange:
    """The range between two members in byte order: `[a` includes a, `(a` excludes it.

    `-` is before all members, `+` after all. Raises CommandError.
    """
    return LexRange(_lex_bound(low), _lex_bound(high))


def _lex_bound(text: bytes) -> LexBound:
    mark = text[:1]
    if mark == b"[" or mark == b"(":
        return LexBound(0, text[1:], mark == b"(")
    if text == b"-" or text == b"+":
        return LexBound(-1 if text == b"-" else 1, b"", True)
    raise CommandError(_BAD_MEMBERS)
