"""Since when the newest rows are, from a few times of each share."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.metrics.newest import since, steps

TIMES = st.lists(st.integers(0, 300), max_size=40)


def test_the_first_the_second_the_fourth() -> None:
    assert steps(pl.Series([5, None, 1, 3, 2, 4], dtype=pl.Int64)) == [5, 4, 2]
    assert steps(pl.Series([7], dtype=pl.Int64)) == [7]
    assert steps(pl.Series([], dtype=pl.Int64)) == []


@given(st.lists(TIMES, max_size=12), st.integers(1, 60))
def test_as_many_as_are_wanted_and_not_many_more(shares: list[list[int]], wanted: int) -> None:
    every = sorted((at for share in shares for at in share), reverse=True)
    begin = since([steps(pl.Series(share, dtype=pl.Int64)) for share in shares], wanted)
    if begin is None:
        assert len(every) < 2 * wanted
        return
    found = [at for at in every if at >= begin]
    assert len(found) >= wanted
    assert sum(at > begin for at in found) < 2 * wanted + len(shares)
