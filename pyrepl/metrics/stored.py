"""Rows of Parquet files as a DataFrame, however many files: tasks read them, a share of the files each.

Spark itself would look at each file in a task of its own before it reads any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_FILES: Final = 256
"""Files that a task opens."""
_FILES: Final = pa.schema([pa.field("task", pa.int32(), nullable=False), pa.field("path", pa.string(), nullable=False)])


def stored(spark: SparkSession, files: Sequence[Path], columns: Mapping[str, str]) -> DataFrame:
    """These columns of all files, with their types in SQL."""
    count = len(files) // MOST_FILES + 1
    rows = [{"task": number % count, "path": str(path)} for number, path in enumerate(files)]
    shares = spark.createDataFrame(pa.Table.from_pylist(rows, _FILES)).repartitionById(count, "task")
    shape = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
    return shares.mapInArrow(partial(read_batches, columns=list(columns)), shape)


def read_batches(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of files in, of their rows out."""
    for batch in batches:
        for path in batch["path"].to_pylist():
            for rows in pq.ParquetFile(path).iter_batches(columns=list(columns)):
                yield rows.select(list(columns))
