"""Rows handed out to Spark's tasks, a partition each, and schemas as Spark has them.

    found = handed(spark, [rows_of_one_task, rows_of_another]).mapInArrow(work, struct(OUT))

Nothing is shuffled for it, and no schema is parsed from words: either costs Java more than most tasks here do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def handed(spark: SparkSession, parts: Sequence[Any]) -> DataFrame:
    """Arrow tables of one schema, none empty, as a DataFrame: each a partition, or several where it has more rows than
    Spark's batches. A session that keeps small tables in its plans (session.py) deals the rows out as it likes."""
    return spark.createDataFrame(pa.concat_tables(parts))


def struct(schema: Any) -> StructType:
    """An Arrow schema as Spark's."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
