"""The alphabets of the machines: what their values show."""

from __future__ import annotations

import pytest

from pyrepl.replication.events import Apply, SessionState


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


def test_an_apply_knows_its_end() -> None:
    assert Apply([], [], b"12345", 10).end == 15
