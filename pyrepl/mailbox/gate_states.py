"""One mailbox's gate: its states, of which the table says which trigger leads from which to which; what is asked of
the store on the way; and what the file system tells.

A gate is shut while this node owns the mailbox's `dovecot-uidlist.lock`, so that no Dovecot gives out a UID there; it
is open while the node holds a LOCK of its own for whatever Dovecot does. A store without lock files has gates that are
never opened: they are SHUT while nothing is to be looked at, and SHUTTING while something is.

Not here: when what is done (gates.py).
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import Final, NamedTuple, final

from pyrepl.machines import Table
from pyrepl.mailbox.compare import FoundBox

HELD_S: Final = 0.5
"""A Dovecot that holds the lock for so long may be dead, which nothing tells. Another Dovecot overrides that lock two
seconds after it was taken, and trusts the index that was left (uidlist_lock.py): this node is to be first."""
BLIND_S: Final = 10.0
"""So long the other nodes wait for a mailbox that cannot be read here."""


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
        (_S.LOOKING, _T.CLOSE): _S.SHUTTING,
        (_S.OPEN, _T.CLOSE): _S.SHUTTING,
    },
)


class GateWork(enum.Enum):
    """What the store is to do."""

    SHUT = "shut"
    """Take the lock file, keep it, and tell what is there."""
    GLANCE = "glance"
    """Tell what can be told without the lock file, which nobody has to wait for then."""
    LOOK = "look"
    """Take the lock file, tell what is there, and give it back."""
    OPEN = "open"
    """Let the next UID be at least `uidnext`, and remove the lock file."""


KEPT: Final = (GateState.SHUT, GateState.WANTED, GateState.OPENING)
"""The lock file is to be ours; in OPENING, until it is removed."""
BEFORE_SHUT: Final = (GateState.LOOSE, GateState.SHUTTING)
"""Files and rows may differ in more than is known."""
WORKS: Final = {
    GateState.SHUTTING: GateWork.SHUT,
    GateState.OPENING: GateWork.OPEN,
    GateState.LOOKING: GateWork.LOOK,
}
"""What is asked of the store in these states."""


class GateOrder(NamedTuple):
    """One order. Of messages with a UID at or above `since`, and of those that are `wanted`, the texts are told, from
    the lowest UID on as many as may be at once. `may_list`: those without a UID get one. Without `is_whole` it is
    enough to tell what may have changed since the mailbox was told last."""

    work: GateWork
    user: str
    box: str
    since: int = 0
    may_list: bool = False
    uidnext: int = 0
    is_whole: bool = True
    wanted: frozenset[str] = frozenset()


class GateResult(NamedTuple):
    """How an order ended: `found` of SHUT, LOOK and GLANCE. `is_busy`: a Dovecot has the lock file; `why`: it failed,
    and if it `is_gone`, as the mailbox has no folder now. Of SHUT, `was_open`: the lock file was not ours before;
    `is_shut`: it is ours, though what is there cannot be told, or there is no folder in which one could be."""

    found: FoundBox | None = None
    is_busy: bool = False
    why: str = ""
    is_gone: bool = False
    was_open: bool = False
    is_shut: bool = False


class Seen(NamedTuple):
    """What the file system told of one mailbox: somebody reads its lock file, released it, brought mail, or holds the
    lock for HELD_S already. The lock file of a gate that is shut counts as released when it is gone, be it with its
    folder: nobody but this node was to remove it."""

    reads: bool = False
    released: bool = False
    brought: bool = False
    holds: bool = False


class Blind(NamedTuple):
    """Mailboxes and users of whom the file system tells nothing, as they are at any time."""

    boxes: Collection[str] = ()
    users: Collection[str] = ()


@final
class Gate:
    """One mailbox's. `again_at`: when to try again what could not be; infinity if nothing."""

    def __init__(self, box: str) -> None:
        self.box: Final = box
        self.state = GateState.LOOSE
        self.is_asked = False
        """The order of this state was told, and has not ended."""
        self.wanted: frozenset[str] = frozenset()
        """New messages of which more has to be told."""
        self.is_compared = False
        """The rows have all that the store told last, so that it is enough to hear what has changed since."""
        self.is_unsure = False
        """The last glance left something open."""
        self.has_changed = False
        self.is_lost = False
        """The lock file went while it was ours, and was not taken again yet."""
        self.is_let_go = False
        """It went since the order of this state was told."""
        self.again_at = float("inf")
        self.wanted_at = float("inf")
        """Since when a Dovecot waits at it."""
        self.enter_until = float("-inf")
        self.idle_at = float("inf")
        self.missing = 0
        self.raised_to = 0
        """What the next UID was raised to last."""
        self.news = 0
        """The number of the last thing that the file system told of it, or of its coming."""
        self.asked_news = 0
        """The number of the last thing that was told of any mailbox when the order of this state was."""
        self.looked = 0
        """All up to this number is in the rows, and has a UID."""
        self.odd: frozenset[str] = frozenset()
        """What lies there and other nodes cannot have, as it was told."""
        self.why = ""
        """What was told of why it could not be shut, opened or looked at."""
        self.blind_at = float("inf")
        """Since when it is shut, and what is there cannot be told."""

    def is_blind_for_long(self, now: float) -> bool:
        """It is shut, and what is there cannot be told: has it been so for BLIND_S?"""
        self.blind_at = min(self.blind_at, now)
        return now >= self.blind_at + BLIND_S

    def move(self, trigger: GateTrigger) -> None:
        self._move(trigger)

    def _move(self, trigger: GateTrigger) -> None:
        self.state = GATE.after(self.state, trigger)
