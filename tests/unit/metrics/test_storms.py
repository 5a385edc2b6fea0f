"""Which full resyncs are a storm."""

from __future__ import annotations

import polars as pl

from pyrepl.metrics.storms import storms

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
