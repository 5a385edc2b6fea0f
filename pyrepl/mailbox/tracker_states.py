"""The phases of one mailbox's mastership on one node: the table says which trigger leads from which to which.

mastership.py looks the next phase up here before each move. Not here: what it does on the way.

Source: the design note's tracker (LOCK, UNLOCK, GIVE, TAKE, REQUEST, ROOT-SET, ROOT-CLEAR), with leases.
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table


class Phase(enum.StrEnum):
    """How this node stands to the mastership of one mailbox."""

    ELSEWHERE = "elsewhere"
    """Another node has it, and nobody here wants it."""
    ASKING = "asking"
    """It was asked for."""
    ARRIVING = "arriving"
    """It is ours, but ops that its last master knew are not applied here yet."""
    HELD = "held"
    """It is ours."""
    DRAINING = "draining"
    """It is ours until the last open LOCK ends; new ones wait."""
    CLEARING = "clearing"
    """There is a new root: LOCKs of the old epoch are still open."""
    APART = "apart"
    """Without a lease, and it was ours."""


class TrackerTrigger(enum.StrEnum):
    """What moves it."""

    WANT = "want"
    """A LOCK while it is not ours."""
    GIVE_UP = "give_up"
    """No LOCK waits any more."""
    GIVE = "give"
    """It was given to us under a higher token."""
    APPLIED = "applied"
    """All that its last master knew is applied here; or the root has it as nobody else can."""
    DRAIN = "drain"
    """Somebody else waits for it, and its tenure is over."""
    HAND_OVER = "hand_over"
    """It is given to another node."""
    ROOT_SET = "root_set"
    """A new root, while LOCKs are open."""
    CLEARED = "cleared"
    """A new root, and no LOCK is open any more."""
    LEASE_GONE = "lease_gone"
    """The lease is over."""
    LEASE_AGAIN = "lease_again"
    """There is a lease again in the same epoch, so nobody else can have got it."""


_P = Phase
_T = TrackerTrigger
TRACKER: Final[Table[Phase, TrackerTrigger]] = Table(
    "The mastership of a mailbox",
    (_P.ELSEWHERE, _P.HELD),
    {
        (_P.ELSEWHERE, _T.WANT): _P.ASKING,
        (_P.ELSEWHERE, _T.GIVE): _P.ARRIVING,
        (_P.ELSEWHERE, _T.APPLIED): _P.HELD,
        (_P.ASKING, _T.GIVE): _P.ARRIVING,
        (_P.ASKING, _T.GIVE_UP): _P.ELSEWHERE,
        (_P.ASKING, _T.APPLIED): _P.HELD,
        (_P.ARRIVING, _T.APPLIED): _P.HELD,
        (_P.HELD, _T.DRAIN): _P.DRAINING,
        (_P.HELD, _T.HAND_OVER): _P.ELSEWHERE,
        (_P.HELD, _T.LEASE_GONE): _P.APART,
        (_P.DRAINING, _T.HAND_OVER): _P.ELSEWHERE,
        (_P.DRAINING, _T.LEASE_GONE): _P.APART,
        (_P.APART, _T.LEASE_AGAIN): _P.HELD,
        **{(phase, _T.ROOT_SET): _P.CLEARING for phase in _P},
        **{(phase, _T.CLEARED): _P.ELSEWHERE for phase in _P},
    },
)
