"""The states of the link to a master: which follows which, by what trigger, and what ROLE calls them.

Not here: what is done on the way (conversation.py, link_life.py).
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table
from pyrepl.replication.events import LinkState


class LinkTrigger(enum.StrEnum):
    """What moves the link from state to state."""

    START = "start"
    DUE = "due"
    ESTABLISHED = "established"
    CONTINUE = "continue"
    FULL_RESYNC = "full_resync"
    TWO_CHANNELS = "two_channels"
    LAST_BYTE = "last_byte"
    LOADED = "loaded"
    SNAPSHOT_LOADED = "snapshot_loaded"
    """As LOADED, on two channels."""
    CAUGHT_UP = "caught_up"
    FAIL = "fail"
    STOP = "stop"


_S = LinkState
_T = LinkTrigger
BUSY: Final = (_S.CONNECTING, _S.HANDSHAKE, _S.PAIRING, _S.TRANSFER, _S.LOADING, _S.CATCHING_UP, _S.CONNECTED)
"""While there is a connection, or one is being made."""
SYNCING: Final = (_S.TRANSFER, _S.LOADING, _S.CATCHING_UP)
"""From the cut of the snapshot that we take to the stream in step."""
TAKING: Final = (_S.PAIRING, _S.TRANSFER)
"""Until the last byte of the snapshot: on two channels, while the second one is needed."""

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
"""What ROLE calls each state."""


class OldData(enum.Enum):
    """When a full resync destroys the data we had, and with it the position (see Link.keep_old_data)."""

    GOES_AT_FIRST_BYTE = "first_byte"
    """Loaded while it comes, into the emptied keyspace (repl-diskless-load on-empty-db, flush-before-load)."""
    GOES_AT_LAST_BYTE = "last_byte"
    """Written to a file first (repl-diskless-load disabled)."""
    STAYS_UNTIL_LOADED = "loaded"
    """Loaded beside the old data (repl-diskless-load swapdb)."""
