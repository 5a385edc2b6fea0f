"""A token is an offset and the digits of its history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.changes.history_digits import digits_of, split_token, token_at
from pyrepl.changes.tokens import MAX_ID, MAX_TOKEN, parse_token

REPLID = "8371445ee67f9ab1c2d3e4f5061728394a5b6c7d"


def test_the_digits_stay_the_same_for_ever() -> None:
    """Nodes of different versions must agree, and subscribers keep tokens for long."""
    assert digits_of(REPLID) == digits_of(REPLID.upper()) == "12480"
    assert token_at(5174, "00382") == 517400382
    assert split_token(517400382) == (5174, "00382")


@given(st.integers(0, MAX_ID), st.text("0123456789abcdef", min_size=40, max_size=40))
def test_there_and_back(offset: int, replid: str) -> None:
    digits = digits_of(replid)
    token = token_at(offset, digits)
    assert split_token(token) == (offset, digits)
    assert parse_token(str(token)) == token <= MAX_TOKEN


@given(st.integers(0, 10**15), st.integers(0, 99_999), st.integers(0, 99_999))
def test_tokens_ascend_with_offsets_whatever_the_history(offset: int, one: int, other: int) -> None:
    assert token_at(offset, f"{one:05d}") < token_at(offset + 1, f"{other:05d}")


def test_different_histories_have_different_digits() -> None:
    found = [digits_of(f"{number:040x}") for number in range(2000)]
    assert len(set(found)) > 1950
