"""What goes over all nodes, and what is shown of it: the SQL, asked of DuckDB; Spark is asked in test_jobs.py."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pyrepl.metrics import fleet_sql
from pyrepl.metrics.column import Table
from pyrepl.metrics.results import (
    AVAILABILITY,
    CUT_CAUSES,
    CUTS,
    FLEET_WHAT_IF,
    FULL_CAUSES,
    MODES,
    STORMS,
    SYNCS,
    TOTALS,
)
from pyrepl.metrics.schemas import conform, schema
from tests.unit.metrics.inline import Inline
from tests.unit.metrics.test_what_if_sql import MB, PAIRS, Row, cut

READ = (AVAILABILITY, CUTS, STORMS, SYNCS)


def told(statement: str, table: Table, **tables: list[Row]) -> list[Row]:
    """The rows of a table, made of these and of nothing else."""
    spark = Inline()
    for one in READ:
        rows = pl.DataFrame(tables.get(one.name, []), schema=schema(one))
        spark.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest())).createOrReplaceTempView(one.name)
    found: Any = pl.from_arrow(spark.sql(statement).toArrow())
    rows = conform(found, table)
    return rows.sort(rows.columns[:2]).to_dicts()


def full(cause: str | None = "first", **more: Any) -> Row:
    return {"mode": "full_disk", "ok": True, "cause": cause} | more


def test_counts_of_the_whole() -> None:
    syncs = [
        full(), full(ok=False), full(ok=None), full(mode=None, asked_with_id=True), full(mode="continue"),
        full(mode="continue", asked_with_id=True),
    ]  # fmt: skip
    (row,) = told(fleet_sql.totals(
        {"nodes": 2, "dumps": 7, "connect_failures": 8, "unparsed_lines": 9, "unknown_lines": 0}
    ), TOTALS, syncs=syncs)  # fmt: skip
    assert row == {
        "syncs": 6, "full_ok": 2, "full_failed": 1, "full_open": 1, "partial_ok": 2, "partial_refused": 1,
        "partial_ratio": pytest.approx(2 / 3), "connect_failures": 8, "dumps": 7, "unparsed_lines": 9,
        "unknown_lines": 0, "nodes": 2,
    }  # fmt: skip


def test_of_nothing() -> None:
    nothing = dict.fromkeys(("nodes", "dumps", "connect_failures", "unparsed_lines", "unknown_lines"), 0)
    (row,) = told(fleet_sql.totals(nothing), TOTALS)
    assert row == dict.fromkeys(TOTALS.names, 0) | {"partial_ratio": None}
    for table in (MODES, FULL_CAUSES, CUT_CAUSES, FLEET_WHAT_IF):
        assert told(fleet_sql.STATEMENTS[table.name], table) == []


def test_causes_of_full_resyncs() -> None:
    syncs = [
        full("forced", bytes=5, bytes_estimate=5, total_ms=1500.0, gap_bytes=3, behind_bytes=1),
        full("forced", bytes_estimate=7, gap_bytes=6), full("first", bytes_estimate=7), full("first"), full(None),
    ]  # fmt: skip
    first, forced = told(fleet_sql.STATEMENTS["full_causes"], FULL_CAUSES, syncs=syncs)
    assert forced == {"cause": "forced", "count": 2, "bytes": 5, "bytes_known": 1, "bytes_estimate": 12,
                      "seconds": 1.5, "gap_p50": 4, "gap_max": 6, "behind_p50": 1, "behind_max": 1}  # fmt: skip
    assert first == dict.fromkeys(FULL_CAUSES.names) | {"cause": "first", "count": 2, "bytes_known": 0}


def test_modes_and_causes_of_cuts() -> None:
    syncs = [full(), full(ok=False), full(ok=None), full(mode=None)]
    assert told(fleet_sql.STATEMENTS["modes"], MODES, syncs=syncs) == [{"mode": "full_disk", "count": 3, "ok": 1}]
    cuts = [{"cause": cause} for cause in ("timeout", "shutdown", "timeout")]
    assert told(fleet_sql.STATEMENTS["cut_causes"], CUT_CAUSES, cuts=cuts) == [
        {"cause": "shutdown", "count": 1}, {"cause": "timeout", "count": 2}
    ]  # fmt: skip


def test_other_settings_for_all_masters() -> None:
    behind = [("m", "out_of_backlog", 3), ("n", "out_of_backlog", 4), ("n", "out_of_backlog", 5)]
    behind += [("n", "first", 99), ("n", "no_backlog", 99)]
    syncs: list[Row] = [{"node": node, "cause": cause, "behind_bytes": size * MB} for node, cause, size in behind]
    syncs.append({"node": "n", "cause": "out_of_backlog", "behind_bytes": None})
    storms = [{"node": "m", "snapshots": 3, "delay_s": 3.2, "on_disk": 0}]
    rows = told(
        fleet_sql.STATEMENTS["fleet_what_if"], FLEET_WHAT_IF,
        syncs=syncs, storms=storms, availability=PAIRS, cuts=[cut("m", 30 * MB)],
    )  # fmt: skip
    assert [(row["setting"], row["value"], row["avoided"], row["avoidable"], row["memory_bytes"]) for row in rows] == [
        ("client-output-buffer-limit", 32 * MB, 1, 1, 3 * 32 * MB),
        ("repl-backlog-size", 4 * MB, 2, 3, 2 * 4 * MB),
        ("repl-backlog-size", 8 * MB, 3, 3, 2 * 8 * MB),
        ("repl-diskless-sync-delay", 4.0, 2, 2, None),
    ]
    assert rows[1]["share"] == pytest.approx(2 / 3)
