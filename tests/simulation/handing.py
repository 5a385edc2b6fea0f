"""FAILOVER on one node: the shell of pyrepl.replication.failover."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrepl.errors import CommandError
from pyrepl.replication.failover import FailoverState, GaveUp

if TYPE_CHECKING:
    from tests.simulation.node import Node

LOOK_S = 0.1


class Handing:
    """The hand-over of a node's role, if there is one."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.since = 0.0
        """When it last began to hand over."""
        self.is_forced = False

    def begin(self) -> None:
        """FAILOVER, to whoever has everything first, to one alone, or to one by force when the time is over."""
        node = self._node
        at = node.backlog.end
        choices = [("sim", session.told.listening_port) for session in node.roster.sessions.values()]
        target = node.rng.choice(choices) if choices and node.rng.random() < 0.5 else None
        force = target is not None and node.rng.random() < 0.5
        try:
            node.failover.begin(target, force=force, timeout_s=node.rng.choice([0.3, 5.0]), now=node.clock.now)
        except CommandError:
            return
        node.record(at, b"".join(bytes(piece) for piece in node.backlog.read(at, 1 << 30)))
        node.roster.is_quiet = True
        node.log(f"looks for somebody to take over: {target}{' by force' if force else ''}")
        self._look()

    def abort(self) -> None:
        """FAILOVER ABORT, if there is one."""
        if self._node.failover.state is not FailoverState.NONE:
            self._node.failover.abort()
            self._carry_out()

    def ended(self, refusal: str) -> None:
        """How it went; later, as the link is in the middle of telling us."""
        node = self._node

        def end() -> None:
            if not node.is_gone:
                node.failover.ended(refusal)
                node.roster.is_quiet = node.failover.state is not FailoverState.NONE
                self._carry_out()

        node.clock.after(0.0, end)

    def _look(self) -> None:
        node = self._node
        if node.is_gone or node.failover.state is not FailoverState.WAITING:
            return
        if not node.is_frozen:
            node.failover.tick(node.clock.now)
            self._carry_out()
        node.clock.after(LOOK_S, self._look)

    def _carry_out(self) -> None:
        node = self._node
        for event in node.failover.events():
            if isinstance(event, GaveUp):
                node.log(f"failover given up: {event.text}")
                node.world.seen["failover given up"] += 1
                node.roster.is_quiet = False
                if event.was_handing_over:
                    node.promote()
            else:
                node.log(f"hands over to port {event.port} at {node.backlog.end}")
                node.world.seen["hand-over by force" if event.forced else "hand-over"] += 1
                self.since, self.is_forced = node.clock.now, event.forced
                node.follow(node.world.name_at(event.port), takes_over=True)
