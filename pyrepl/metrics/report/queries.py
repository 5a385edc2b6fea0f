"""The SQL of each chart: what is drawn, asked of the result tables.

Plain SQL that Spark and DuckDB understand alike, over views named as the folders of results/. A house of its own beside
the charts: the charts are drawn from rows that the report already has, and a test holds both against each other.
"""

from __future__ import annotations

from typing import Final

from pyrepl.metrics.report.charts import MOST_LANES, MOST_PHASES
from pyrepl.metrics.report.lines import MOST_LINES
from pyrepl.metrics.report.what_ifs import MOST_MASTERS
from pyrepl.metrics.report.words import PHASES

VIEW: Final = (
    "create view {table} as select * from read_parquet('results/{table}/**/*.parquet', hive_partitioning = true);"
)
"""How DuckDB gets a table; in Spark: spark.read.parquet("results/TABLE").createOrReplaceTempView("TABLE")."""

_LANES: Final = f"""\
with lanes as (
  select node, replica from availability
  order by coalesce(observed_s, 0) - coalesce(online_s, 0) desc, node, replica limit {MOST_LANES}
)"""
_TIMELINE: Final = f"""\
{_LANES}
select syncs.node, syncs.replica, at_us, end_us, mode, ok, cause, failure, bytes
from syncs join lanes on syncs.node = lanes.node and syncs.replica = lanes.replica
order by at_us"""
_PHASES: Final = f"""\
select at_us, node, replica, mode, {", ".join(PHASES)}, total_ms
from syncs where ok and mode <> 'continue' and total_ms is not null
order by total_ms desc, at_us limit {MOST_PHASES}"""


def _series(column: str) -> str:
    return f"""\
with lines as (
  select node, coalesce(replica, '') as replica, max({column}) as peak from series
  group by node, coalesce(replica, '') having max({column}) > 0
  order by peak desc, node, replica limit {MOST_LINES}
)
select series.node, series.replica, at_us, {column}
from series join lines on series.node = lines.node and coalesce(series.replica, '') = lines.replica
where {column} is not null order by peak desc, series.node, series.replica, at_us"""


def _masters(table: str, value: str, part: str, all_of: str, cost: str) -> str:
    return f"""\
with masters as (
  select node, max({all_of}) as gain from {table} group by node order by gain desc, node limit {MOST_MASTERS}
)
select {table}.node, {value}, {part}, {all_of}, share, {cost}
from {table} join masters on {table}.node = masters.node order by {table}.node, {value}"""


def _fleet(setting: str) -> str:
    return f"""\
select value, avoided, avoidable, share, memory_bytes from fleet_what_if
where setting = '{setting}' order by value"""


QUERIES: Final[dict[str, str]] = {
    "timeline": _TIMELINE,
    "phases": _PHASES,
    "lag_bytes": _series("lag_bytes"),
    "lag_s": _series("lag_s"),
    "output_bytes": _series("output_bytes"),
    "sync_buffer_bytes": _series("sync_buffer_bytes"),
    "backlog": _masters("backlog_what_if", "backlog_size", "avoided", "avoidable", "saved_bytes"),
    "limit": _masters("buffer_what_if", "limit_bytes", "avoided", "avoidable", "memory_bytes"),
    "delay": _masters("delay_what_if", "delay_s", "saved", "forks", "waited_s"),
    "fleet_backlog": _fleet("repl-backlog-size"),
    "fleet_limit": _fleet("client-output-buffer-limit"),
    "fleet_delay": _fleet("repl-diskless-sync-delay"),
    "full_causes": "select cause, count from full_causes order by 2 desc, cause",
    "cut_causes": "select cause, count from cut_causes order by 2 desc, cause",
}
"""Name of a chart in the page -> its SQL."""
