"""Result tables that go over all nodes, in SQL over the tables that tasks have answered (answers.py): TOTALS, MODES,
FULL_CAUSES, CUT_CAUSES and FLEET_WHAT_IF.

Plain SQL, which Spark and DuckDB understand alike; whoever asks has the tables of READS as views of their names. The
rules of the columns stand in results.py. What is told of one master alone is no matter of this: what_if_sql.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyrepl.metrics.what_if_sql import FLEET

STATEMENTS: Final[Mapping[str, str]] = {
    "modes": """
        select mode, count(*) as count, sum(case when ok then 1 else 0 end) as ok
        from syncs where mode is not null group by mode
        """,
    "full_causes": """
        select cause, count(*) as count, sum(bytes) as bytes, count(bytes) as bytes_known,
            case when count(bytes_estimate) = count(*) then sum(bytes_estimate) end as bytes_estimate,
            sum(total_ms) / 1000 as seconds, floor(median(gap_bytes)) as gap_p50, max(gap_bytes) as gap_max,
            floor(median(behind_bytes)) as behind_p50, max(behind_bytes) as behind_max
        from syncs where cause is not null group by cause
        """,
    "cut_causes": "select cause, count(*) as count from cuts group by cause",
    "fleet_what_if": FLEET,
}
"""By table."""
READS: Final = ("availability", "cuts", "storms", "syncs")
"""What all of this is asked of."""
EMPTY_WITHOUT: Final[Mapping[str, tuple[str, ...]]] = {
    "modes": ("syncs",),
    "full_causes": ("syncs",),
    "cut_causes": ("cuts",),
    "fleet_what_if": ("backlog_what_if", "buffer_what_if", "storms"),
}
"""Tables that have no row where none of these has one: they need not be asked for."""


def totals(told: Mapping[str, int]) -> str:
    """TOTALS; `told` are those of its numbers that stand in no table."""
    literals = ", ".join(f"{number} as {name}" for name, number in told.items())
    return f"""
        with one as (
            select ok, asked_with_id, case when coalesce(mode, '') <> 'continue' then 1 else 0 end as whole from syncs
        ),
        counted as (
            select count(*) as syncs,
                coalesce(sum(case when ok then whole end), 0) as full_ok,
                coalesce(sum(case when not ok then whole end), 0) as full_failed,
                coalesce(sum(case when ok is null then whole end), 0) as full_open,
                coalesce(sum(1 - whole), 0) as partial_ok,
                coalesce(sum(case when asked_with_id then whole end), 0) as partial_refused
            from one
        )
        select counted.*, case when partial_ok + partial_refused > 0
            then cast(partial_ok as double) / (partial_ok + partial_refused) end as partial_ratio,
            {literals}
        from counted
        """
