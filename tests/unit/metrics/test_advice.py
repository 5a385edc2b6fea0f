"""Advice with its numbers, from what really happened."""

from __future__ import annotations

import polars as pl
import pytest

from pyrepl.metrics.advice import advice, storms, what_if
from pyrepl.metrics.results import AVAILABILITY, BACKLOG_WHAT_IF, CUTS, LOOPS, STORMS, SYNCS
from pyrepl.metrics.schemas import schema
from tests.unit.metrics.conftest import Analysed

NOTHING = {
    table.name: pl.DataFrame(schema=schema(table))
    for table in (AVAILABILITY, BACKLOG_WHAT_IF, CUTS, SYNCS, STORMS, LOOPS)
}


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


S = 1_000_000


def full_syncs(*told: tuple[str, int, int, bool, int]) -> list[dict[str, object]]:
    """Replica, begin and end in s, did it end well, its snapshot."""
    return [
        {"sync": str(number), "node": "m", "replica": replica, "mode": "full_diskless", "at_us": at * S,
         "end_us": end * S, "ok": ok, "snapshot": snapshot}
        for number, (replica, at, end, ok, snapshot) in enumerate(told)
    ]  # fmt: skip


def stormed(*told: tuple[str, int, int, bool, int]) -> list[tuple[object, ...]]:
    rows = pl.DataFrame(full_syncs(*told))
    found = storms(rows.drop("snapshot"), rows)
    return found.select("syncs", "snapshots", "delay_s").rows()


def test_replicas_that_come_together_are_a_storm() -> None:
    assert stormed(("a", 0, 5, True, 1), ("b", 2, 9, True, 2), ("c", 3, 9, True, 2)) == [(3, 2, 3.0)]


def test_a_replica_that_comes_again_and_again_is_none() -> None:
    """It fails every 2 s for a minute; another that syncs meanwhile makes no storm of it, though their times touch."""
    tries = [("a", at, at + 2, False, at) for at in range(0, 60, 2)]
    assert stormed(*tries, ("b", 31, 33, True, 100)) == []
    herd = [(name, 100 + place, 110, False, 200 + place) for place, name in enumerate("cde")]
    again = [(name, 120 + place, 130, False, 300 + place) for place, name in enumerate("cde")]
    assert stormed(*tries, *herd, *again) == [(3, 3, 2.0)]


def test_what_is_saved_is_estimated_or_not_told() -> None:
    rows = [
        {"node": node, "cause": "out_of_backlog", "behind_bytes": 10, "total_ms": 5.0, "bytes": size,
         "bytes_estimate": estimate}
        for node, size, estimate in (("known", 100, 100), ("known", None, 90), ("silent", None, None))
    ]  # fmt: skip
    found = what_if(pl.DataFrame(rows, schema=NOTHING["syncs"].schema))
    assert dict(found.select("node", "saved_bytes").rows()) == {"known": 170, "silent": None}
    told = {row["node"]: row["text"] for row in advice(NOTHING | {"backlog_what_if": found}, {}).to_dicts()}
    assert "saving 170 bytes and 10 ms" in told["known"] and "saving 5 ms" in told["silent"]


def pair(**more: object) -> dict[str, object]:
    return {"node": "m", "replica": "r"} | more


@pytest.mark.parametrize(
    ("cause", "seconds", "severity", "text"),
    [
        ("refused", 3600.0, "act", "3,600.0 s; the last cause is refused (WRONGPASS). The master answers and refuses"),
        ("connect_failed", 5.0, "consider", "Nothing answers at the master's address"),
        (None, 5.0, "consider", "the last cause is unknown (WRONGPASS)."),
    ],
)
def test_a_replica_that_is_out_when_the_logs_end(cause: str | None, seconds: float, severity: str, text: str) -> None:
    row = said("availability", pair(open_outage_s=seconds, open_cause=cause, open_detail="WRONGPASS", cuts=2))
    assert (row["kind"], row["severity"], row["running_s"]) == ("outage", severity, seconds)
    assert text in str(row["text"])


def test_a_loop_is_told_once() -> None:
    loop = pair(reason="load_failed", count=9, first_us=0, last_us=90 * S, every_s=10.0, over=False, open_s=95.0)
    found = NOTHING | {
        "loops": pl.DataFrame([loop | {"bytes": 7, "bytes_known": 4, "bytes_estimate": 16_000}],
                              schema=NOTHING["loops"].schema),
        "availability": pl.DataFrame([pair(open_outage_s=95.0)], schema=NOTHING["availability"].schema),
    }  # fmt: skip
    (row,) = advice(found, {}).to_dicts()
    assert (row["kind"], row["running_s"], row["cost_s"]) == ("loop", 95.0, 90.0)
    assert "about 16.0 kB sent in vain" in row["text"]


def test_what_still_runs_comes_first_then_what_has_cost_most() -> None:
    size = {"node": "m", "avoided": 1, "avoidable": 1, "share": 1.0, "saved_bytes": 0}
    found = NOTHING | {
        "backlog_what_if": pl.DataFrame(
            [size | {"backlog_size": 9, "saved_s": 700.0}, size | {"node": "n", "backlog_size": 9, "saved_s": 9000.0}],
            schema=NOTHING["backlog_what_if"].schema,
        ),
        "cuts": pl.DataFrame(
            [pair(cause="output_buffer", down_s=800.0, open_s=None)], schema=NOTHING["cuts"].schema
        ),
        "availability": pl.DataFrame(
            [pair(open_outage_s=5.0), pair(replica="s", open_outage_s=50.0), pair(replica="t", open_outage_s=0.5)],
            schema=NOTHING["availability"].schema,
        ),
    }  # fmt: skip
    rows = advice(found, {}).to_dicts()
    assert [(row["kind"], row["running_s"], row["cost_s"]) for row in rows] == [
        ("outage", 50.0, None),
        ("outage", 5.0, None),
        ("backlog_size", None, 9000.0),
        ("output_buffer", None, 800.0),
        ("backlog_size", None, 700.0),
    ]


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
