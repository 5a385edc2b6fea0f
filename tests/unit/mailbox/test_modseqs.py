"""Modseqs. Requirements P2, M2."""

from __future__ import annotations

from pyrepl.mailbox.modseqs import MOST_AHEAD_US, MOST_MODSEQ, Clock, Implied, Landing, land, modseq_after
from pyrepl.mailbox.words import Box


def test_m2_a_change_behind_higher_ones_gets_a_higher_one_and_all_are_told() -> None:
    assert land(5, 6, is_own=False, touches=True) == Landing(6, 6, False)
    assert land(6, 6, is_own=False, touches=True) == Landing(7, 7, True)
    assert land(9, 6, is_own=False, touches=False) == Landing(6, 9, False), "a MODSEQ causes no further one"
    assert land(9, 10, is_own=True, touches=True) == Landing(10, 10, False)


def test_nothing_is_numbered_higher_than_what_others_take() -> None:
    assert modseq_after(6) == 7 and modseq_after(MOST_MODSEQ - 1) == modseq_after(MOST_MODSEQ) == MOST_MODSEQ
    assert land(MOST_MODSEQ, 6, is_own=False, touches=True) == Landing(MOST_MODSEQ, MOST_MODSEQ, True)


def test_p2_a_modseq_that_is_not_stated_is_the_one_after() -> None:
    implied, inbox, work = Implied(), Box("in", True), Box("work", True)
    assert implied.resolve("alice", inbox, None) is None
    assert [implied.resolve("alice", inbox, stated) for stated in (5, None, None, 9, None)] == [5, 6, 7, 9, 10]
    assert implied.resolve("alice", work, None) is None
    assert [implied.resolve("bob", work, stated) for stated in (MOST_MODSEQ, None)] == [MOST_MODSEQ, MOST_MODSEQ]
    for number in range(Implied.MOST):
        implied.resolve("bob", Box(str(number)), 1)
    assert implied.resolve("alice", inbox, None) is None, "only so many are remembered"


def test_m5_the_clock_is_the_one_that_is_furthest_ahead() -> None:
    clock = Clock(1000.0)
    assert clock.read(2.5) == 1_002_500_000
    clock.heard(1_002_000_000, 2.5)
    assert clock.read(2.5) == 1_002_500_000, "one that is behind"
    clock.heard(1_007_500_000, 2.5)
    assert clock.read(2.5) == 1_007_500_000 and clock.read(3.0) == 1_008_000_000
    clock.heard(1_003_000_000 + MOST_AHEAD_US + 1, 3.0)
    assert clock.read(3.0) == 1_008_000_000, "one that nobody can have"
