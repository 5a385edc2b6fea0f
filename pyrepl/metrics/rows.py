"""Rows of the canonical tables, read back from their files: plain Arrow and Polars, for a task."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pyrepl.metrics.arrow import schema
from pyrepl.metrics.column import Table


def read_rows(tables: Path, table: Table, node: str, paths: Iterable[str]) -> pl.DataFrame:
    """Rows of a canonical table; node and day stand in the path alone. Raises OSError, ArrowInvalid."""
    parts = []
    for path in paths:
        part = pq.ParquetFile(tables / path).read()
        day = path.split("/")[1].removeprefix("day=")
        part = part.append_column("node", pa.repeat(node, len(part))).append_column("day", pa.repeat(day, len(part)))
        parts.append(part.select(table.names))
    whole = pa.concat_tables(parts) if parts else schema(table).empty_table()
    return pl.from_arrow(whole.cast(schema(table)))  # type: ignore[return-value]
