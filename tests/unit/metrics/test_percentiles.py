"""Percentiles of counted values are those of the values themselves."""

from __future__ import annotations

import numpy
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics.percentiles import percentiles

MARKS = {"least": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "most": 1.0}
SHAPE = {"of": pl.String, "value": pl.Float64, "times": pl.Int64}


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(-50, 50), min_size=1), min_size=1))
def test_as_of_the_values_themselves(groups: dict[str, list[int]]) -> None:
    rows = [(name, float(one)) for name, values in groups.items() for one in values]
    counted = pl.DataFrame(rows, ["of", "value"], orient="row").group_by("of", "value").agg(times=pl.len())
    found = {row[0]: row[1:] for row in percentiles(counted, ["of"], MARKS).iter_rows()}
    assert found.keys() == groups.keys()
    for name, values in groups.items():
        assert found[name] == pytest.approx([float(numpy.quantile(values, mark)) for mark in MARKS.values()])


def test_what_is_not_known_does_not_count() -> None:
    counted = pl.DataFrame([("a", None, 7), ("a", 3.0, 1), ("b", None, 7), (None, 4.0, 2)], SHAPE, orient="row")
    found = percentiles(counted, ["of"], {"p50": 0.5}).sort("p50")
    assert found.rows() == [("a", 3.0), (None, 4.0)]


def test_of_nothing() -> None:
    assert percentiles(pl.DataFrame(schema=SHAPE), ["of"], MARKS).is_empty()
