"""The states of a replica's connection on its master: the table says which trigger leads from which state to which.

session.py looks the next state up here before each move. A pair (state, trigger) that the table lacks is a PeerError.

Not here: what a session does on the way (session.py), and who calls the methods that bring the triggers (roster.py,
pairs.py, and the shell daemon/feeding/replicas.py).

Source: the SLAVE_STATE_* values of Redis 7.0 and, for two connections, of Redis 8.0. HANDSHAKE and CLOSED are ours.
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table
from pyrepl.replication.events import SessionState


class SessionTrigger(enum.StrEnum):
    """What moves a session from state to state."""

    CONTINUE = "continue"
    """A partial resync was granted: the backlog holds all that the replica lacks."""
    FULL_RESYNC = "full_resync"
    """A full resync was decided, and this connection is the one that takes the snapshot."""
    TWO_CHANNELS = "two_channels"
    """A full resync in Redis's dialect was decided: this is the main connection, and waits for its RDB connection."""
    SNAPSHOT_BEGINS = "snapshot_begins"
    """The snapshot's cut is known: its child is being forked, or a child that writes to disk is joined."""
    STREAM_BESIDE = "stream_beside"
    """On the main connection of a pair: the snapshot goes over the RDB connection, the stream flows here."""
    FILE_READY = "file_ready"
    """The child has written the whole snapshot to a file, which can be sent now."""
    FILE_SENT = "file_sent"
    """The last byte of that file was handed to the connection."""
    CHILD_DONE = "child_done"
    """The child has written the whole snapshot to the replica's socket, without a file."""
    FIRST_ACK = "first_ack"
    """On the main connection of a pair: the replica's first ACK, so it has loaded the snapshot."""
    END = "end"
    """We close the connection, or it is gone."""


_S = SessionState
_T = SessionTrigger
SESSION: Final[Table[SessionState, SessionTrigger]] = Table(
    "A replica on its master",
    (_S.HANDSHAKE,),
    {
        (_S.HANDSHAKE, _T.CONTINUE): _S.ONLINE,
        (_S.HANDSHAKE, _T.FULL_RESYNC): _S.WAIT_SNAPSHOT_START,
        (_S.HANDSHAKE, _T.TWO_CHANNELS): _S.WAIT_RDB_CHANNEL,
        # Valkey's dialect: the main connection stays in HANDSHAKE until it asks to continue at the snapshot's cut.
        (_S.HANDSHAKE, _T.STREAM_BESIDE): _S.SEND_BULK_AND_STREAM,
        # An RDB connection goes as far as WAIT_SNAPSHOT_END; END follows there, since it never carries the stream.
        (_S.WAIT_SNAPSHOT_START, _T.SNAPSHOT_BEGINS): _S.WAIT_SNAPSHOT_END,
        (_S.WAIT_SNAPSHOT_END, _T.FILE_READY): _S.SEND_BULK,
        (_S.WAIT_SNAPSHOT_END, _T.CHILD_DONE): _S.ONLINE,
        (_S.SEND_BULK, _T.FILE_SENT): _S.ONLINE,
        (_S.WAIT_RDB_CHANNEL, _T.STREAM_BESIDE): _S.SEND_BULK_AND_STREAM,
        (_S.SEND_BULK_AND_STREAM, _T.FIRST_ACK): _S.ONLINE,
        **{(state, _T.END): _S.CLOSED for state in SessionState if state is not _S.CLOSED},
    },
)
