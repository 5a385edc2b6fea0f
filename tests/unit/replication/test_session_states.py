"""The table of a session's moves."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.events import SessionState
from pyrepl.replication.session_states import SESSION, SessionTrigger


def test_every_state_ends_once() -> None:
    for state in SessionState:
        if state is SessionState.CLOSED:
            assert not any(SESSION.allows(state, trigger) for trigger in SessionTrigger)
        else:
            assert SESSION.after(state, SessionTrigger.END) is SessionState.CLOSED


def test_a_snapshot_cannot_be_jumped_over() -> None:
    with pytest.raises(PeerError, match="file_sent is not expected in state wait_bgsave_end"):
        SESSION.after(SessionState.WAIT_SNAPSHOT_END, SessionTrigger.FILE_SENT)


def test_the_two_ways_to_the_stream_beside_a_snapshot() -> None:
    for before in (SessionState.HANDSHAKE, SessionState.WAIT_RDB_CHANNEL):
        assert SESSION.after(before, SessionTrigger.STREAM_BESIDE) is SessionState.SEND_BULK_AND_STREAM
