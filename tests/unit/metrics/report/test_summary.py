"""Percentiles by mode, and the slowest."""

from __future__ import annotations

from pyrepl.metrics.report.model import Row
from pyrepl.metrics.report.summary import by_mode, collapsed, known, quantile, slowest


def test_quantiles_are_interpolated() -> None:
    assert quantile([], 0.5) is None
    assert quantile([7.0], 0.99) == 7.0
    assert quantile([4.0, 1.0, 2.0, 3.0], 0.5) == 2.5
    assert quantile([0.0, 10.0], 0.9) == 9.0
    assert quantile([0.0, 10.0], 1.0) == 10.0


def test_medians_by_mode_of_those_that_ended_well() -> None:
    rows: list[Row] = [
        {"mode": "rdb_channel", "ok": True, "total_ms": 10.0, "load_ms": 4.0, "bytes": 7},
        {"mode": "rdb_channel", "ok": True, "total_ms": 20.0, "load_ms": None, "bytes": None},
        {"mode": "rdb_channel", "ok": False, "total_ms": 999.0},
        {"mode": "continue", "ok": True, "total_ms": 1.0},
        {"mode": "strange", "ok": True},
        {"mode": "full_disk", "ok": None},
    ]
    partial, channel, strange = by_mode(rows)
    assert (partial.mode, partial.count, partial.phases) == ("continue", 1, {})
    assert (channel.mode, channel.count, channel.total_ms, channel.slowest_ms) == ("rdb_channel", 2, 15.0, 20.0)
    assert (channel.phases, channel.bytes) == ({"load_ms": 4.0}, 7)
    assert (strange.mode, strange.total_ms) == ("strange", None)


def test_the_slowest_first() -> None:
    rows: list[Row] = [{"total_ms": 1.0, "at_us": 3}, {"total_ms": 5.0, "at_us": 2}, {"total_ms": 5.0, "at_us": 1}, {}]
    assert [row["at_us"] for row in slowest(rows, 2)] == [1, 2]
    assert known(rows, "total_ms") == [1.0, 5.0, 5.0]


def test_a_loop_becomes_one_row() -> None:
    def failed(pair: str, at: int, why: str) -> Row:
        return {"node": "m", "replica": pair, "at_us": at, "end_us": at + 1, "ok": False, "failure": why, "bytes": 5}

    well: Row = {"node": "m", "replica": "a", "at_us": 90, "ok": True}
    rows = [*(failed("a", at, "timeout") for at in (1, 3, 5)), failed("b", 6, "killed"), failed("a", 7, "timeout"),
            failed("a", 8, "killed"), failed("b", 9, "killed"), well, failed("a", 95, "killed")]  # fmt: skip
    found = [
        (row["replica"], row["at_us"], row.get("end_us"), row.get("bytes"), count) for row, count in collapsed(rows)
    ]
    assert found == [
        ("a", 1, 8, 20, 4), ("b", 6, 7, 5, 1), ("b", 9, 10, 5, 1), ("a", 8, 9, 5, 1), ("a", 90, None, None, 1),
        ("a", 95, 96, 5, 1),
    ]  # fmt: skip
