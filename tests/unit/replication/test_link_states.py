"""The table of the link's moves."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.events import LinkState
from pyrepl.replication.link_states import BUSY, LINK, ROLE_STATES, LinkTrigger


def test_each_state_has_a_word_for_role() -> None:
    assert set(ROLE_STATES) == set(LinkState)
    assert set(ROLE_STATES.values()) == {"none", "connect", "connecting", "handshake", "sync", "connected"}


def test_whatever_is_absent_is_refused() -> None:
    for state in LinkState:
        for trigger in LinkTrigger:
            if LINK.allows(state, trigger):
                assert LINK.after(state, trigger) is LINK.moves[state, trigger]
            else:
                with pytest.raises(PeerError, match=f"{trigger} is not expected in state {state}"):
                    LINK.after(state, trigger)


def test_every_state_can_be_reached_and_left() -> None:
    assert set(LINK.moves.values()) == set(LinkState)
    for state in BUSY:
        assert LINK.after(state, LinkTrigger.FAIL) is LinkState.WAITING
    for state in LinkState:
        assert LINK.after(state, LinkTrigger.STOP) is LinkState.IDLE
