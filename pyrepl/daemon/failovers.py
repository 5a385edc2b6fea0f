"""FAILOVER: the shell around `replication.failover`, the machine that takes the decisions.

While a failover is under way, writes are paused and our stream stands still. When the replica has all of the stream,
`roles` hands over to it: this node follows its former replica. If the failover is given up, all is undone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.roles import Roles
from pyrepl.daemon.service import Service
from pyrepl.node.node import Node
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.telling.role_changes import FailoverTeller
from pyrepl.observability.telling.voice import Voice
from pyrepl.replication.failover import FailoverState, GaveUp, HandOver
from pyrepl.replication.role import Holder


@final
class Failovers(Service):
    """The failovers of a node, one at a time.

    Invariant: while the machine is not at rest, writes are paused, and our stream stands still. That is why a key that
    a read finds expired is hidden instead of deleted: a DEL would move the end of the stream.
    """

    def __init__(
        self,
        node: Node,
        clients: Clients,
        replicas: Replicas,
        roles: Roles,
        clock: Clock,
        log: Log,
        tell: Callable[[Record], None],
    ) -> None:
        """`tell` takes the records of the event log."""
        self._node = node
        self._clients = clients
        self._replicas = replicas
        self._roles = roles
        self._clock = clock
        self._teller = FailoverTeller(Voice(log, tell))
        self._machine = node.replication.failover

    def request(self, target: tuple[str, int] | None, *, force: bool, timeout_ms: int | None) -> None:
        """FAILOVER: begin to hand over to `target` (host, port), or to any replica for None. `force`: hand over at the
        end of the timeout even if the replica lacks a part of the stream. Raises CommandError when it cannot begin."""
        timeout_s = None if timeout_ms is None else timeout_ms / 1000
        self._machine.begin(target, force=force, timeout_s=timeout_s, now=self._clock.now())
        self._teller.requested(None if target is None else f"{target[0]}:{target[1]}")
        self._node.pause.hold_writes(Holder.FAILOVER)
        self._node.replication.role.stand_still(Holder.FAILOVER)
        self._replicas.plan_pump()

    def abort(self) -> None:
        """FAILOVER ABORT. Raises CommandError when no failover is under way."""
        self._machine.abort()
        self._carry_out()

    def acked(self) -> None:
        """A replica has acknowledged more: it may have all of the stream now."""
        self.tick(self._clock.now())

    def tick(self, now: float) -> None:
        """If a failover is under way, let the machine look at the replicas and the time."""
        if self._machine.state is not FailoverState.NONE:
            self._machine.tick(now)
            self._carry_out()

    def next_deadline(self, now: float) -> float:
        return now

    def handed_over(self, refusal: str) -> None:
        """The link to our former replica has an answer: `refusal` is empty when that node is the master now, otherwise
        its reason."""
        self._machine.ended(refusal)
        if not refusal:
            self._teller.done()
        self._carry_out()

    def _carry_out(self) -> None:
        for event in self._machine.events():
            if isinstance(event, HandOver):
                self._teller.begun(event)
                self._roles.hand_over(event.host, event.port)
            else:
                self._give_up(event)
        if self._machine.state is FailoverState.NONE:
            self._rest()

    def _give_up(self, event: GaveUp) -> None:
        self._teller.given_up(event)
        if event.was_handing_over:
            self._roles.take_back()

    def _rest(self) -> None:
        self._node.replication.role.go_on(Holder.FAILOVER)
        self._node.pause.let_go(Holder.FAILOVER)
        self._clients.waits.pause_changed()
