"""Was this node put back from a snapshot or a backup, and has it made ops since, before it knew?

Then its ops have numbers that other members know for other ops: each side would take the other's for its own, and lack
them for good without a sign. And whoever compared what they have would expunge what the other one never saw. So the
links are refused until an operator gives the node a new database.

It shows when a member tells how many of our ops it has. Those that we told nobody yet nobody can have: so before the
first member has heard of us since the start, it may have no more than there were at the start; and never more than
there are now. Without ops of its own since the start, a node only lacks what it had made: that comes back as any op.

Not here: a database that is gone, which has another name for its ops (freshness.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.verbs import Command, Sync

WHY: Final = (
    "mailbox.db of {name} was put back from an older state, and {name} has made changes since: it needs a new one"
    " (put_back in its log says how)"
)


@final
class PutBack:
    """Of this node; kept over restarts in the cluster's row."""

    def __init__(self, core: Core) -> None:
        self._core: Final = core
        self._at_start: Final = self._count()
        self._is_known = False
        """Has a member said in its SYNC that it has no more than there is? What we make goes to it from then on."""
        self._is_put_back = core.rows.cluster().is_put_back

    @property
    def why(self) -> str:
        """Why there may be no link, "" if there may."""
        return WHY.format(name=self._core.name) if self._is_put_back else ""

    def why_not(self, peer: str, command: Command) -> str | None:
        """Why nothing that members say may be heard, None if it may. `command`: what a member says."""
        if isinstance(command, Sync) or (isinstance(command, Ok) and self._is_known and command.held):
            self._look(peer, dict(command.held).get(self._core.origin, 0))
        return self.why or None

    def _count(self) -> int:
        return self._core.causal.held.get(self._core.origin, 0)

    def _look(self, peer: str, theirs: int) -> None:
        made = self._core.journal.made_count
        if theirs > (self._count() if self._is_known else self._at_start) and made and not self._is_put_back:
            self._is_put_back = True
            rows = self._core.rows
            rows.put_cluster(rows.cluster()._replace(is_put_back=True))
            ours = f"we had {self._at_start} at the start and made {made} since"
            self._core.note("put_back", f"{peer} knows ops of ours up to {theirs}, {ours}")
        self._is_known = True
