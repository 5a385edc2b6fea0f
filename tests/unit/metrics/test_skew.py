"""Clocks from causes and effects."""

from __future__ import annotations

from pyrepl.metrics.skew import Bounds, estimate


def bounds(master: str, replica: str, low: int, high: int, pairs: int = 3) -> Bounds:
    return Bounds(master, replica, low, high, float(low), float(high), pairs)


def test_the_middle_of_what_is_possible() -> None:
    clocks = {clock.node: clock for clock in estimate([bounds("m", "r", 900_000, 1_100_000)])}
    assert (clocks["r"].skew_ms - clocks["m"].skew_ms, clocks["r"].spread_ms) in ((1000.0, 100.0), (1000.0, 0.0))
    assert clocks["m"].reference == clocks["r"].reference


def test_a_chain_adds_up() -> None:
    clocks = {clock.node: clock for clock in estimate([bounds("a", "b", 1000, 1000), bounds("b", "c", 5000, 5000)])}
    assert clocks["b"].reference == "b"
    assert clocks["a"].skew_ms == -1.0
    assert clocks["c"].skew_ms == 5.0


def test_groups_have_references_of_their_own() -> None:
    clocks = estimate([bounds("a", "b", 0, 0), bounds("x", "y", 7000, 7000)])
    assert len({clock.reference for clock in clocks}) == 2


def test_drifting_clocks_take_the_medians() -> None:
    drifting = Bounds("m", "r", 90_000, 10_000, 50_000.0, 52_000.0, 9)
    assert drifting.middle_us == 51_000
    assert drifting.spread_us == 1000


def test_one_sided_knowledge_is_better_than_none() -> None:
    assert Bounds("m", "r", 5000, None, 5000.0, None, 1).middle_us == 5000
    assert Bounds("m", "r", None, None, None, None, 1).middle_us == 0
