"""Intermediate results that several questions share, computed once; and questions that do not wait for each other.

Spark plans anew whatever it is asked, from the files on, so a long plan costs more than its few rows. What is small is
therefore kept as plain values of the plan itself: the planner sees how few they are, and drops joins with nothing.
Large results are kept by Spark (localCheckpoint) where they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

AT_ONCE: Final = 4
"""Questions that are planned at the same time: while one plans, another computes."""


def kept(rows: DataFrame) -> DataFrame:
    """Computed now and held by the driver; for results of a row per node, pair or span, not per sync."""
    return rows.sparkSession.createDataFrame(rows.toArrow(), rows.schema)


def literal(spark: SparkSession, rows: Iterable[Sequence[object]], schema: StructType) -> DataFrame:
    """Rows that Python has, in the order of the columns, as a part of the plan; none makes what is joined vanish."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.names)
    types = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
    arrays = [
        pa.array(column, types[field.dataType.simpleString()])
        for column, field in zip(columns, schema.fields, strict=True)
    ]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema.names), schema)


def at_once(*questions: Callable[[], Any]) -> list[Any]:
    """The answers, in the order of the questions. Raises what the first that failed raised."""
    with ThreadPoolExecutor(AT_ONCE, "metrics") as pool:
        return [one.result() for one in [pool.submit(question) for question in questions]]
