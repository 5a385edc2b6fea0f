"""Which node is next, after which pause, and when a subscriber gives up."""

from __future__ import annotations

import pytest

from pyrepl.changes.roundabout import STEADY_S, Pace, Roundabout, Try

PACE = Pace(first_s=0.1, most_s=1.0)
TOO_OLD = RuntimeError("too old")
WRONG_PASSWORD = RuntimeError("wrong password")


def over(*nodes: str, jitter: float = 1.0) -> Roundabout[str]:
    """Jitter 1 (never drawn) makes each pause its full length."""
    return Roundabout(nodes, PACE, lambda: jitter)


def test_a_round_has_no_pauses_and_then_comes_a_longer_one_each_time() -> None:
    nodes = over("a", "b", "c")
    assert nodes.node == "a"
    assert [nodes.ended(None) for _ in range(2)] == [Try("b", 0.0), Try("c", 0.0)]
    assert nodes.ended(None) == Try("a", 0.1)
    assert [nodes.ended(None) for _ in range(3)][-1] == Try("a", 0.2)
    assert [nodes.ended(None) for _ in range(12)][2::3] == [Try("a", s) for s in (0.4, 0.8, 1.0, 1.0)]


def test_jitter_makes_a_pause_shorter_by_half_at_most() -> None:
    assert over("a", jitter=0.0).ended(None) == Try("a", 0.05)
    tried = over("a", jitter=0.5).ended(None)
    assert tried is not None and tried.after_s == pytest.approx(0.075)


def test_after_a_node_that_served_the_next_is_asked_at_once() -> None:
    nodes = over("a", "b")
    assert nodes.ended(5.0) == Try("b", 0.0)
    assert nodes.ended(None) == Try("a", 0.1), "that was the whole round"


def test_one_that_serves_and_cuts_again_and_again_is_not_asked_in_haste() -> None:
    nodes = over("a", "b")
    assert [nodes.ended(0.0) for _ in range(4)] == [Try("b", 0.1), Try("a", 0.2), Try("b", 0.4), Try("a", 0.8)]
    alone = over("a")
    assert [alone.ended(2.0) for _ in range(3)] == [Try("a", 0.1), Try("a", 0.2), Try("a", 0.4)]


def test_a_steady_one_is_forgiven() -> None:
    alone = over("a")
    for _ in range(5):
        alone.ended(None)
    assert alone.ended(STEADY_S) == Try("a", 0.1)


def test_a_refusal_counts_when_nobody_does_better_in_the_round() -> None:
    nodes = over("a", "b", "c")
    assert nodes.ended(None, TOO_OLD) == Try("b", 0.0)
    assert nodes.ended(None) == Try("c", 0.0)
    assert nodes.ended(None, WRONG_PASSWORD) is None
    assert nodes.refusals == [TOO_OLD, WRONG_PASSWORD]


def test_a_refusal_is_forgotten_when_another_serves() -> None:
    nodes = over("a", "b")
    nodes.ended(None, TOO_OLD)
    assert nodes.ended(3.0) == Try("a", 0.0)
    assert nodes.refusals == []
    assert nodes.ended(None) == Try("b", 0.1)


def test_a_single_node_that_refuses_ends_it_even_after_it_served() -> None:
    nodes = over("a")
    assert nodes.ended(100.0, TOO_OLD) is None
    assert nodes.refusals == [TOO_OLD]


def test_nobody_to_ask() -> None:
    with pytest.raises(ValueError, match="at least one node"):
        Roundabout([], PACE, lambda: 0.0)
