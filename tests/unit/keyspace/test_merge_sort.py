"""Entries in order, those that are equal as they came, whatever their number is to the length of a run."""

from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st

from pyrepl.keyspace.merge_sort import RUN, Entry, in_order

numbers = st.floats(allow_nan=False) | st.integers(0, 5).map(float)


def entries(of: list[float]) -> list[Entry]:
    return [(number, float(at), b"%d" % at) for at, number in enumerate(of)]


@given(st.lists(numbers, max_size=5 * RUN), st.booleans())
@example([], False)
@example([1.0] * (2 * RUN + 1), True)
@example([float(-at) for at in range(RUN)], False)
@example([float(-at) for at in range(4 * RUN + 1)], False)
@example([float(at % 3) for at in range(3 * RUN)], True)
def test_they_are_in_order(of: list[float], descending: bool) -> None:
    given_entries = entries(of)
    assert in_order(given_entries, descending) == sorted(given_entries, key=lambda entry: entry[0], reverse=descending)
    assert given_entries == entries(of)


@given(st.lists(numbers | st.just(math.nan), max_size=3 * RUN), st.booleans())
def test_none_is_lost_where_some_cannot_be_compared(of: list[float], descending: bool) -> None:
    found = in_order(entries(of), descending)
    assert sorted(member for _, _, member in found) == sorted(member for _, _, member in entries(of))
