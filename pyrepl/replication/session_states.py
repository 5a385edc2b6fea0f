"""The states of a replica's connection on its master: which follows which, by what trigger.

Not here: what is done on the way (session.py), which calls bring the triggers (roster.py, pairs.py).
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table
from pyrepl.replication.events import SessionState


class SessionTrigger(enum.StrEnum):
    """What moves a session from state to state."""

    CONTINUE = "continue"
    FULL_RESYNC = "full_resync"
    TWO_CHANNELS = "two_channels"
    SNAPSHOT_BEGINS = "snapshot_begins"
    STREAM_BESIDE = "stream_beside"
    """On the main connection of a pair: the snapshot begins on the other one, and the stream here."""
    FILE_READY = "file_ready"
    FILE_SENT = "file_sent"
    CHILD_DONE = "child_done"
    FIRST_ACK = "first_ack"
    END = "end"


_S = SessionState
_T = SessionTrigger
SESSION: Final[Table[SessionState, SessionTrigger]] = Table(
    "A replica on its master",
    (_S.HANDSHAKE,),
    {
        (_S.HANDSHAKE, _T.CONTINUE): _S.ONLINE,
        (_S.HANDSHAKE, _T.FULL_RESYNC): _S.WAIT_SNAPSHOT_START,
        (_S.HANDSHAKE, _T.TWO_CHANNELS): _S.WAIT_RDB_CHANNEL,
        (_S.HANDSHAKE, _T.STREAM_BESIDE): _S.SEND_BULK_AND_STREAM,
        (_S.WAIT_SNAPSHOT_START, _T.SNAPSHOT_BEGINS): _S.WAIT_SNAPSHOT_END,
        (_S.WAIT_SNAPSHOT_END, _T.FILE_READY): _S.SEND_BULK,
        (_S.WAIT_SNAPSHOT_END, _T.CHILD_DONE): _S.ONLINE,
        (_S.SEND_BULK, _T.FILE_SENT): _S.ONLINE,
        (_S.WAIT_RDB_CHANNEL, _T.STREAM_BESIDE): _S.SEND_BULK_AND_STREAM,
        (_S.SEND_BULK_AND_STREAM, _T.FIRST_ACK): _S.ONLINE,
        **{(state, _T.END): _S.CLOSED for state in SessionState if state is not _S.CLOSED},
    },
)
