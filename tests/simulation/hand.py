"""The random hand: writes, and now and then breaks something or changes who follows whom."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from pyrepl.replication.failover import FailoverState
from pyrepl.replication.link_states import OldData
from tests.simulation.node import Node

if TYPE_CHECKING:
    from tests.simulation.world import World

HARM: float = 0.05
"""How likely a step is to do more than write."""


class Hand:
    """All its choices come from the world's generator."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._clock = world.clock
        self._rng: random.Random = world.rng
        self._kinds = (
            (4, self._cut),
            (2, self._stall),
            (1, self._swallow),
            (1, self._make_unreachable),
            (1, self._spoil_loads),
            (1, self._resize_backlog),
            (1, self._burst),
            (1, self._change_ways),
            (1, self._promote),
            (1, self._follow),
            (3, self._hand_over),
            (2, self._split),
            (1, self._abort),
            (2, self._save),
            (1, self._restart),
            (1, self._crash),
            (0.5, self._lose_disk),
            (1, self._freeze),
            (1, self._lie),
        )

    def shake(self, steps: int) -> None:
        """Writes, and now and then a fault or a change of roles, a tenth of a second apart on average."""
        weights = [weight for weight, _ in self._kinds]
        for _ in range(steps):
            self._clock.run_until(self._clock.now + self._rng.random() * 0.2)
            node = self._world.nodes[self._rng.choice(self._world.names)]
            if node.takes_writes:
                self.write(node)
            if self._rng.random() < HARM:
                ((_, harm),) = self._rng.choices(self._kinds, weights)
                harm(node)

    def write(self, node: Node) -> None:
        """A command or a transaction of a client."""
        unit = []
        for _ in range(self._rng.choice([1, 1, 1, 3])):
            key = b"key:%d" % self._rng.randint(0, 5)
            db = self._rng.choice([0, 0, 1, 2])
            value = b"%d," % self._rng.randint(0, 999)
            if self._rng.random() < 0.1:
                value = b"x" * self._rng.randint(100, 1500)
            unit.append((db, [b"DEL", key] if self._rng.random() < 0.1 else [b"APPEND", key, value]))
        node.write(unit)

    def _burst(self, node: Node) -> None:
        """Many writes at once."""
        for _ in range(self._rng.choice([20, 100])):
            if node.takes_writes:
                self.write(node)

    def attach_all(self) -> None:
        """The beginning: all but the first follow somebody."""
        for name in self._world.names[1:]:
            self._follow_anybody(self._world.nodes[name])

    # ------------------------------------------------------------------ the network

    def _cut(self, node: Node) -> None:
        if self._world.wires:
            self._world.seen["cut"] += 1
            self._rng.choice(self._world.wires).cut()

    def _stall(self, node: Node) -> None:
        if self._world.wires:
            self._world.seen["stall"] += 1
            self._rng.choice(self._world.wires).stalled_until = self._clock.now + self._rng.random() * 30

    def _swallow(self, node: Node) -> None:
        if self._world.wires:
            self._world.seen["black hole"] += 1
            self._rng.choice(self._world.wires).goes_nowhere = True

    def _make_unreachable(self, node: Node) -> None:
        self._world.unreachable_until[node.name] = self._clock.now + self._rng.random() * 10

    # ------------------------------------------------------------------ a node's settings and disk

    def _spoil_loads(self, node: Node) -> None:
        node.fails_loads = self._rng.random() < 0.5

    def _resize_backlog(self, node: Node) -> None:
        node.backlog.resize(self._rng.choice([500, 2_000, 20_000]))

    def _change_ways(self, node: Node) -> None:
        node.old_data = self._rng.choice(list(OldData))
        node.roster.options.diskless = self._rng.random() < 0.7
        self._world.child_failures = self._rng.choice([0.0, 0.3])

    def _save(self, node: Node) -> None:
        if not node.is_frozen:
            node.save()

    # ------------------------------------------------------------------ who leads

    def _promote(self, node: Node) -> None:
        if node.role.is_replica and self._obeys(node):
            node.promote()

    def _follow(self, node: Node) -> None:
        if self._obeys(node):
            self._follow_anybody(node)

    def _hand_over(self, node: Node) -> None:
        if node.takes_writes:
            node.handing.begin()

    def _split(self, node: Node) -> None:
        """A replica is promoted while its master writes on, a little; then the master follows it."""
        old = self._world.nodes[node.role.master.host] if node.role.master is not None else None
        if old is not None and self._obeys(node) and self._obeys(old) and old.takes_writes:
            self._world.seen["split"] += 1
            node.promote()
            for _ in range(self._rng.randint(0, 2)):
                self.write(old)
            old.follow(node.name)

    def _abort(self, node: Node) -> None:
        if not node.is_frozen:
            node.handing.abort()

    def _obeys(self, node: Node) -> bool:
        """REPLICAOF is refused during a failover, and who is frozen hears nothing."""
        return node.failover.state is FailoverState.NONE and not node.is_frozen

    def _follow_anybody(self, node: Node) -> None:
        """Any other node that does not, by whatever chain, follow this one."""
        nodes = self._world.nodes.values()
        choices = [other for other in nodes if other is not node and not self._world.follows(other, node)]
        if choices:
            node.follow(self._rng.choice(choices).name)

    # ------------------------------------------------------------------ processes

    def _restart(self, node: Node) -> None:
        """Told to end (SHUTDOWN SAVE), and started again."""
        if not node.is_frozen:
            node.save()
            self._begin_anew(node, "restart")

    def _crash(self, node: Node) -> None:
        """Killed: what it wrote since its last save is gone."""
        self._begin_anew(node, "crash")

    def _lose_disk(self, node: Node) -> None:
        node.saved = None
        self._begin_anew(node, "restart empty")

    def _begin_anew(self, node: Node, how: str) -> None:
        saved, master = node.saved, node.role.master
        self._world.seen[how] += 1
        node.log(f"{how} at {node.backlog.end}, has on disk {saved.cut if saved is not None else 'nothing'}")
        node.is_gone = True
        for wire in [*node.attached, node.link_wire, node.rdb_wire]:
            if wire is not None:
                wire.cut()
        fresh = self._world.replace(node)
        if saved is not None:
            fresh.restore(saved, leads=master is None)
        if master is not None:
            fresh.follow(master.host, at_start=True)

    def _freeze(self, node: Node) -> None:
        """SIGSTOP, and SIGCONT after up to half a minute."""
        self._world.seen["freeze"] += 1
        node.frozen_until = self._clock.now + self._rng.random() * 30

    def _lie(self, node: Node) -> None:
        if not node.is_frozen:
            node.lie()
