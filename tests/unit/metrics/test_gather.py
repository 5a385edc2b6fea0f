"""Facts for advice, summed up from results."""

from __future__ import annotations

import polars as pl

from pyrepl.metrics.facts import Facts, Row
from pyrepl.metrics.gather import gather
from pyrepl.metrics.results import (
    AVAILABILITY,
    BACKLOG_WHAT_IF,
    CUTS,
    LOOPS,
    NODES,
    SKEW,
    STORMS,
    SYNCS,
    WRITE_RATE,
)  # fmt: skip
from pyrepl.metrics.schemas import schema

S = 1_000_000
NOTHING = {
    table.name: pl.DataFrame(schema=schema(table))
    for table in (AVAILABILITY, BACKLOG_WHAT_IF, CUTS, SYNCS, STORMS, LOOPS, NODES, SKEW, WRITE_RATE)
}


def gathered(
    sizes: dict[str, int] | None = None, freed: dict[str, list[int]] | None = None, **tables: list[Row]
) -> Facts:
    found = {name: pl.DataFrame(rows, schema=NOTHING[name].schema) for name, rows in tables.items()}
    return gather(NOTHING | found, sizes or {}, freed or {})


def pair(**more: object) -> Row:
    return {"node": "m", "replica": "r"} | more


def test_of_nothing() -> None:
    assert all(rows == [] for rows in gathered())


def test_sizes_for_half_and_for_nearly_all() -> None:
    """One size for several shares counts once, with the largest of them."""
    rows: list[Row] = [
        {"node": "m", "backlog_size": size, "share": share, "avoided": 1}
        for size, share in ((30, 1.0), (10, 0.2), (20, 0.6))
    ]
    found = gathered({"m": 5}, backlog_what_if=[*rows, {"node": "n", "backlog_size": 7, "share": 1.0}]).backlogs
    assert [(row["node"], row["backlog_size"], row["wanted"], row["now"]) for row in found] == [
        ("m", 20, 0.5, 5), ("m", 30, 0.99, 5), ("n", 7, 0.99, None)
    ]  # fmt: skip


def killed(**more: object) -> Row:
    return pair(cause="output_buffer", phase="stream", back_s=1.0) | more


def test_cuts_for_the_output_buffer_by_pair() -> None:
    rows = [
        killed(output_buffer_bytes=size, down_s=down, lacked_bytes=lacked)
        for size, down, lacked in ((None, None, None), (5000, 2.0, 9000), (0, 3.0, 80))
    ]
    (found,) = gathered(cuts=[*rows, pair(cause="timeout", output_buffer_bytes=9000)]).output_buffers
    assert found == pair(count=3, most=5000, lacked=9000, back_s=1.0, down_s=5.0, open_s=None)


def test_a_replica_that_shows_no_sign_of_life_stands_still() -> None:
    rows = [killed(back_s=None, open_s=7.0), killed(replica="s", back_s=10.0), killed(replica="t", back_s=9.9)]
    out = [pair(open_outage_s=7.0), pair(replica="u", open_outage_s=7.0)]
    found = gathered(cuts=rows, availability=out)
    assert {row["replica"] for row in found.stalled} == {"r", "s"}
    assert [row["replica"] for row in found.output_buffers] == ["t"]
    assert [row["replica"] for row in found.outages] == ["u"], "the other one is told of already"


def test_a_sync_that_is_cut_comes_with_what_it_takes() -> None:
    full = {"mode": "full_diskless", "ok": True}
    syncs = [
        pair(**full, total_ms=2000.0),
        pair(**full, total_ms=5000.0),
        {"node": "m", "replica": "s"} | full | {"total_ms": 9000.0},
    ]
    rate = {"node": "m", "bytes_per_s_mean": 10.0, "bytes_per_s_p99": 70.0}
    nodes = [{"node": "m", "kind": "redis", "version": "8.2.3"}, {"node": "r", "kind": "valkey", "version": "8.0.1"}]
    cuts = [killed(phase="transfer"), killed(phase="sync", replica="t")]
    first, second = sorted(
        gathered(syncs=syncs, write_rate=[rate], nodes=nodes, cuts=cuts).sync_buffers, key=lambda row: row["replica"]
    )
    assert (first["took_s"], first["two_n"], first["bytes_per_s"]) == (5.0, 0, 70.0)
    assert (first["kind"], first["replica_kind"], first["replica_version"]) == ("redis", "valkey", "8.0.1")
    assert (second["took_s"], second["two_n"], second["replica_kind"]) == (9.0, None, None), "of its own it has none"


