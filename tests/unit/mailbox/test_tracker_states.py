"""The table of a mailbox's mastership."""

from __future__ import annotations

from pyrepl.mailbox.tracker_states import TRACKER, Phase, TrackerTrigger


def test_only_what_is_ours_is_handed_over() -> None:
    may = {state for (state, trigger) in TRACKER.moves if trigger is TrackerTrigger.HAND_OVER}
    assert may == {Phase.HELD, Phase.DRAINING}


def test_it_is_ours_by_give_or_as_the_root() -> None:
    ways = {(state, trigger) for (state, trigger), after in TRACKER.moves.items() if after is Phase.HELD}
    assert {trigger for _, trigger in ways} == {TrackerTrigger.APPLIED, TrackerTrigger.LEASE_AGAIN}
