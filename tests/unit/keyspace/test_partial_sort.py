"""The first in order: the right ones, whatever is equal. The order among equals is compared in tests/property."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.keyspace.merge_sort import Entry
from pyrepl.keyspace.partial_sort import first_in_order

numbers = st.lists(st.integers(0, 8) | st.integers(0, 1000), max_size=120)


def entries(of: list[int]) -> list[Entry]:
    return [(float(number), float(at), b"%d" % at) for at, number in enumerate(of)]


@given(numbers, st.integers(1, 130), st.booleans())
def test_the_first_are_found(of: list[int], count: int, descending: bool) -> None:
    given_entries = entries(of)
    found = first_in_order(list(given_entries), count, descending)
    assert [entry[0] for entry in found] == sorted(map(float, of), reverse=descending)[:count]
    assert len(set(found)) == len(found) and set(found) <= set(given_entries)


@given(numbers)
def test_equals_keep_their_order_when_all_are_asked_for(of: list[int]) -> None:
    assert first_in_order(entries(of), len(of), False) == sorted(entries(of), key=lambda entry: entry[0])


def test_few_equals_keep_their_order() -> None:
    """Fewer than seven are sorted by insertion."""
    assert [name for _, _, name in first_in_order(entries([2, 1, 2, 1, 1]), 3, False)] == [b"1", b"3", b"4"]
    assert [name for _, _, name in first_in_order(entries([2, 1, 2, 1, 1]), 3, True)] == [b"0", b"2", b"1"]
