"""What is told when a node changes between master and replica, and of the steps of a FAILOVER.

The shells (daemon/roles.py, daemon/failovers.py) call these methods when each thing happens. Addresses are `host:port`.
A change by REPLICAOF has its line when the client asks, and its record once the role has changed: the old link ends
between the two, and has lines and records of its own to tell.
"""

from __future__ import annotations

from typing import final

from pyrepl.observability import events
from pyrepl.observability.eventlog.records import FailoverStep, RoleChanged
from pyrepl.observability.telling.voice import Voice
from pyrepl.replication.failover import GaveUp, HandOver
from pyrepl.replication.history import History


@final
class RoleTeller:
    """Tells whom a node follows, and under which ids its stream goes on."""

    def __init__(self, say: Voice, history: History) -> None:
        self._say = say
        self._history = history

    def asked_to_follow(self, master: str, by: str, *, offers_own_stream: bool) -> None:
        """REPLICAOF host port of the client `by`. A master offers its own stream to be continued."""
        if offers_own_stream:
            self._say(events.OwnStreamOffered())
        self._say(events.ReplicaOfEnabled(master, by))

    def follows(self, before: str, cause: str, master: str) -> None:
        """The node is a replica of `master` now. `before` is the name of its role until now."""
        self._say(RoleChanged(before, cause, master))

    def asked_to_take_over(self, master: str) -> None:
        """Our master, whose FAILOVER chose us, wants us in its place."""
        self._say(events.FailoverAsked(master), FailoverStep("taken_over"))

    def leads(self, before: str, cause: str, old_replid: str) -> None:
        """The node is a master now; `old_replid` is the id of its stream until now."""
        self._say(RoleChanged(before, cause))
        if self._history.replid2 == old_replid:
            self.goes_on_under_new_id()

    def goes_on_under_new_id(self) -> None:
        """The stream has a new id from the fork of its history on; the old one stays valid up to there."""
        history = self._history
        self._say(events.SecondaryIdSet(history.replid2, (history.fork or 0) + 1, history.replid))

    def promoted(self, by: str) -> None:
        """REPLICAOF NO ONE of the client `by` was obeyed."""
        self._say(events.MasterModeEnabled(by))


@final
class FailoverTeller:
    """Tells the steps of a FAILOVER on the master that hands over."""

    def __init__(self, say: Voice) -> None:
        self._say = say

    def requested(self, target: str | None) -> None:
        """`target` is the replica that was named, None for any."""
        self._say(events.FailoverRequested(target or "any replica"), FailoverStep("requested", target))

    def begun(self, event: HandOver) -> None:
        """A replica has all of the stream: it is to be the master."""
        target = f"{event.host}:{event.port}"
        self._say(events.FailoverBegins(target, event.forced), FailoverStep("begun", target))

    def done(self) -> None:
        """The former replica is the master now."""
        self._say(events.FailoverDone(), FailoverStep("done"))

    def given_up(self, event: GaveUp) -> None:
        """The node stays the master."""
        self._say(events.FailoverGivenUp(event.text), FailoverStep("given_up", error=event.text))
