"""Percentiles of counted values are those of the values themselves."""

from __future__ import annotations

import numpy
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics.percentiles import percentiles

MARKS = (0.0, 0.5, 0.9, 0.99, 1.0)


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1))
def test_as_of_the_values_themselves(values: list[int]) -> None:
    counted = pl.DataFrame({"value": [float(one) for one in values]}).group_by("value").agg(times=pl.len())
    assert percentiles(counted, MARKS) == pytest.approx([float(numpy.quantile(values, mark)) for mark in MARKS])


def test_what_is_not_known_does_not_count() -> None:
    assert percentiles(pl.DataFrame({"value": [None, 3.0], "times": [7, 1]}), (0.5,)) == [3.0]
    assert percentiles(
        pl.DataFrame({"value": [None], "times": [7]}, {"value": pl.Float64, "times": pl.Int64}), (0.5, 0.9)
    ) == [None, None]
