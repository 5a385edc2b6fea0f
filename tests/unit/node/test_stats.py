"""Counters, their reset, and rates."""

from __future__ import annotations

import pytest

from pyrepl.node.stats import MAX_ERROR_KINDS, RateMeter, Stats


class TestErrors:
    def test_by_the_first_word(self) -> None:
        stats = Stats()
        for text in ("ERR a b", "ERR c", "WRONGTYPE x", "OOPS"):
            stats.count_error(text)
        assert stats.errors == {"ERR": 2, "WRONGTYPE": 1, "OOPS": 1}
        assert stats.total_error_replies == 4

    def test_kinds_are_bounded(self) -> None:
        stats = Stats()
        for number in range(MAX_ERROR_KINDS + 50):
            stats.count_error(f"E{number} x")
        stats.count_error("E0 again")
        assert len(stats.errors) == MAX_ERROR_KINDS
        assert stats.errors["E0"] == 2
        assert stats.total_error_replies == MAX_ERROR_KINDS + 51


class TestReset:
    def test_rows_stay_in_place(self) -> None:
        stats = Stats()
        row = stats.of("get")
        row.calls = row.failed_calls = row.rejected_calls = 3
        row.seconds = 1.5
        stats.reset()
        assert stats.of("get") is row
        assert (row.calls, row.failed_calls, row.rejected_calls, row.seconds) == (0, 0, 0, 0.0)

    def test_every_counter_is_zero(self) -> None:
        stats = Stats()
        counters = [name for name in dir(stats) if name[0] != "_" and isinstance(getattr(stats, name), int)]
        assert len(counters) > 10
        for name in counters:
            setattr(stats, name, 5)
        stats.reset()
        assert all(getattr(stats, name) == 0 for name in counters)


class TestRateMeter:
    def test_a_steady_rate(self) -> None:
        meter = RateMeter()
        for tick in range(40):
            meter.sample(tick * 10, 100.0 + tick * 0.1)
        assert meter.per_second == pytest.approx(100.0)

    def test_nothing_yet(self) -> None:
        meter = RateMeter()
        assert meter.per_second == 0.0
        meter.sample(1_000_000, 100.0)
        assert meter.per_second == 0.0

    def test_it_falls_when_nothing_happens(self) -> None:
        meter = RateMeter()
        for tick in range(17):
            meter.sample(tick * 10, 100.0 + tick * 0.1)
        for tick in range(17, 40):
            meter.sample(160, 100.0 + tick * 0.1)
        assert meter.per_second == 0.0

    def test_a_reset_counter_is_no_negative_rate(self) -> None:
        meter = RateMeter()
        meter.sample(1000, 100.0)
        meter.sample(0, 100.1)
        assert meter.per_second == 0.0

    def test_time_that_stands_still_is_no_sample(self) -> None:
        meter = RateMeter()
        meter.sample(0, 100.0)
        meter.sample(5, 100.0)
        meter.sample(10, 101.0)
        assert meter.per_second == pytest.approx(10 / 16)
