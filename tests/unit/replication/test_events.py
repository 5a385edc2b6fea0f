"""The alphabets of the machines: what their values show."""

from __future__ import annotations

import pytest

from pyrepl.replication.events import Apply, LinkState, SessionState
from pyrepl.replication.link import ROLE_STATES


@pytest.mark.parametrize(
    "state, shown",
    [
        (SessionState.WAIT_SNAPSHOT_START, "wait_bgsave"),
        (SessionState.WAIT_SNAPSHOT_END, "wait_bgsave"),
        (SessionState.SEND_BULK, "send_bulk"),
        (SessionState.ONLINE, "online"),
    ],
)
def test_session_states_as_info_prints_them(state: SessionState, shown: str) -> None:
    assert state.wire_name == shown


def test_each_link_state_has_a_word_for_role() -> None:
    assert set(ROLE_STATES) == set(LinkState)
    assert set(ROLE_STATES.values()) == {"none", "connect", "connecting", "handshake", "sync", "connected"}


def test_an_apply_knows_its_end() -> None:
    assert Apply([], [], b"12345", 10).end == 15
