"""Durations in, percentiles out, to two significant digits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.node.latencies import Latencies


def noted(*durations_ns: int) -> Latencies:
    latencies = Latencies()
    for duration in durations_ns:
        latencies.note(duration / 1e9)
    return latencies


def test_none_is_nothing() -> None:
    assert Latencies().percentile_us(99.9) == 0.0
    assert Latencies().doublings() == []


@given(st.lists(st.integers(1, 10**9), min_size=1), st.floats(0, 100))
def test_a_percentile_is_one_of_them_to_a_128th(durations: list[int], percent: float) -> None:
    found = noted(*durations).percentile_us(percent) * 1000
    durations.sort()
    exact = durations[max(1, int(percent / 100 * len(durations) + 0.5)) - 1]
    assert exact - 1 <= found <= exact * (1 + 1 / 128) + 1


def test_what_takes_longer_than_a_second_is_counted_as_a_second() -> None:
    assert noted(5 * 10**9).percentile_us(50) == ((1 << 30) - 1) / 1000


def test_a_clock_that_went_back_is_no_time() -> None:
    assert noted(-5).percentile_us(50) == 0.0


def test_the_steps_double_and_add_up() -> None:
    assert noted(500, 900, 1500, 5000, 5000).doublings() == [(1, 2), (2, 3), (8, 5)]
    assert noted(32_800, 3_090_000, 10**9).doublings() == [(33, 1), (4227, 2), (1_082_130, 3)]


def test_cleared_it_begins_anew() -> None:
    latencies = noted(500, 600)
    latencies.clear()
    assert latencies.count == 0 and latencies.doublings() == []
    latencies.note(1e-6)
    assert latencies.count == 1
