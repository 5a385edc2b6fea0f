"""The tables as Polars schemas, and frames in their shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl

from pyrepl.metrics.column import Kind, Table

_TYPES: Final[dict[Kind, type[pl.DataType]]] = {
    Kind.TEXT: pl.String,
    Kind.COUNT: pl.Int64,
    Kind.NUMBER: pl.Float64,
    Kind.FLAG: pl.Boolean,
}
_DAY_US: Final = 86_400_000_000


def schema(table: Table) -> pl.Schema:
    """The schema of a table."""
    return pl.Schema({column.name: _TYPES[column.kind]() for column in table.columns})


def conform(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Rows in the shape of a table: its columns, in its order, in its types. Fractions become whole numbers by what
    is before the point."""
    return rows.select(pl.col(column.name).cast(_TYPES[column.kind]) for column in table.columns)


def literal(table: Table, rows: Iterable[Sequence[object]]) -> pl.DataFrame:
    """Rows that Python has, in the order of the columns."""
    return pl.DataFrame(list(rows), schema=schema(table), orient="row")


def day(at_us: pl.Expr) -> pl.Expr:
    """The UTC day of a Unix time in microseconds, as 2026-01-31."""
    return (at_us // _DAY_US).cast(pl.Int32).cast(pl.Date).cast(pl.String)
