"""Percentiles of values that were counted: exact, and linearly interpolated between neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def percentiles(counted: pl.DataFrame, marks: Sequence[float]) -> list[float | None]:
    """Of rows `value` and `times`, for marks between 0 and 1, both inclusive; nulls where there is no value."""
    known = counted.filter(pl.col("value").is_not_null()).sort("value")
    if known.is_empty():
        return [None] * len(marks)
    up_to = known["times"].cum_sum()
    return [_at(known["value"], up_to, mark * (int(up_to[-1]) - 1)) for mark in marks]


def _at(values: pl.Series, up_to: pl.Series, place: float) -> float:
    """The value at a place counted from 0, which may lie between two."""
    low = int(place)
    high = min(low + 1, int(up_to[-1]) - 1)
    below, above = (values[int(up_to.search_sorted(one, side="right"))] for one in (low, high))
    return float(below if below == above else (1 - (place - low)) * below + (place - low) * above)
