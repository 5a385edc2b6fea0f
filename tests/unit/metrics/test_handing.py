"""Rows for tasks, a partition each; schemas as Spark has them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from pyrepl.metrics.handing import handed, struct


class Noting:
    """A session that keeps what it was given."""

    def createDataFrame(self, rows: Any) -> Any:
        return rows


def test_each_part_is_a_batch_of_its_own() -> None:
    spark: Any = Noting()
    parts = [pa.table({"a": list(range(count))}) for count in (1, 3, 2)]
    found: Any = handed(spark, parts)
    assert [len(batch) for batch in found.to_batches()] == [1, 3, 2]


def test_a_schema_is_that_of_spark() -> None:
    shape = pa.schema([("a", pa.string()), ("b", pa.list_(pa.int64()))])
    assert struct(shape) == StructType([StructField("a", StringType()), StructField("b", ArrayType(LongType()))])
