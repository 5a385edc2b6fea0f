"""The latency monitor: one sample a second, the longest; bounded; off by default."""

from __future__ import annotations

from pyrepl.node.latency_monitor import SAMPLES, LatencyMonitor, Sample


def on(threshold_ms: int = 10) -> LatencyMonitor:
    monitor = LatencyMonitor()
    monitor.follow(threshold_ms)
    return monitor


def test_off_it_notes_nothing() -> None:
    monitor = LatencyMonitor()
    monitor.note("fork", 1e9, 1000)
    monitor.follow(10)
    monitor.follow(0)
    monitor.note("fork", 1e9, 1000)
    assert not monitor.series and not monitor.is_on


def test_what_takes_as_long_as_the_threshold_is_noted() -> None:
    monitor = on(10)
    monitor.note("fork", 0.0099, 1000)
    assert not monitor.series
    monitor.note("fork", 0.010, 1000)
    assert list(monitor.series["fork"].samples) == [Sample(1, 10)]


def test_the_longest_of_a_second_stays() -> None:
    monitor = on()
    for elapsed_s, now_ms in ((0.020, 1000), (0.050, 1900), (0.030, 1999), (0.040, 2000)):
        monitor.note("command", elapsed_s, now_ms)
    series = monitor.series["command"]
    assert list(series.samples) == [Sample(1, 50), Sample(2, 40)]
    assert series.most_ms == 50


def test_the_oldest_go_and_the_worst_is_remembered() -> None:
    monitor = on()
    monitor.note("command", 0.9, 0)
    for second in range(1, SAMPLES + 1):
        monitor.note("command", 0.01, second * 1000)
    series = monitor.series["command"]
    assert len(series.samples) == SAMPLES and series.samples[0] == Sample(1, 10)
    assert series.most_ms == 900


def test_reset_of_some_and_of_all() -> None:
    monitor = on()
    for event in ("a", "b", "c"):
        monitor.note(event, 1, 1000)
    assert monitor.reset(["a", "nope", "a"]) == 1
    assert monitor.reset([]) == 2
    assert monitor.reset([]) == 0
