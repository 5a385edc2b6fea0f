"""Ranges of a sorted set: the members that they mean, either way round, cut by offset and limit.

Positions of each kind of range against a plain search: `tests/unit/commands/zsets/test_bounds.py`, as they are spelled.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.keyspace.values import ZsetValue
from pyrepl.keyspace.zset_ranges import LexBound, LexRange, RankRange, ScoreRange, Span, Window

SPANS: list[tuple[Span, bytes]] = [
    (RankRange(0, -1), b"abcde"),
    (RankRange(-3, 3), b"cd"),
    (RankRange(3, 1), b""),
    (RankRange(7, 9), b""),
    (ScoreRange(1.0, False, 3.0, True), b"bc"),
    (ScoreRange(1.0, True, math.inf, False), b"cde"),
    (ScoreRange(3.0, False, 1.0, False), b""),
]


def five() -> ZsetValue:
    return ZsetValue({b"%c" % letter: float(at) for at, letter in enumerate(b"abcde")})


@pytest.mark.parametrize(("span", "members"), SPANS)
def test_a_range_means_members(span: Span, members: bytes) -> None:
    found = Window().entries(five(), span)
    assert found == [(float(letter - 97), b"%c" % letter) for letter in members]


def test_ranks_count_from_the_other_end_in_reverse_and_scores_do_not() -> None:
    assert [member for _, member in Window(True).entries(five(), RankRange(0, 1))] == [b"e", b"d"]
    scores = ScoreRange(0.0, False, 1.0, False)
    assert [member for _, member in Window(True).entries(five(), scores)] == [b"b", b"a"]


@settings(max_examples=150)
@given(st.booleans(), st.integers(-2, 7), st.integers(-2, 7), st.booleans())
def test_offset_and_limit_cut_in_the_direction_of_walk(reverse: bool, offset: int, limit: int, by_lex: bool) -> None:
    window = Window(reverse)
    window.offset, window.limit = offset, limit
    low, high = LexBound(0, b"b", False), LexBound(1, b"", True)
    span: Span = LexRange(low, high) if by_lex else ScoreRange(1.0, False, math.inf, False)
    value = ZsetValue(dict.fromkeys([b"a", b"b", b"c", b"d"], 0.0)) if by_lex else five()
    everything = [b"b", b"c", b"d"] if by_lex else [b"b", b"c", b"d", b"e"]
    if reverse:
        everything.reverse()
    wanted = [] if offset < 0 else everything[offset:]
    if limit >= 0:
        wanted = wanted[:limit]
    assert [member for _, member in window.entries(value, span)] == wanted
