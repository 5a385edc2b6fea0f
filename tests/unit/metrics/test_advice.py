"""Advice with its numbers, from what really happened."""

from __future__ import annotations

import polars as pl
import pytest

from pyrepl.metrics.advice import advice
from pyrepl.metrics.results import BACKLOG_WHAT_IF, CUTS, LOOPS, STORMS, SYNCS
from pyrepl.metrics.schemas import schema
from tests.unit.metrics.conftest import Analysed

NOTHING = {table.name: pl.DataFrame(schema=schema(table)) for table in (BACKLOG_WHAT_IF, CUTS, SYNCS, STORMS, LOOPS)}


def said(table: str, *rows: dict[str, object]) -> dict[str, object]:
    """The one piece of advice about these rows."""
    found = NOTHING | {table: pl.DataFrame(rows, schema=NOTHING[table].schema)}
    (row,) = advice(found, {}).to_dicts()
    return row


@pytest.mark.parametrize(
    ("waited", "value", "text"),
    [
        ([None], None, "cut this replica once for client-output-buffer-limit (the log does not tell how much waited)."),
        ([0], None, "cut this replica once for client-output-buffer-limit (the log does not tell how much waited)."),
        ([0, 5000], "replica 1mb 0 0", "cut this replica 2 times for client-output-buffer-limit with up to 5.0 kB"),
        ([10 << 20], "replica 13mb 0 0", "with up to 10.5 MB waiting; a hard limit of 13mb would have"),
    ],
)
def test_a_limit_is_named_where_the_log_tells_what_waited(
    waited: list[int | None], value: str | None, text: str
) -> None:
    cuts: list[dict[str, object]] = [
        {"node": "m", "replica": "r", "cause": "output_buffer", "output_buffer_bytes": size} for size in waited
    ]
    row = said("cuts", *cuts)
    assert row["value"] == value and text in str(row["text"])


@pytest.mark.parametrize(
    ("size", "seconds", "text"),
    [
        (0, 0.04, "saving 40 ms of syncing."),
        (17_600, 1.25, "saving 17.6 kB and 1.2 s of syncing."),
        (2_000_000_000, 3600.0, "saving 2,000.0 MB and 3,600.0 s of syncing."),
    ],
)
def test_what_a_backlog_saves_is_told_in_units_that_fit(size: int, seconds: float, text: str) -> None:
    row = {"node": "m", "backlog_size": 900, "avoided": 1, "avoidable": 1, "share": 1.0}
    told = said("backlog_what_if", row | {"saved_bytes": size, "saved_s": seconds})
    assert str(told["text"]).endswith(text) and told["value"] == "1kb"


@pytest.mark.parametrize(("count", "text"), [(1, "in 1 storm and took"), (2, "in 2 storms and took")])
def test_storms_are_counted(count: int, text: str) -> None:
    one = {"node": "m", "at_us": 1, "end_us": 2, "replicas": 2, "syncs": 3, "snapshots": 2, "delay_s": 0.5}
    assert text in str(said("storms", *[one] * count)["text"])


def test_the_smallest_backlog_that_would_have_done(corpora: dict[str, Analysed]) -> None:
    (row,) = corpora["text"].rows("backlog_what_if", "redis7-disk")
    assert (row["backlog_size"], row["avoided"], row["avoidable"], row["share"]) == (52690, 1, 1, 1.0)
    (row,) = [row for row in corpora["text"].rows("advice", "redis7-disk") if row["kind"] == "backlog_size"]
    assert (row["directive"], row["value"], row["severity"], row["share"]) == ("repl-backlog-size", "52kb", "act", 0.99)
    assert "1 of 1 avoidable full resyncs" in row["text"]


def test_the_output_buffer_that_would_have_done(corpora: dict[str, Analysed]) -> None:
    rows = [row for row in corpora["text"].rows("advice", "redis7-output-buffer") if row["kind"] == "output_buffer"]
    (row,) = rows
    assert row["directive"] == "client-output-buffer-limit"
    assert row["count"] == 1


def test_a_loop_of_versions_is_told_with_what_to_do(corpora: dict[str, Analysed]) -> None:
    rows = [row for row in corpora["text"].tables["advice"] if row["kind"] == "version_mismatch"]
    assert {row["node"] for row in rows} == {"redis8-to-redis7-loop/master", "valkey8-to-redis7-loop/master"}
    assert all(row["severity"] == "act" and "4 times in a row" in row["text"] for row in rows)


def test_a_storm_names_the_delay_that_would_have_shared(corpora: dict[str, Analysed]) -> None:
    for scenario in ("redis7-two-at-once", "redis8-two-at-once"):
        (storm,) = corpora["text"].rows("storms", scenario)
        assert (storm["syncs"], storm["snapshots"]) == (3, 2)
        assert 0.5 < storm["delay_s"] < 30
        (row,) = [row for row in corpora["text"].rows("advice", scenario) if row["kind"] == "storm"]
        assert row["directive"] == "repl-diskless-sync-delay"
        assert int(row["value"]) >= storm["delay_s"]
