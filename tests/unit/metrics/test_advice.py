"""Advice with its numbers, from what really happened."""

from __future__ import annotations

from tests.unit.metrics.conftest import Analysed


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
