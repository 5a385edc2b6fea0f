"""Advice on sizes: what is needed, how sure that is, and what is said of it."""

from __future__ import annotations

import pytest

from pyrepl.metrics.advice_sizes import (
    NEED,
    backlogs,
    channel,
    freed,
    miss,
    one_limit,
    output_buffer,
    storm,
    sync_buffer,
)
from pyrepl.metrics.facts import Row

MB = 1 << 20


def sized(**more: object) -> Row:
    return {"node": "m", "backlog_size": 900, "avoided": 1, "avoidable": 1, "wanted": 0.99, "saved_bytes": 0,
            "saved_s": 1.0, "now": None} | more  # fmt: skip


def killed(**more: object) -> Row:
    return {
        "node": "m",
        "replica": "r",
        "count": 1,
        "most": None,
        "lacked": None,
        "down_s": None,
        "open_s": None,
    } | more


def in_sync(**more: object) -> Row:
    ends = {"kind": None, "version": None, "replica_kind": None, "replica_version": None}
    return killed(took_s=None, bytes_per_s=None, two_n=0) | ends | more


@pytest.mark.parametrize(
    ("size", "seconds", "text"),
    [
        (0, 0.04, "saving 40 ms of syncing;"),
        (17_600, 1.25, "saving 17.6 kB and 1.2 s of syncing;"),
        (None, 0.005, "saving 5 ms of syncing;"),
    ],
)
def test_what_a_backlog_saves_is_told_in_units_that_fit(size: int | None, seconds: float, text: str) -> None:
    (told,) = backlogs([sized(saved_bytes=size, saved_s=seconds)])
    assert text in told["text"] and (told["least"], told["value"]) == ("2kb", "4kb")


def test_like_settings_are_told_once() -> None:
    rows = [sized(backlog_size=size, wanted=share) for size, share in ((2 * MB, 0.5), (30 * MB, 0.9), (31 * MB, 0.99))]
    told = list(backlogs(rows))
    assert [(row["value"], row["share"], row["severity"]) for row in told] == [
        ("4mb", 0.5, "consider"), ("64mb", 0.99, "act")
    ]  # fmt: skip


def test_what_the_memory_costs_is_told() -> None:
    (told,) = backlogs([sized(backlog_size=30 * MB, now=MB)])
    assert told["text"].endswith("64mb survives twice that. It is 1mb now: that costs 66.1 MB of memory.")


def test_where_no_log_tells_how_much_was_lacking() -> None:
    row = {"node": "m", "count": 2, "now": MB, "away_s": None, "bytes_per_s": None}
    told = miss(row)
    assert "value" not in told and "2 full resyncs were for lack of backlog" in told["text"]
    assert "A replica was away for 9.0 s." in miss(row | {"away_s": 9.0})["text"]
    told = miss(row | {"away_s": 10.0, "bytes_per_s": 3.0 * MB})
    assert (told["least"], told["value"], told["confidence"]) == ("36mb", "64mb", "estimated")


@pytest.mark.parametrize(("count", "text"), [(1, "1 full resync was needed"), (2, "2 full resyncs were needed")])
def test_a_backlog_that_is_freed_is_kept_for_longer(count: int, text: str) -> None:
    told = freed({"node": "m", "count": count, "away_s": 4000.1, "saved_s": 7.0})
    assert (told["directive"], told["value"], told["least"]) == ("repl-backlog-ttl", "8001", "4801")
    assert told["text"].startswith(text) and (told["count"], told["cost_s"]) == (count, 7.0)


def test_what_waited_is_a_lower_bound() -> None:
    """It is just above the limit that was in force; what the replica lacked later is what is needed."""
    told = output_buffer(killed(most=8 * MB))
    assert (told["value"], told["confidence"]) == ("replica 16mb 0 0", "lower_bound")
    told = output_buffer(killed(most=8 * MB, lacked=30 * MB))
    assert (told["least"], told["value"], told["confidence"]) == ("36mb", "replica 64mb 0 0", "measured")
    assert "survives twice that" in told["text"]


@pytest.mark.parametrize("most", [None, 0])
def test_of_what_no_log_tells_there_is_no_number(most: int | None) -> None:
    told = output_buffer(killed(most=most, count=2))
    assert "value" not in told and "cut this replica 2 times" in told["text"]
    assert "value" not in sync_buffer(in_sync(most=most))


def test_a_sync_needs_what_is_written_while_it_lasts() -> None:
    told = sync_buffer(in_sync(most=2 * MB, lacked=8 * MB, took_s=10.0, bytes_per_s=3.0 * MB))
    assert (told["value"], told["confidence"]) == ("replica 64mb 0 0", "estimated")
    told = sync_buffer(in_sync(most=2 * MB, lacked=30 * MB, took_s=1.0, bytes_per_s=3.0 * MB))
    assert (told["value"], told["confidence"]) == ("replica 64mb 0 0", "measured")
    assert sync_buffer(in_sync(most=30 * MB))["confidence"] == "lower_bound"


