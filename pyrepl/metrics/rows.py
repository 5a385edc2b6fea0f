"""Rows of the canonical tables, read back from their files: plain Arrow and Polars, for a task."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pyrepl.metrics.arrow import schema
from pyrepl.metrics.column import Table

OF_ONE: Final = 3
"""Slashes in the path of a file with rows of one node, table/day=.../node=.../part: fewer have rows of several."""


@final
class Rows:
    """What is below a folder of tables. A file with rows of several nodes is read once, and held."""

    def __init__(self, tables: Path) -> None:
        self._tables = tables
        self._held: dict[str, dict[Any, pl.DataFrame]] = {}

    def of(self, table: Table, node: str, paths: Iterable[str]) -> pl.DataFrame:
        """Rows of a canonical table; the day stands in the path alone, and the node where the file has no other's.
        Raises OSError, ArrowInvalid."""
        parts = [self._part(table, node, path) for path in paths]
        if len(parts) == 1:
            return parts[0]
        return pl.concat(parts) if parts else _empty(table)

    def _part(self, table: Table, node: str, path: str) -> pl.DataFrame:
        if path.count("/") == OF_ONE:
            part = self._read(path)
            return _frame(table, part.append_column("node", pa.repeat(node, len(part))))
        if path not in self._held:
            self._held[path] = _frame(table, self._read(path)).partition_by("node", as_dict=True)
        found = self._held[path].get((node,))
        return _empty(table) if found is None else found

    def _read(self, path: str) -> Any:
        part = pq.ParquetFile(self._tables / path).read()
        return part.append_column("day", pa.repeat(path.split("/")[1].removeprefix("day="), len(part)))


def _frame(table: Table, rows: Any) -> pl.DataFrame:
    return pl.from_arrow(rows.select(table.names).cast(schema(table)))  # type: ignore[return-value]


def _empty(table: Table) -> pl.DataFrame:
    return _frame(table, schema(table).empty_table())
