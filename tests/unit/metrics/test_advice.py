"""Advice with its numbers, decided and worded from facts."""

from __future__ import annotations

from pyrepl.metrics.advice import advice
from pyrepl.metrics.facts import Facts, Row
from tests.unit.metrics.conftest import Analysed

S = 1_000_000


def pair(**more: object) -> Row:
    return {"node": "m", "replica": "r"} | more


def sized(**more: object) -> Row:
    return {"node": "m", "backlog_size": 900, "avoided": 1, "avoidable": 1, "wanted": 0.99, "saved_bytes": 0,
            "saved_s": 1.0, "now": None} | more  # fmt: skip


def out(**more: object) -> Row:
    return pair(open_cause=None, open_detail=None, cuts=2) | more


def test_what_still_runs_comes_first_then_what_has_cost_most() -> None:
    facts = Facts(
        backlogs=[sized(saved_s=700.0), sized(node="n", saved_s=9000.0)],
        output_buffers=[pair(count=1, most=None, lacked=None, down_s=800.0, open_s=None)],
        outages=[out(open_outage_s=5.0), out(replica="s", open_outage_s=50.0)],
    )
    assert [(row["kind"], row.get("running_s"), row.get("cost_s")) for row in advice(facts)] == [
        ("outage", 50.0, None),
        ("outage", 5.0, None),
        ("backlog_size", None, 9000.0),
        ("output_buffer", None, 800.0),
        ("backlog_size", None, 700.0),
    ]


def test_a_backlog_that_was_freed_is_told_of() -> None:
    (told,) = advice(Facts(freed=[{"node": "m", "count": 1, "away_s": 9.0, "saved_s": 1.0}]))
    assert (told["kind"], told["directive"]) == ("backlog_ttl", "repl-backlog-ttl")


def test_two_replicas_of_a_master_are_not_given_two_limits() -> None:
    cut = {"count": 1, "down_s": 1.0, "open_s": None}
    rows = [pair(most=size, lacked=None, **cut) | {"replica": name} for name, size in (("r", 1 << 20), ("s", 9 << 20))]
    told = advice(Facts(output_buffers=rows))
    assert [row["value"] for row in told] == ["replica 20mb 0 0"] * 2


def test_the_smallest_backlog_that_would_have_done(corpora: dict[str, Analysed]) -> None:
    (row,) = [row for row in corpora["text"].rows("advice", "redis7-disk") if row["kind"] == "backlog_size"]
    assert (row["directive"], row["value"], row["least"]) == ("repl-backlog-size", "112kb", "62kb")
    assert (row["severity"], row["share"]) == ("act", 0.99)
    assert "1 of 1 avoidable full resyncs" in row["text"]


def test_the_output_buffer_that_would_have_done(corpora: dict[str, Analysed]) -> None:
    rows = [row for row in corpora["text"].rows("advice", "redis7-output-buffer") if row["kind"] == "output_buffer"]
    (row,) = rows
    assert row["directive"] == "client-output-buffer-limit"
    assert row["count"] == 1 and row["confidence"] == "measured"
    assert "when it came back it lacked" in row["text"]


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
