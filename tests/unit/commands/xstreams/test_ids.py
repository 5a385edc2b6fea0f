"""How stream ids are spelt: the corners of Redis's grammar, each checked against 7.0."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.commands.xstreams.ids import (
    LAST_ID,
    UINT64_MAX,
    id_text,
    loose_id,
    next_id,
    parse_id,
    previous_id,
    range_end,
    range_start,
    strict_id,
)
from pyrepl.errors import CommandError
from pyrepl.rdb.values import StreamId

halves = st.one_of(st.integers(0, 3), st.integers(UINT64_MAX - 3, UINT64_MAX), st.integers(0, UINT64_MAX))
ids = st.tuples(halves, halves)


@pytest.mark.parametrize(
    ("text", "entry_id"),
    [
        (b"1-2", (1, 2)),
        (b"1", (1, 9)),
        (b"0", (0, 9)),
        (b"007-01", (7, 1)),
        (b" 7-\t1", (7, 1)),
        (b"+7-+1", (7, 1)),
        (b"18446744073709551615-18446744073709551615", LAST_ID),
        (b"1--01", (1, UINT64_MAX)),
        (b"5\x00-x", (5, 9)),
        (b"-1", None),
        (b"1-", None),
        (b"1--1", None),
        (b"1-2-3", None),
        (b"", None),
        (b"-", None),
        (b"+", None),
        (b"x", None),
        (b"1-*", None),
        (b"18446744073709551616-0", None),
        (b"1" + b"0" * 127, None),
        (b"0" * 126 + b"1", (1, 9)),
    ],
)
def test_spelling(text: bytes, entry_id: StreamId | None) -> None:
    assert parse_id(text, 9) == entry_id


def test_what_is_no_id() -> None:
    with pytest.raises(CommandError, match=r"^ERR Invalid stream ID specified as stream command argument$"):
        strict_id(b"-")
    assert loose_id(b"-") == (0, 0)
    assert loose_id(b"+") == LAST_ID


def test_bounds() -> None:
    assert (range_start(b"-"), range_end(b"+")) == ((0, 0), LAST_ID)
    assert (range_start(b"5"), range_end(b"5")) == ((5, 0), (5, UINT64_MAX))
    assert (range_start(b"(5-3"), range_end(b"(5-3")) == ((5, 4), (5, 2))
    assert (range_start(b"(5"), range_end(b"(5")) == ((5, 1), (5, UINT64_MAX - 1))


@pytest.mark.parametrize("text", [b"(", b"(-", b"(+", b"(x"])
def test_bounds_that_are_none(text: bytes) -> None:
    for bound in (range_start, range_end):
        with pytest.raises(CommandError, match=r"^ERR Invalid stream ID"):
            bound(text)


def test_nothing_lies_beyond_the_ends() -> None:
    with pytest.raises(CommandError, match=r"^ERR invalid start ID for the interval$"):
        range_start(b"(18446744073709551615-18446744073709551615")
    with pytest.raises(CommandError, match=r"^ERR invalid end ID for the interval$"):
        range_end(b"(0-0")


@given(ids)
def test_text_and_neighbours(entry_id: StreamId) -> None:
    assert strict_id(id_text(entry_id)) == entry_id
    following, previous = next_id(entry_id), previous_id(entry_id)
    assert (following is None) == (entry_id == LAST_ID)
    assert (previous is None) == (entry_id == (0, 0))
    if following is not None:
        assert following > entry_id and previous_id(following) == entry_id
    if previous is not None:
        assert previous < entry_id and next_id(previous) == entry_id
