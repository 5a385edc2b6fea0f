"""The states of one mailbox's gate: the table says which trigger leads from which to which.

A gate is shut while this node owns the mailbox's `dovecot-uidlist.lock`, so that no Dovecot gives out a UID there; it
is open while the node holds a LOCK of its own for whatever Dovecot does. A store without lock files has gates that are
never opened: they are SHUT while nothing is to be looked at, and SHUTTING while something is.

Not here: what is done on the way (gates.py).
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table


class GateState(enum.StrEnum):
    """How the gate of one mailbox stands."""

    LOOSE = "loose"
    """Whose the lock file is, nobody has looked yet."""
    SHUTTING = "shutting"
    """The store is to take the lock file, and to tell what it found."""
    SHUT = "shut"
    """It is ours."""
    WANTED = "wanted"
    """Somebody waits at it, and the mastership was asked for."""
    OPENING = "opening"
    """The mastership is here, and the store is to remove the lock file."""
    OPEN = "open"
    """Dovecot does as it likes."""
    LOOKING = "looking"
    """It is open, and the store is to tell what it finds."""


class GateTrigger(enum.StrEnum):
    """What moves it."""

    BEGIN = "begin"
    """The node has begun, or the mailbox is new."""
    WANT = "want"
    """A Dovecot waits, or mail lies there that has no UID."""
    REFUSED = "refused"
    """The mastership could not be had in time, or has ended already."""
    GRANTED = "granted"
    """The mastership is here."""
    LOOK = "look"
    """Dovecot has changed something."""
    CLOSE = "close"
    """Somebody else wants the mailbox, or nobody here any more."""
    DONE = "done"
    """The store has done what it was to do."""


_S = GateState
_T = GateTrigger
GATE: Final[Table[GateState, GateTrigger]] = Table(
    "The gate of a mailbox",
    (_S.LOOSE,),
    {
        (_S.LOOSE, _T.BEGIN): _S.SHUTTING,
        (_S.SHUTTING, _T.DONE): _S.SHUT,
        (_S.SHUT, _T.WANT): _S.WANTED,
        (_S.SHUT, _T.LOOK): _S.SHUTTING,
        (_S.WANTED, _T.REFUSED): _S.SHUT,
        (_S.WANTED, _T.GRANTED): _S.OPENING,
        (_S.OPENING, _T.DONE): _S.OPEN,
        (_S.OPENING, _T.REFUSED): _S.SHUT,
        (_S.OPEN, _T.LOOK): _S.LOOKING,
        (_S.LOOKING, _T.DONE): _S.OPEN,
        (_S.OPEN, _T.CLOSE): _S.SHUTTING,
    },
)
