"""Advice with its numbers, decided and worded from facts."""

from __future__ import annotations

import pytest

from pyrepl.metrics.advice import advice
from pyrepl.metrics.facts import Facts, Row
from tests.unit.metrics.conftest import Analysed

S = 1_000_000


def said(kind: str, *rows: Row) -> Row:
    """The one piece of advice about these facts."""
    (row,) = advice(Facts(**{kind: rows}))
    return row


def pair(**more: object) -> Row:
    return {"node": "m", "replica": "r"} | more


def killed(**more: object) -> Row:
    return pair(count=1, most=None, down_s=None, open_s=None) | more


def sized(**more: object) -> Row:
    return {"node": "m", "backlog_size": 900, "avoided": 1, "avoidable": 1, "wanted": 0.99, "saved_bytes": 0,
            "saved_s": 1.0, "now": None} | more  # fmt: skip


def out(**more: object) -> Row:
    return pair(open_cause=None, open_detail=None, cuts=2) | more


@pytest.mark.parametrize(
    ("count", "most", "value", "text"),
    [
        (
            1,
            None,
            None,
            "cut this replica once for client-output-buffer-limit (the log does not tell how much waited).",
        ),
        (1, 0, None, "cut this replica once for client-output-buffer-limit (the log does not tell how much waited)."),
        (2, 5000, "replica 1mb 0 0", "cut this replica 2 times for client-output-buffer-limit with up to 5.0 kB"),
        (1, 10 << 20, "replica 13mb 0 0", "with up to 10.5 MB waiting; a hard limit of 13mb would have"),
    ],
)
def test_a_limit_is_named_where_the_log_tells_what_waited(
    count: int, most: int | None, value: str | None, text: str
) -> None:
    row = said("output_buffers", killed(count=count, most=most))
    assert row["value"] == value and text in row["text"]


@pytest.mark.parametrize(
    ("size", "seconds", "text"),
    [
        (0, 0.04, "saving 40 ms of syncing."),
        (17_600, 1.25, "saving 17.6 kB and 1.2 s of syncing."),
        (2_000_000_000, 3600.0, "saving 2,000.0 MB and 3,600.0 s of syncing."),
        (None, 0.005, "saving 5 ms of syncing."),
    ],
)
def test_what_a_backlog_saves_is_told_in_units_that_fit(size: int | None, seconds: float, text: str) -> None:
    told = said("backlogs", sized(saved_bytes=size, saved_s=seconds))
    assert told["text"].endswith(text) and told["value"] == "1kb"


@pytest.mark.parametrize(("count", "text"), [(1, "in 1 storm and took"), (2, "in 2 storms and took")])
def test_storms_are_counted(count: int, text: str) -> None:
    assert text in said("storms", {"node": "m", "count": count, "snapshots": 2, "syncs": 3, "delay_s": 0.5,
                                   "lasted_s": 1.0})["text"]  # fmt: skip


@pytest.mark.parametrize(
    ("cause", "seconds", "severity", "text"),
    [
        ("refused", 3600.0, "act", "3,600.0 s; the last cause is refused (WRONGPASS). The master answers and refuses"),
        ("connect_failed", 5.0, "consider", "Nothing answers at the master's address"),
        (None, 5.0, "consider", "the last cause is unknown (WRONGPASS)."),
    ],
)
def test_a_replica_that_is_out_when_the_logs_end(cause: str | None, seconds: float, severity: str, text: str) -> None:
    row = said("outages", out(open_outage_s=seconds, open_cause=cause, open_detail="WRONGPASS"))
    assert (row["kind"], row["severity"], row["running_s"]) == ("outage", severity, seconds)
    assert text in row["text"]


def test_a_loop_tells_what_was_sent_in_vain() -> None:
    loop = pair(reason="load_failed", detail=None, count=9, first_us=0, last_us=90 * S, every_s=10.0, over=False,
                open_s=95.0, bytes=7, bytes_known=4, bytes_estimate=16_000)  # fmt: skip
    row = said("loops", loop)
    assert (row["kind"], row["running_s"], row["cost_s"]) == ("loop", 95.0, 90.0)
    assert "about 16.0 kB sent in vain" in row["text"]


def test_what_still_runs_comes_first_then_what_has_cost_most() -> None:
    facts = Facts(
        backlogs=[sized(saved_s=700.0), sized(node="n", saved_s=9000.0)],
        output_buffers=[killed(down_s=800.0)],
        outages=[out(open_outage_s=5.0), out(replica="s", open_outage_s=50.0)],
    )
    assert [(row["kind"], row.get("running_s"), row.get("cost_s")) for row in advice(facts)] == [
        ("outage", 50.0, None),
        ("outage", 5.0, None),
        ("backlog_size", None, 9000.0),
        ("output_buffer", None, 800.0),
        ("backlog_size", None, 700.0),
    ]


def test_the_smallest_backlog_that_would_have_done(corpora: dict[str, Analysed]) -> None:
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
