"""Rows of Parquet files as a DataFrame, however many files: tasks read them, a share of the files each.

Spark itself would look at each file in a task of its own before it reads any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import pyarrow as pa

from pyrepl.metrics.handing import handed, struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_FILES: Final = 256
"""Files that a task opens."""
AT_ONCE: Final = 32
"""So many of them are read in one call of Polars, which takes a third of the time that Arrow takes for one by one."""
_FILES: Final = pa.schema([pa.field("path", pa.string(), nullable=False), ("nodes", pa.list_(pa.string()))])


def stored(
    spark: SparkSession, files: Sequence[Path], columns: Any, whose: Mapping[Path, Collection[str]] | None = None
) -> DataFrame:
    """These columns of all files, at least one, by their Arrow schema. `whose` are the nodes whose rows count, by file,
    where `node` is one of the columns; None: all rows do."""
    rows = [{"path": str(path), "nodes": None if whose is None else sorted(whose[path])} for path in files]
    count = len(files) // MOST_FILES + 1
    shares = [pa.Table.from_pylist(rows[one::count], _FILES) for one in range(count)]
    return handed(spark, shares).mapInArrow(partial(read_batches, columns=columns), struct(columns))


def read_batches(batches: Iterable[Any], columns: Any) -> Iterator[Any]:
    """For mapInArrow: RecordBatches of files in, of their rows out."""
    for batch in batches:
        files = pl.from_arrow(batch)
        assert isinstance(files, pl.DataFrame)
        for some in files.iter_slices(AT_ONCE):
            yield from _rows(some, columns.names).to_arrow().cast(columns).to_batches()


def _rows(files: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    paths = files["path"].to_list()
    found = pl.scan_parquet(
        paths, glob=False, hive_partitioning=False, include_file_paths="path", extra_columns="ignore"
    )
    if not files["nodes"].null_count():
        whose = files.lazy().explode("nodes")
        found = found.join(whose, left_on=("path", "node"), right_on=("path", "nodes"), how="semi")
    return found.select(columns).collect()
