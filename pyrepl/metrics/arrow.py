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


def shaped(table: Table, columns: dict[str, Any], rows: int) -> Any:
    """A RecordBatch of the table: the columns given, cast to its types, and nulls for all others."""
    wanted = schema(table)
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in wanted
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def days(at_us: Any) -> Any:
    """The UTC day of each Unix time in microseconds, as 2026-01-31."""
    bounds = pc.min_max(pc.divide(at_us, _DAY_US)).as_py()
    if bounds["min"] is not None and bounds["min"] == bounds["max"]:
        return pa.repeat(_named(pa.array([bounds["min"]], pa.int64()))[0], len(at_us))
    coded = pc.divide(at_us, _DAY_US).dictionary_encode()
    return _named(coded.dictionary).take(coded.indices)


def _named(days_since_1970: Any) -> Any:
    return named_days(days_since_1970.cast(pa.int32()).cast(pa.date32()))


def named_days(dates: Any) -> Any:
    """Each of Arrow's dates as 2026-01-31."""
    return pc.strftime(dates, format="%Y-%m-%d")
