"""Sizes with headroom, and how they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.metrics.amounts import least, roomy, setting, shown, span, times

MB = 1 << 20


@pytest.mark.parametrize(
    ("need", "enough", "advised"),
    [(30 * MB, "36mb", "64mb"), (38_260_432, "44mb", "80mb"), (900, "2kb", "4kb"), (500_000, "586kb", "1mb")],
)
def test_there_is_headroom(need: int, enough: str, advised: str) -> None:
    assert (setting(least(need)), setting(roomy(need))) == (enough, advised)


@given(st.integers(1, 1 << 50))
def test_what_is_advised_survives_twice_and_wastes_no_more_than_a_quarter(need: int) -> None:
    assert need * 1.2 <= least(need) < need * 1.2 + MB
    assert need * 2 <= roomy(need) <= max(need * 2.5, 4096)


@pytest.mark.parametrize(
    ("size", "text"), [(5, "5 bytes"), (17_600, "17.6 kB"), (2_000_000_000, "2,000.0 MB"), (30_000_000_000, "30.0 GB")]
)
def test_shown(size: int, text: str) -> None:
    assert shown(size) == text


def test_spans_and_times() -> None:
    assert (span(0.04), span(1.25), times(1), times(2000)) == ("40 ms", "1.2 s", "once", "2,000 times")
