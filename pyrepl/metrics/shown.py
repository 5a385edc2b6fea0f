"""What a report shows of the result tables: so many rows of each as a driver and a reader can hold, by one query.

    rows, cut = shown(spark, MOST_ROWS)

Spark picks the rows (`FIRST`) and hands over those alone, as JSON: tables of any shape come back from one job, as each
job costs a tenth of a second and more. Tables of few rows are taken as they are, without Spark: to plan for each of
them costs more than to read it. Both are what jobs.py has made. They stay columns here (columns.py): as values of
Python the rows of a fleet would be most of what the driver holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyrepl.metrics.arrow import schema
from pyrepl.metrics.column import Table, types
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.columns import PIECE, Columns
from pyrepl.metrics.tables import UNPARSED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_ROWS: Final = 10_000
"""Rows of a table that are shown; Parquet has all."""
MOST_UNPARSED: Final = 200

ORDER: Final[Mapping[str, str]] = {
    "totals": "syncs",
    "costs": "out_s desc, node",
    "syncs": "at_us, sync",
    "modes": "mode",
    "full_causes": "count desc, cause",
    "loops": "count desc, node, replica",
    "retries": "count desc, node, replica, reason",
    "cuts": "at_us, node, replica",
    "cut_causes": "cause",
    "availability": "availability, node, replica",
    "write_rate": "node",
    "forks": "at_us, node",
    "skew": "node",
    "nodes": "node",
    "backlog_what_if": "node, backlog_size",
    "buffer_what_if": "node, limit_bytes",
    "delay_what_if": "node, delay_s",
    "fleet_what_if": "setting, value",
    "storms": "node, at_us",
    "advice": "running_s desc, cost_s desc, severity, kind, node, replica, share",
    "series": "node, replica, at_us",
    "files": "file",
    "unparsed": "file, position",
}
"""In which order a table is shown, as SQL; null is less than any value, as Spark has it."""
FIRST: Final[Mapping[str, str]] = {
    "syncs": "at_us desc, sync desc",
    "cuts": "at_us desc, node desc, replica desc",
    "forks": "at_us desc, node desc",
    "storms": "at_us desc, node desc",
    "nodes": "last_us desc, node",
    "write_rate": "bytes_per_s_mean desc, node",
    "backlog_what_if": "avoidable desc, node, backlog_size",
    "buffer_what_if": "avoidable desc, node, limit_bytes",
    "delay_what_if": "forks desc, node, delay_s",
    "files": "unknown desc, unparsed desc, file",
    "unparsed": "turn, file",
}
"""Which rows are shown where there are too many: the newest of happenings, else those that matter most; of tables that
are not here the first ones in their order."""
OF: Final[Mapping[str, str]] = {
    "unparsed": "(select *, row_number() over (partition by file order by position) as turn from unparsed) as turns",
}
"""What FIRST picks from where that asks for more than the table: of lines that were not understood some of each file,
so that one damaged file does not hide the others."""


_PLACE: Final = pa.field("place of the row", pa.int64())
FEW: Final = ("totals", "modes", "full_causes", "cut_causes", "fleet_what_if")
"""Tables that have a row for each kind of something."""


def shown(
    spark: SparkSession,
    sizes: Mapping[str, int],
    most: int = MOST_ROWS,
    few: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
) -> tuple[dict[str, Columns], frozenset[str]]:
    """Rows by table, in their order, at most `most` of each; and the names of the tables that have more.

    `sizes` are rows of tables, of those where that is known: an empty one is not asked for, and of one that is small
    all is taken. `few` gives all rows of tables, or at least those that are shown, as tables of Arrow's.
    """
    bounds = {table.name: min(most, MOST_UNPARSED) if table is UNPARSED else most for table in TABLES}
    wanted = [table for table in TABLES if sizes.get(table.name) != 0 and table.name not in few]
    picks = [_picked(table, bounds[table.name], sizes.get(table.name)) for table in wanted]
    # Else each table would be tasks of its own, and to hand over the whole plan to it costs more than the rows.
    found = _asked(spark, f"select /*+ coalesce(1) */ * from ({' union all '.join(picks)}) as picked")
    cut = frozenset(name for name, own in found.items() if len(own) > bounds[name])
    found = {name: own.slice(0, bounds[name]) for name, own in found.items()}
    found |= {name: _first(name, read(), most) for name, read in few.items()}
    cut |= {name for name in few if sizes.get(name, 0) > most}
    return {name: Columns(ordered(own, ORDER[name])) for name, own in found.items()}, cut


def _first(name: str, rows: Any, most: int) -> Any:
    """Those that are shown."""
    return rows if len(rows) <= most else ordered(rows, FIRST.get(name, ORDER[name])).slice(0, most)


def _picked(table: Table, most: int, size: int | None) -> str:
    """The statement of one table: its name, which place a row has by FIRST, and the row; one row more than `most`,
    where there are as many."""
    fields = ", ".join(f"'{name}', cast(t.{name} as {kind})" for name, kind in types(table).items())
    row = f"to_json(named_struct({fields})) as row"
    if table.name in FEW or (size is not None and size <= most):
        return f"select '{table.name}' as name, 0 as place, {row} from {table.name} as t"
    first = FIRST.get(table.name, ORDER[table.name])
    return f"""
        select '{table.name}' as name, row_number() over (order by {first}) as place, {row}
        from (select * from {OF.get(table.name, table.name)} order by {first} limit {most + 1}) as t
        """


def _asked(spark: SparkSession, statement: str) -> dict[str, Any]:
    """Arrow's tables by name, in the order of FIRST."""
    shapes = {table.name: schema(table).append(_PLACE) for table in TABLES}
    found: dict[str, list[Any]] = {name: [] for name in shapes}
    for batch in spark.sql(statement).toArrow().to_batches(PIECE):
        for name, rows in _by_table(batch).items():
            found[name].append(pa.RecordBatch.from_pylist(rows, shapes[name]))
    every = {name: pa.Table.from_batches(own, shapes[name]) for name, own in found.items()}
    return {name: rows.sort_by(_PLACE.name).drop_columns(_PLACE.name) for name, rows in every.items()}


def _by_table(told: Any) -> dict[str, list[dict[str, Any]]]:
    """Rows of some tables with their places. JSON leaves out what is null."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, place, row in zip(*(told[column].to_pylist() for column in ("name", "place", "row")), strict=True):
        found.setdefault(name, []).append(json.loads(row) | {_PLACE.name: place})
    return found


def ordered(rows: Any, order: str) -> Any:
    """A table of Arrow's in an order of ORDER."""
    keys: list[tuple[str, str]] = []
    columns: dict[str, Any] = {}
    for item in order.split(", "):
        name, _, down = item.partition(" ")
        # Arrow has nulls last, or first, in all columns whichever way they are sorted.
        for one in (rows[name].is_valid(), rows[name]):
            columns[str(len(columns))] = one
            keys.append((str(len(keys)), "descending" if down else "ascending"))
    return rows.take(pc.sort_indices(pa.table(columns), keys))
