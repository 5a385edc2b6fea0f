"""The states of the link to a master: the table says which trigger leads from which state to which.

link_life.py looks the next state up here before each move. A pair (state, trigger) that the table lacks is a
PeerError. The groups of states and the words that ROLE shows for them stand here too.

Not here: what the link does on the way (conversation.py, link_life.py).
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table
from pyrepl.replication.events import LinkState


class LinkTrigger(enum.StrEnum):
    """What moves the link from state to state."""

    START = "start"
    """The shell begins to follow the master."""
    DUE = "due"
    """The wait after a failure is over."""
    ESTABLISHED = "established"
    """The shell reports that the connection stands."""
    CONTINUE = "continue"
    """The master answered `+CONTINUE`."""
    FULL_RESYNC = "full_resync"
    """The master stated the snapshot's cut: in its answer to PSYNC, or on the second connection."""
    TWO_CHANNELS = "two_channels"
    """The master answered PSYNC with the order to open a second connection."""
    LAST_BYTE = "last_byte"
    """The last byte of the snapshot came."""
    LOADED = "loaded"
    """The shell has loaded a snapshot that came on the only connection: the stream follows on it."""
    SNAPSHOT_LOADED = "snapshot_loaded"
    """The shell has loaded a snapshot that came on the second connection: the buffered stream is applied next."""
    CAUGHT_UP = "caught_up"
    """Nothing of the buffered stream is left."""
    FAIL = "fail"
    """The connection is gone, or we give it up; another try follows."""
    STOP = "stop"
    """The shell ends the link for good."""


_S = LinkState
_T = LinkTrigger
BUSY: Final = (_S.CONNECTING, _S.HANDSHAKE, _S.PAIRING, _S.TRANSFER, _S.LOADING, _S.CATCHING_UP, _S.CONNECTED)
"""While there is a connection, or one is being made."""
SYNCING: Final = (_S.TRANSFER, _S.LOADING, _S.CATCHING_UP)
"""From the moment when the snapshot's cut is known until the stream is applied as it comes. INFO shows these as
master_sync_in_progress."""
TAKING: Final = (_S.PAIRING, _S.TRANSFER)
"""Until the last byte of the snapshot. On two channels the second connection is needed in these states alone."""

LINK: Final = Table(
    "The link to a master",
    (_S.IDLE,),
    {
        (_S.IDLE, _T.START): _S.CONNECTING,
        (_S.WAITING, _T.DUE): _S.CONNECTING,
        (_S.CONNECTING, _T.ESTABLISHED): _S.HANDSHAKE,
        (_S.HANDSHAKE, _T.CONTINUE): _S.CONNECTED,
        (_S.HANDSHAKE, _T.FULL_RESYNC): _S.TRANSFER,
        (_S.HANDSHAKE, _T.TWO_CHANNELS): _S.PAIRING,
        (_S.PAIRING, _T.FULL_RESYNC): _S.TRANSFER,
        (_S.TRANSFER, _T.LAST_BYTE): _S.LOADING,
        (_S.LOADING, _T.LOADED): _S.CONNECTED,
        (_S.LOADING, _T.SNAPSHOT_LOADED): _S.CATCHING_UP,
        (_S.CATCHING_UP, _T.CAUGHT_UP): _S.CONNECTED,
        **{(state, _T.FAIL): _S.WAITING for state in BUSY},
        **{(state, _T.STOP): _S.IDLE for state in LinkState},
    },
)

ROLE_STATES: Final[dict[LinkState, str]] = {
    _S.IDLE: "none",
    _S.WAITING: "connect",
    _S.CONNECTING: "connecting",
    _S.HANDSHAKE: "handshake",
    _S.PAIRING: "handshake",
    _S.TRANSFER: "sync",
    _S.LOADING: "sync",
    _S.CATCHING_UP: "sync",
    _S.CONNECTED: "connected",
}
"""What ROLE calls each state. Source: Redis 7.0 `roleCommand`; Redis has no word of its own for PAIRING."""


class OldData(enum.Enum):
    """When a full resync destroys the data we had, and with it the position (see Link.keep_old_data)."""

    GOES_AT_FIRST_BYTE = "first_byte"
    """The snapshot is loaded while it comes, into the emptied keyspace (repl-diskless-load on-empty-db)."""
    GOES_AT_LAST_BYTE = "last_byte"
    """The snapshot is written to a file first (repl-diskless-load disabled); the keyspace is emptied to load it."""
    STAYS_UNTIL_LOADED = "loaded"
    """The snapshot is loaded beside the old data, and takes its place when it is whole (repl-diskless-load swapdb)."""
