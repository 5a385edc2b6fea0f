"""Percentiles of values that were counted: exact, and linearly interpolated between neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl


def percentiles(counted: pl.DataFrame, by: Sequence[str], marks: Mapping[str, float]) -> pl.DataFrame:
    """Of rows `value` and `times`, for each group: by the columns' names marks between 0 and 1, both inclusive. A group
    without any value is not there."""
    known = counted.filter(pl.col("value").is_not_null()).sort("value")
    return known.group_by(by).agg(_at(mark).alias(name) for name, mark in marks.items())


def _at(mark: float) -> pl.Expr:
    """The value at a place counted from 0, which may lie between two. Values rise."""
    value, times = pl.col("value"), pl.col("times")
    place = mark * (times.sum() - 1)
    low = place.floor()
    high = pl.min_horizontal(low + 1, times.sum() - 1)
    below, above = (value.filter(times.cum_sum() > one).first() for one in (low, high))
    between = (1 - (place - low)) * below + (place - low) * above
    return pl.when(below == above).then(below).otherwise(between)
