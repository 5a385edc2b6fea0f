"""The tables as Arrow schemas, and batches in their shape."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyrepl.metrics.column import Kind, Table

_DAY_US: Final = 86_400_000_000
_TYPES: Final = {
    Kind.TEXT: pa.string(),
    Kind.COUNT: pa.int64(),
    Kind.NUMBER: pa.float64(),
    Kind.FLAG: pa.bool_(),
}


@cache
def schema(table: Table, without: tuple[str, ...] = ()) -> Any:
    """The Arrow schema of a table, all columns nullable; `without` names columns to leave out."""
    return pa.schema([(column.name, _TYPES[column.kind]) for column in table.columns if column.name not in without])


@cache
def _columns(table: Table) -> list[tuple[str, Any, int]]:
    """Name and type of each, and the place of the first column of that type."""
    types = schema(table).types
    return [(name, kind, types.index(kind)) for name, kind in zip(table.names, types, strict=True)]


def shaped(table: Table, columns: dict[str, Any], rows: int) -> Any:
    """A RecordBatch of the table: the columns given, cast to its types, and nulls for all others."""
    # One array for all columns of a type: of a small range of a log most columns have nothing.
    nulls: dict[int, Any] = {}
    arrays = []
    for name, kind, first in _columns(table):
        found = columns.get(name)
        if found is None:
            if first not in nulls:
                nulls[first] = pa.nulls(rows, kind)
            found = nulls[first]
        elif found.type != kind:
            found = found.cast(kind)
        arrays.append(found)
    return pa.RecordBatch.from_arrays(arrays, schema=schema(table))


def days(at_us: Any) -> Any:
    """The UTC day of each Unix time in microseconds, as 2026-01-31."""
    bounds = pc.min_max(pc.divide(at_us, _DAY_US)).as_py()
    if bounds["min"] is not None and bounds["min"] == bounds["max"]:
        return pa.repeat(_named(pa.array([bounds["min"]], pa.int64()))[0], len(at_us))
    coded = pc.divide(at_us, _DAY_US).dictionary_encode()
    return _named(coded.dictionary).take(coded.indices)


def by_day(rows: Any) -> list[tuple[str, Any]]:
    """Each day that there is in the column `day`, and its rows: all of them as they are, if there is but one."""
    named = pc.unique(rows["day"]).to_pylist()
    if len(named) == 1:
        return [(named[0], rows)]
    return [(day, rows.filter(pc.equal(rows["day"], day))) for day in named]


def _named(days_since_1970: Any) -> Any:
    return named_days(days_since_1970.cast(pa.int32()).cast(pa.date32()))


def named_days(dates: Any) -> Any:
    """Each of Arrow's dates as 2026-01-31."""
    return pc.strftime(dates, format="%Y-%m-%d")