def test_misses_whose_size_no_log_tells() -> None:
    syncs = [{"node": "m", "cause": "out_of_backlog", "behind_bytes": size} for size in (None, None, 5)]
    syncs.append({"node": "m", "cause": "no_backlog", "behind_bytes": None})
    cuts = [
        pair(cause="timeout", back_s=away, lacked_bytes=lacked) for away, lacked in ((3.0, None), (2.0, None), (9.0, 5))
    ]
    (found,) = gathered({"m": 7}, syncs=syncs, cuts=cuts).misses
    assert found == {"node": "m", "count": 2, "away_s": 3.0, "bytes_per_s": None, "now": 7}


def test_whoever_comes_back_when_the_backlog_is_freed_syncs_in_full_for_that() -> None:
    """By whatever its master says of it: the stream has another name by then."""
    cuts = [pair(at_us=at_s * S, back_s=back_s) for at_s, back_s in ((10, 20.0), (50, 4.5), (70, None))]
    cuts += [pair(replica="s", at_us=12 * S, back_s=30.0), pair(replica="t", at_us=12 * S, back_s=1.0)]
    cuts += [pair(replica="u", at_us=30 * S, back_s=12.0), pair(node="n", at_us=10 * S, back_s=20.0)]
    syncs = [
        pair(at_us=30 * S, cause="id_mismatch", total_ms=1500.0),
        pair(at_us=54_500_000, cause="id_mismatch", total_ms=99.0),
        pair(replica="s", at_us=42 * S, handshake_ms=9.5, cause="no_backlog", total_ms=500.0),
        pair(replica="t", at_us=13 * S, cause="out_of_backlog", total_ms=99.0),
        pair(replica="u", at_us=42 * S, handshake_ms=9.0, cause="id_mismatch", total_ms=99.0),
        pair(node="n", at_us=30 * S, cause="id_mismatch", total_ms=99.0),
    ]
    found = gathered(freed={"m": [13 * S, 20 * S, 42 * S + 9500], "o": [20 * S]}, cuts=cuts, syncs=syncs).freed
    assert found == [{"node": "m", "count": 2, "away_s": 30.0, "saved_s": 2.0}]


def test_a_backlog_is_freed_by_the_clock_by_which_replicas_come_back() -> None:
    """The master's clock is an hour ahead of the reference; the time in between is 20 s."""
    cuts = [pair(at_us=10 * S, back_s=20.0), pair(replica="s", at_us=3600 * S, back_s=30.0)]
    syncs: list[Row] = [
        pair(at_us=30 * S, cause="id_mismatch", total_ms=1500.0),
        pair(replica="s", at_us=3630 * S, cause="id_mismatch", total_ms=99.0),
    ]
    skew: list[Row] = [{"node": "m", "reference": "r", "skew_ms": 3_600_000.0}]
    found = gathered(freed={"m": [3620 * S]}, cuts=cuts, syncs=syncs, skew=skew).freed
    assert found == [{"node": "m", "count": 1, "away_s": 20.0, "saved_s": 1.5}]


def test_connections_are_compared_where_there_are_enough_of_both() -> None:
    def full(node: str, mode: str, *took: float) -> list[Row]:
        return [{"node": node, "mode": mode, "ok": True, "total_ms": ms} for ms in took]

    rows = [*full("m", "full_disk", 4, 6, 8), *full("m", "rdb_channel", 1, 2, 3, 4), *full("n", "full_disk", 1, 1, 1),
            *full("n", "dual_channel", 1, 1)]  # fmt: skip
    (found,) = gathered(syncs=rows).channels
    assert found == {"node": "m", "one_n": 3, "one_ms": 6.0, "two_n": 4, "two_ms": 2.5, "dual_n": 0}


def test_storms_of_a_master_are_summed() -> None:
    rows: list[Row] = [
        {"node": "m", "at_us": 0, "end_us": 2 * S, "syncs": 3, "snapshots": 2, "on_disk": 1, "delay_s": delay}
        for delay in (0.5, 1.5)
    ]
    (found,) = gathered(storms=rows).storms
    assert found == {"node": "m", "count": 2, "snapshots": 4, "syncs": 6, "on_disk": 2, "delay_s": 1.5, "lasted_s": 4.0}


def test_an_outage_of_a_pair_that_loops_is_the_loop() -> None:
    loop = pair(reason="load_failed", count=9, open_s=95.0)
    buffer = pair(replica="u", reason="output_buffer", count=9, open_s=95.0)
    out = [pair(open_outage_s=95.0), pair(replica="s", open_outage_s=5.0), pair(replica="t", open_outage_s=0.5)]
    found = gathered(loops=[loop, buffer], availability=out)
    assert [row["replica"] for row in found.loops] == ["r"]
    assert [row["replica"] for row in found.outages] == ["s"]
