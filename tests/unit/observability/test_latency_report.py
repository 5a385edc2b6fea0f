"""LATENCY GRAPH and LATENCY DOCTOR: the form of the graph, and advice that fits the settings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.config.settings import Settings
from pyrepl.node.latency_monitor import LatencyMonitor, Sample, Series
from pyrepl.observability.latency_report import doctor, graph


def series(*samples: tuple[int, int]) -> Series:
    first, *others = (Sample(*sample) for sample in samples)
    found = Series(first)
    for sample in others:
        found.add(sample)
    return found


def test_a_graph() -> None:
    drawn = graph("command", series((10, 100), (20, 500), (100, 300)), 120)
    assert drawn.split("\n") == [
        "command - high 500 ms, low 100 ms (all time high 500 ms)",
        "-" * 80,
        " # ",
        " | ",
        " |#",
        "_||",
        "112",
        "mm0",
        "  s",
        "",
    ]


def test_one_sample_is_a_flat_line() -> None:
    assert graph("fork", series((7, 20)), 7).split("\n")[2:-1] == [" ", " ", " ", "_", "0", "s"]


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**6)), min_size=1, max_size=200), st.integers(0, 10**7)
)
def test_no_line_is_wider_than_the_rule(samples: list[tuple[int, int]], now_s: int) -> None:
    lines = graph("command", series(*samples), now_s).split("\n")
    assert max(map(len, lines[1:])) == 80
    assert len(set(map(len, lines[2:-1]))) == 1


def report(*events: str, **settings: int | str) -> str:
    monitor = LatencyMonitor()
    chosen = Settings(**{"latency_monitor_threshold": 10, **settings})
    monitor.follow(chosen.latency_monitor_threshold)
    for event in events:
        monitor.note(event, 0.5, 1000)
    return doctor(monitor, chosen)


def test_off_the_doctor_says_how_to_switch_it_on() -> None:
    assert "CONFIG SET latency-monitor-threshold" in report(latency_monitor_threshold=0)


def test_nothing_took_long() -> None:
    assert "(10 ms)" in report()


def test_the_figures_of_each_event() -> None:
    assert "1. command: 1 samples (mean 500 ms, mean deviation 0 ms, one in 1.00 s); the worst took 500 ms." in report(
        "command", "fork"
    )


@pytest.mark.parametrize(("slower_than", "told"), [(-1, True), (20_000, True), (10_000, False), (0, False)])
def test_the_slow_log_must_note_as_much(slower_than: int, told: bool) -> None:
    text = report("fast-command", slowlog_log_slower_than=slower_than)
    assert ("CONFIG SET slowlog-log-slower-than 10000" in text) is told


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ("fork", "save"),
        ("expire-cycle", "active-expire-effort"),
        ("eviction-cycle", "maxmemory"),
        ("aof-write", "no-appendfsync-on-rewrite"),
        ("aof-fsync-always", "appendfsync"),
    ],
)
def test_each_event_has_an_advice_that_names_a_directive(event: str, named: str) -> None:
    assert named in report(event) and hasattr(Settings(), named.replace("-", "_"))
