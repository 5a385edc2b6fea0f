"""Facts for advice, summed up from results."""

from __future__ import annotations

import polars as pl

from pyrepl.metrics.facts import Facts, Row
from pyrepl.metrics.gather import gather
from pyrepl.metrics.results import AVAILABILITY, BACKLOG_WHAT_IF, CUTS, LOOPS, STORMS, SYNCS
from pyrepl.metrics.schemas import schema

S = 1_000_000
NOTHING = {
    table.name: pl.DataFrame(schema=schema(table))
    for table in (AVAILABILITY, BACKLOG_WHAT_IF, CUTS, SYNCS, STORMS, LOOPS)
}


def gathered(sizes: dict[str, int] | None = None, **tables: list[Row]) -> Facts:
    found = {name: pl.DataFrame(rows, schema=NOTHING[name].schema) for name, rows in tables.items()}
    return gather(NOTHING | found, sizes or {})


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


def test_cuts_for_the_output_buffer_by_pair() -> None:
    rows = [
        pair(cause="output_buffer", output_buffer_bytes=size, down_s=down, open_s=still)
        for size, down, still in ((None, None, 7.0), (5000, 2.0, None), (0, 3.0, None))
    ]
    (found,) = gathered(cuts=[*rows, pair(cause="timeout", output_buffer_bytes=9000)]).output_buffers
    assert found == pair(count=3, most=5000, down_s=5.0, open_s=7.0)


def test_connections_are_compared_where_there_are_enough_of_both() -> None:
    def full(node: str, mode: str, *took: float) -> list[Row]:
        return [{"node": node, "mode": mode, "ok": True, "total_ms": ms} for ms in took]

    rows = [*full("m", "full_disk", 4, 6, 8), *full("m", "rdb_channel", 1, 2, 3, 4), *full("n", "full_disk", 1, 1, 1),
            *full("n", "dual_channel", 1, 1)]  # fmt: skip
    (found,) = gathered(syncs=rows).channels
    assert found == {"node": "m", "one_n": 3, "one_ms": 6.0, "two_n": 4, "two_ms": 2.5}


def test_storms_of_a_master_are_summed() -> None:
    rows: list[Row] = [
        {"node": "m", "at_us": 0, "end_us": 2 * S, "syncs": 3, "snapshots": 2, "delay_s": delay} for delay in (0.5, 1.5)
    ]
    (found,) = gathered(storms=rows).storms
    assert found == {"node": "m", "count": 2, "snapshots": 4, "syncs": 6, "delay_s": 1.5, "lasted_s": 4.0}


def test_an_outage_of_a_pair_that_loops_is_the_loop() -> None:
    loop = pair(reason="load_failed", count=9, open_s=95.0)
    out = [pair(open_outage_s=95.0), pair(replica="s", open_outage_s=5.0), pair(replica="t", open_outage_s=0.5)]
    found = gathered(loops=[loop], availability=out)
    assert [row["replica"] for row in found.loops] == ["r"]
    assert [row["replica"] for row in found.outages] == ["s"]
