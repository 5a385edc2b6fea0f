"""The replication stream as a source: the units after any token that the backlog still holds.

Not here: the bytes (replication/backlog.py, handed in) and the rows made of the units (replicated.py).

Nothing is copied and nothing is done for a write: a reader's place is looked up among the checkpoints, and parsing
begins there. Places are cuts of the replication stream, the same on a master and on every replica below it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, final

from pyrepl.changes.checkpoints import Checkpoints
from pyrepl.changes.unavailable import Unavailable
from pyrepl.changes.units import Unit, decode_units
from pyrepl.errors import CorruptData

_GROWTH: Final = 4
"""How much more is read when a piece held no whole unit."""


class HeldBytes(Protocol):
    """The newest bytes of a replication stream: [start, end), about `capacity` of them."""

    active: bool
    start: int
    end: int
    capacity: int

    def read(self, at: int, max_bytes: int) -> list[bytes | memoryview]:
        """The bytes from `at` on, at most so many, in pieces."""
        ...


@final
class ReplicationLog:
    """Reads units from what a backlog holds.

    Invariant: every checkpoint is a unit boundary of the present stream. Whoever appends to the stream in whole units
    notes one now and then (`note`); whoever replaces it calls `restart`.
    """

    def __init__(self, held: HeldBytes, token_at: Callable[[int], int] = lambda cut: cut) -> None:
        """`token_at` is what subscribers are told for a cut."""
        self._held = held
        self._token_at = token_at
        self._checkpoints = Checkpoints()

    def note(self, cut: int, db: int) -> None:
        """Between two units, at `cut`, `db` is selected. Cheap if a place near by is known."""
        checkpoints = self._checkpoints
        if checkpoints.is_due(cut):
            checkpoints.note(cut, db)
            checkpoints.forget_before(self._held.start)

    def note_exactly(self, cut: int, db: int) -> None:
        """As `note`, however near the place before is: somebody reads from here on."""
        self._checkpoints.note(cut, db)

    def restart(self, cut: int, db: int) -> None:
        """Another stream begins at `cut`."""
        self._checkpoints.clear()
        self._checkpoints.note(cut, db)

    @property
    def oldest(self) -> int:
        """The oldest cut one can go on from: the rows after it are held."""
        self._checkpoints.forget_before(self._held.start)
        oldest = self._checkpoints.oldest
        return self._held.end if oldest is None else oldest

    @property
    def places(self) -> int:
        """How many checkpoints there are."""
        return len(self._checkpoints)

    def why_not(self, cut: int, asked: int | None = None) -> str | None:
        """Why one cannot go on from `cut`; None if it is within what is held. `asked` is the token that stated it, if
        it may be one of the history before."""
        token = self._token_at(cut) if asked is None else asked
        if cut > self._held.end:
            end = self._token_at(self._held.end)
            return (
                f"AHEAD token {token} is ahead of this node, which is at {end} and lags behind the node the token is"
                " from: try again later, or at another node"
            )
        if not self._held.active or cut < self.oldest:
            oldest = self._token_at(self.oldest)
            return (
                f"TOOOLD {oldest} token {token} is too old: rows behind it are not kept any more, and the oldest token"
                f" available is {oldest}. Read your data anew and go on from NOW; or from {oldest}, if the rows between"
                " may be missed"
            )
        return None

    def read(self, after: int, upto: int, want_bytes: int) -> tuple[list[Unit], int]:
        """The units that end in (after, end], and that end: `upto`, a boundary, or earlier after about `want_bytes`. At
        least one unit, if there is one.

        Raises Unavailable if the bytes are not held, or `after` is no boundary.
        """
        held = self._held
        reason = self.why_not(after)
        if reason is not None:
            raise Unavailable(reason)
        if after >= upto:
            return [], after
        found = self._checkpoints.before(after)
        assert found is not None
        at, db = found
        size = want_bytes + after - at
        while True:
            size = min(size, upto - at)
            data = b"".join(held.read(at, size))
            try:
                decoded = decode_units(data, at, db, after)
            except CorruptData as error:
                raise Unavailable(f"the replication stream is no row of commands: {error}") from None
            if not decoded.found:
                raise Unavailable(
                    f"BADTOKEN token {self._token_at(after)} lies within a command: take tokens from RDATA and POSITION"
                    " lines"
                )
            for place in decoded.places:
                self.note(*place)
            if decoded.end > after or size == upto - at:
                return decoded.units, max(after, decoded.end)
            size *= _GROWTH
