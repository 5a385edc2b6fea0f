"""The tables as Spark schemas, and how they are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pyrepl.metrics.column import Kind, Table
from pyrepl.metrics.manifest import Manifest

_PATTERN: Final = re.compile(r"[][{}*?\\]")
"""What Hadoop gives a meaning in a path, unless it stands behind a backslash."""


def spark_type(kind: Kind) -> DataType:
    """Spark's type of a column."""
    types: dict[Kind, DataType] = {
        Kind.TEXT: StringType(),
        Kind.COUNT: LongType(),
        Kind.NUMBER: DoubleType(),
        Kind.FLAG: BooleanType(),
    }
    return types[kind]


def schema(table: Table) -> StructType:
    """The Spark schema of a table, all columns nullable."""
    return StructType([StructField(column.name, spark_type(column.kind), True) for column in table.columns])


def stored(spark: SparkSession, tables: Path, manifest: Manifest, table: Table) -> DataFrame:
    """A canonical table as read so far; empty when no part of it is."""
    # Brackets in a folder's name are no pattern here.
    parts = [_PATTERN.sub(r"\\\g<0>", str(tables / part)) for part in manifest.parts(table.name)]
    if not parts:
        return spark.createDataFrame([], schema(table))
    reader = spark.read.schema(schema(table)).option("basePath", str(tables / table.name))
    return reader.parquet(*parts).select(*table.names)


def conform(rows: DataFrame, table: Table) -> DataFrame:
    """Rows in the shape of a table: its columns, in its order, in its types."""
    return rows.select(
        *[rows[column.name].cast(spark_type(column.kind)).alias(column.name) for column in table.columns]
    )
