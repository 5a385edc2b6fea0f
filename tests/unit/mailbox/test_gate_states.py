"""The table of a mailbox's gate."""

from __future__ import annotations

from pyrepl.mailbox.gate_states import GATE, GateState, GateTrigger


def test_it_opens_under_a_mastership_alone() -> None:
    ways = {(state, trigger) for (state, trigger), after in GATE.moves.items() if after is GateState.OPENING}
    assert ways == {(GateState.WANTED, GateTrigger.GRANTED)}


def test_from_everywhere_it_can_be_shut() -> None:
    reached = {GateState.SHUT}
    for _ in GateState:
        reached |= {state for (state, _), after in GATE.moves.items() if after in reached}
    assert reached == set(GateState)
