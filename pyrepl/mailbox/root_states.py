"""The states in which a node takes part in elections: the table says which trigger leads from which to which.

root.py looks the next state up here before each move. Not here: what it does on the way.

The design note leaves open how a root is chosen. This is: by a majority of the configured members, in epochs. A node
asks before it claims (PROBING), so that one who cannot win does not end the epoch of a root that others hear.
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table


class RootState(enum.StrEnum):
    """How this node stands to the root of its epoch."""

    FOLLOWING = "following"
    """There is a root, or nobody knows one yet."""
    PROBING = "probing"
    """No root is heard: would the others vote for this node?"""
    CLAIMING = "claiming"
    """It has voted for itself in a new epoch, and asks for votes."""
    COLLECTING = "collecting"
    """It is elected, and waits until no mastership of an older epoch can be left."""
    ROOT = "root"
    """All mailboxes are its own that it has not given away."""


class RootTrigger(enum.StrEnum):
    """What moves it."""

    SILENCE = "silence"
    """No root was heard for too long; or the root itself wants a new epoch, as a mastership is lost."""
    WOULD_WIN = "would_win"
    """A majority would vote for it."""
    MAJORITY = "majority"
    """A majority voted for it; or the operator says so."""
    TIMEOUT = "timeout"
    """Not enough answers in time."""
    CLEARED = "cleared"
    """Nobody can hold an older mastership any more."""
    LEASE_OVER = "lease_over"
    """The root has not heard a majority for a lease."""
    OTHER_EPOCH = "other_epoch"
    """There is a higher epoch, or it has voted in one."""
    FORCE = "force"
    """The operator states that the others are dead."""


_S = RootState
_T = RootTrigger
ROOT: Final[Table[RootState, RootTrigger]] = Table(
    "The root of mailboxes",
    (_S.FOLLOWING,),
    {
        (_S.FOLLOWING, _T.SILENCE): _S.PROBING,
        (_S.ROOT, _T.SILENCE): _S.PROBING,
        (_S.PROBING, _T.WOULD_WIN): _S.CLAIMING,
        (_S.PROBING, _T.TIMEOUT): _S.FOLLOWING,
        (_S.CLAIMING, _T.MAJORITY): _S.COLLECTING,
        (_S.CLAIMING, _T.TIMEOUT): _S.FOLLOWING,
        (_S.COLLECTING, _T.CLEARED): _S.ROOT,
        (_S.COLLECTING, _T.LEASE_OVER): _S.FOLLOWING,
        (_S.ROOT, _T.LEASE_OVER): _S.FOLLOWING,
        **{(state, _T.OTHER_EPOCH): _S.FOLLOWING for state in _S},
        **{(state, _T.FORCE): _S.COLLECTING for state in _S},
    },
)