@pytest.mark.parametrize(
    ("master", "replica", "two_n", "directive"),
    [
        (("redis", "8.2.3"), ("redis", "8.2.3"), 0, "repl-rdb-channel"),
        (("valkey", "8.0.1"), ("valkey", "9.1.0"), 0, "dual-channel-replication-enabled"),
        (("pyrepl", "0.1.0"), ("valkey", "8.0.1"), 0, "dual-channel-replication-enabled"),
        (("pyrepl", "0.1.0"), ("pyrepl", "0.1.0"), 0, "repl-rdb-channel"),
        (("redis", "8.2.3"), ("redis", "8.2.3"), 2, "client-output-buffer-limit"),
        (("redis", "8.2.3"), ("redis", "7.0.15"), 0, "client-output-buffer-limit"),
        (("redis", "8.2.3"), ("valkey", "8.0.1"), 0, "client-output-buffer-limit"),
        (("redis", "8.2.3"), (None, None), 0, "client-output-buffer-limit"),
    ],
)
def test_two_connections_where_both_ends_have_them(
    master: tuple[str, str], replica: tuple[str | None, str | None], two_n: int, directive: str
) -> None:
    ends = dict(zip(("kind", "version", "replica_kind", "replica_version"), (*master, *replica), strict=True))
    assert sync_buffer(in_sync(most=MB, two_n=two_n) | ends)["directive"] == directive


@pytest.mark.parametrize(
    ("two_ms", "dual_n", "directive", "value"),
    [(50.0, 0, "repl-rdb-channel", "yes"), (200.0, 4, "dual-channel-replication-enabled", "no")],
)
def test_the_quicker_connection(two_ms: float, dual_n: int, directive: str, value: str) -> None:
    told = channel({"node": "m", "one_n": 3, "one_ms": 100.0, "two_n": 4, "two_ms": two_ms, "dual_n": dual_n})
    assert (told["directive"], told["value"]) == (directive, value)


@pytest.mark.parametrize(("count", "text"), [(1, "in 1 storm and took"), (2, "in 2 storms and took")])
def test_storms_are_counted(count: int, text: str) -> None:
    row = {"node": "m", "count": count, "snapshots": 2, "syncs": 3, "on_disk": 0, "delay_s": 0.5, "lasted_s": 1.0}
    (told,) = storm(row)
    assert text in told["text"] and (told["directive"], told["value"]) == ("repl-diskless-sync-delay", "2")


def test_a_storm_by_way_of_a_file_needs_two_settings_and_has_cost_what_it_has_cost_once() -> None:
    row = {"node": "m", "count": 1, "snapshots": 2, "syncs": 3, "on_disk": 3, "delay_s": 7.5, "lasted_s": 4.0}
    told = storm(row)
    assert [(one["directive"], one["value"], one["cost_s"]) for one in told] == [
        ("repl-diskless-sync", "yes", 4.0), ("repl-diskless-sync-delay", "10", None)
    ]  # fmt: skip
    assert all("repl-diskless-sync yes with repl-diskless-sync-delay 10" in one["text"] for one in told)


def test_a_master_has_one_limit_for_all_its_replicas() -> None:
    """That of the replica that needs most, in the middle of a sync or not; other masters have their own."""
    pieces = [
        output_buffer(killed(most=MB, lacked=2 * MB)),
        sync_buffer(in_sync(replica="s", most=30 * MB)),
        output_buffer(killed(replica="t")),
        output_buffer(killed(node="n", most=8 * MB)),
    ]
    small, large, unknown, other = one_limit(pieces)
    assert (large["value"], large["least"], large["confidence"]) == ("replica 64mb 0 0", "36mb", "lower_bound")
    assert [small[name] for name in ("value", "least", "confidence")] == ["replica 64mb 0 0", "36mb", "lower_bound"]
    assert (
        small["text"] == pieces[0]["text"] + " A master has one limit for all its replicas, and s needs more: "
        "replica 64mb 0 0."
    )
    assert large["text"] == pieces[1]["text"] and "value" not in unknown
    assert other["value"] == "replica 16mb 0 0"
    assert not any(NEED in one for one in (small, large, unknown, other))


def test_limits_that_come_to_the_same_are_left_alone() -> None:
    pieces = [output_buffer(killed(replica=None, lacked=size, most=MB)) for size in (30 * MB, 31 * MB)]
    assert [one["text"] for one in one_limit(pieces)] == [one["text"] for one in pieces]
