"""The table of the link's moves."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.events import LinkState
from pyrepl.replication.link_states import BUSY, ROLE_STATES, TRANSITIONS, Trigger, next_state


def test_each_state_has_a_word_for_role() -> None:
    assert set(ROLE_STATES) == set(LinkState)
    assert set(ROLE_STATES.values()) == {"none", "connect", "connecting", "handshake", "sync", "connected"}


def test_whatever_is_absent_is_refused() -> None:
    for state in LinkState:
        for trigger in Trigger:
            if (state, trigger) in TRANSITIONS:
                assert next_state(state, trigger) is TRANSITIONS[state, trigger]
            else:
                with pytest.raises(PeerError, match=f"{trigger} is not expected in state {state}"):
                    next_state(state, trigger)


def test_every_state_can_be_reached_and_left() -> None:
    assert set(TRANSITIONS.values()) == set(LinkState)
    for state in BUSY:
        assert next_state(state, Trigger.FAIL) is LinkState.WAITING
    for state in LinkState:
        assert next_state(state, Trigger.STOP) is LinkState.IDLE
