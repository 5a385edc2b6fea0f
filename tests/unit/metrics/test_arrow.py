"""Tables as Arrow schemas."""

from __future__ import annotations

import pyarrow as pa

from pyrepl.metrics.arrow import days, schema, shaped
from pyrepl.metrics.column import Table, count, flag, number, text

TABLE = Table(
    "t", "one row per thing", (text("a", "r"), count("b", "bytes", "r"), number("c", "s", "r"), flag("d", "r"))
)


def test_schema_has_the_columns_in_order_and_type() -> None:
    assert str(schema(TABLE)).split("\n") == ["a: string", "b: int64", "c: double", "d: bool"]
    assert schema(TABLE, without=("b",)).names == ["a", "c", "d"]


def test_shaped_casts_and_fills_with_nulls() -> None:
    batch = shaped(TABLE, {"b": pa.array([1, 2], pa.int32()), "a": pa.array(["x", None])}, 2)
    assert batch.to_pylist() == [{"a": "x", "b": 1, "c": None, "d": None}, {"a": None, "b": 2, "c": None, "d": None}]


def test_days_are_of_utc() -> None:
    second = 1_000_000
    at_us = pa.array([0, 86_399 * second, 86_400 * second, 1_795_259_451_155_000, None], pa.int64())
    assert days(at_us).to_pylist() == ["1970-01-01", "1970-01-01", "1970-01-02", "2026-11-21", None]
