"""Choices without repetition: distinct, in range, and all equally likely."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.keyspace.sampling import distinct_positions


@settings(max_examples=100)
@given(st.integers(0, 60), st.integers(1, 50), st.integers())
def test_positions_are_distinct_and_in_range(count: int, size: int, seed: int) -> None:
    chosen = distinct_positions(count, size, Random(seed).randrange)
    assert len(chosen) == len(set(chosen)) == min(count, size)
    assert all(0 <= position < size for position in chosen)


@pytest.mark.parametrize(("count", "size"), [(2, 4), (2, 7)])
def test_every_choice_is_equally_likely(count: int, size: int) -> None:
    below = Random(7).randrange
    draws = 400
    ways = list(permutations(range(size), count))
    seen = Counter(tuple(distinct_positions(count, size, below)) for _ in range(draws * len(ways)))
    assert set(seen) == set(ways)
    assert all(abs(times - draws) < draws * 0.25 for times in seen.values())


def test_few_of_many_costs_few_draws() -> None:
    draws: list[int] = []

    def below(n: int) -> int:
        draws.append(n)
        return len(draws)

    assert len(distinct_positions(10, 1_000_000, below)) == 10
    assert len(draws) == 10
