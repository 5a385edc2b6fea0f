"""Rows of Parquet files as a DataFrame, however many files: tasks read them, a share of the files each.

Spark itself would look at each file in a task of its own before it reads any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyrepl.metrics.handing import handed, struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_FILES: Final = 256
"""Files that a task opens."""
_FILES: Final = pa.schema([pa.field("path", pa.string(), nullable=False), ("nodes", pa.list_(pa.string()))])


def stored(
    spark: SparkSession, files: Sequence[Path], columns: Any, whose: Mapping[Path, Collection[str]] | None = None
) -> DataFrame:
    """These columns of all files, at least one, by their Arrow schema. `whose` are the nodes whose rows count, by file,
    where `node` is one of the columns; None: all rows do."""
    rows = [{"path": str(path), "nodes": None if whose is None else sorted(whose[path])} for path in files]
    count = len(files) // MOST_FILES + 1
    shares = [pa.Table.from_pylist(rows[one::count], _FILES) for one in range(count)]
    return handed(spark, shares).mapInArrow(partial(read_batches, columns=columns.names), struct(columns))


def read_batches(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of files in, of their rows out."""
    for batch in batches:
        for path, nodes in zip(batch["path"].to_pylist(), batch["nodes"].to_pylist(), strict=True):
            for rows in pq.ParquetFile(path).iter_batches(columns=list(columns)):
                those = rows if nodes is None else rows.filter(pc.is_in(rows["node"], pa.array(nodes, pa.string())))
                yield those.select(list(columns))
