"""Ends of ranges: spellings, and positions against a plain search."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.commands.zsets.bounds import lex_range, rank_range, score_range
from pyrepl.errors import CommandError
from pyrepl.keyspace.values import ZsetValue

SCORES = st.sampled_from([-math.inf, -1.5, 0.0, 1.0, 1.0000000000000002, 2.0, math.inf])
MEMBERS = st.sampled_from([b"", b"a", b"ab", b"b", b"b\x00", b"c"])


@settings(max_examples=150)
@given(st.dictionaries(MEMBERS, SCORES, min_size=1), SCORES, st.booleans(), SCORES, st.booleans())
def test_ranges_of_scores(scores: dict[bytes, float], low: float, no_low: bool, high: float, no_high: bool) -> None:
    asked = score_range(b"(" * no_low + repr(low).encode(), b"(" * no_high + repr(high).encode())
    start, end = asked.positions(ZsetValue(dict(scores)), False)
    ranked = sorted((score, member) for member, score in scores.items())
    wanted = [
        (score, member)
        for score, member in ranked
        if (score > low if no_low else score >= low) and (score < high if no_high else score <= high)
    ]
    assert ranked[start : max(start, end)] == wanted


@settings(max_examples=150)
@given(st.sets(MEMBERS, min_size=1), MEMBERS, st.sampled_from("[(-+"), MEMBERS, st.sampled_from("[(-+"))
def test_ranges_of_members(members: set[bytes], low: bytes, low_mark: str, high: bytes, high_mark: str) -> None:
    def spelled(mark: str, member: bytes) -> bytes:
        return mark.encode() if mark in "-+" else mark.encode() + member

    def above(member: bytes) -> bool:
        return {"-": True, "+": False, "[": member >= low, "(": member > low}[low_mark]

    def below(member: bytes) -> bool:
        return {"-": False, "+": True, "[": member <= high, "(": member < high}[high_mark]

    value = ZsetValue(dict.fromkeys(members, 1.5))
    start, end = lex_range(spelled(low_mark, low), spelled(high_mark, high)).positions(value, False)
    ranked = sorted(members)
    assert ranked[start : max(start, end)] == [member for member in ranked if above(member) and below(member)]


@settings(max_examples=150)
@given(st.integers(1, 5), st.integers(-7, 7), st.integers(-7, 7), st.booleans())
def test_ranges_of_ranks(size: int, first: int, last: int, reverse: bool) -> None:
    value = ZsetValue({b"%d" % i: float(i) for i in range(size)})
    start, end = rank_range(b"%d" % first, b"%d" % last).positions(value, reverse)
    order = list(range(size))
    if reverse:
        order.reverse()
    first_place = max(first + size, 0) if first < 0 else first
    last_place = last + size if last < 0 else last
    wanted = sorted(order[first_place : last_place + 1]) if first_place <= last_place else []
    assert list(range(start, end)) == wanted


@pytest.mark.parametrize(
    ("text", "score"),
    [(b"", 0.0), (b"  1.5", 1.5), (b"1e400", math.inf), (b"-1e400", -math.inf), (b"1e-400", 0.0), (b"0x10", 16.0)],
)
def test_scores_are_read_as_strtod_reads_them(text: bytes, score: float) -> None:
    assert score_range(text, b"+inf").low == score
    asked = score_range(b"(" + text, b"+inf")
    assert asked.low == score
    assert asked.low_exclusive


@pytest.mark.parametrize("text", [b"x", b" ", b"1 ", b"1_0", b"nan", b"((1", b"[1", b"0xg"])
def test_bad_scores_are_refused(text: bytes) -> None:
    for ends in ((text, b"1"), (b"1", text)):
        with pytest.raises(CommandError, match="ERR min or max is not a float"):
            score_range(*ends)


@pytest.mark.parametrize("text", [b"", b"a", b"--", b"-inf", b"+a"])
def test_bad_members_are_refused(text: bytes) -> None:
    for ends in ((text, b"+"), (b"-", text)):
        with pytest.raises(CommandError, match="ERR min or max not valid string range item"):
            lex_range(*ends)


def test_bad_ranks_are_refused() -> None:
    with pytest.raises(CommandError, match="ERR value is not an integer or out of range"):
        rank_range(b"0", b"1.5")


@pytest.mark.parametrize(
    ("low", "high", "ascending", "descending"),
    [
        (b"-", b"+", "gabd", "dbag"),
        (b"[a", b"[b", "", ""),
        (b"(b", b"+", "gabd", "d"),
        (b"-", b"(g", "", ""),
        (b"[b", b"[g", "gabd", "db"),
        (b"(d", b"+", "", ""),
        (b"+", b"-", "", ""),
        (b"-", b"-", "", ""),
    ],
)
def test_members_of_unequal_scores_are_gone_through_by_rank(
    low: bytes, high: bytes, ascending: str, descending: str
) -> None:
    """g (0), a (1), b (1), d (2), as Redis 8.2 answers ZRANGEBYLEX and ZREVRANGEBYLEX."""
    ranked = "gabd"
    value = ZsetValue({b"g": 0.0, b"a": 1.0, b"b": 1.0, b"d": 2.0})
    for reverse, wanted in ((False, ascending), (True, descending)):
        start, end = lex_range(low, high).positions(value, reverse)
        found = ranked[start : max(start, end)]
        assert (found[::-1] if reverse else found) == wanted
