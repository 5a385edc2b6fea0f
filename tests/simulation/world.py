"""Several nodes on one network, a random hand that breaks things, and the quiet afterwards."""

from __future__ import annotations

import random

from pyrepl.replication.failover import FailoverState
from pyrepl.replication.link_states import OldData
from pyrepl.replication.roster import RosterOptions
from tests.simulation.checkers.broken import Broken
from tests.simulation.checkers.convergence import check_convergence
from tests.simulation.clock import Clock
from tests.simulation.ledger import Ledger
from tests.simulation.network import Wire
from tests.simulation.node import Node

LOG_LINES = 400


class World:
    """A run with one seed. The same seed gives the same run."""

    def __init__(self, seed: int, names: str = "abcd") -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.clock = Clock()
        self.ledger = Ledger()
        self.files: dict[str, bytes] = {}
        self.lines: list[str] = []
        self.child_failures = 0.0
        self.unreachable_until: dict[str, float] = {}
        self.wires: list[Wire] = []
        self.max_delay_s = self.rng.choice([0.001, 0.05, 0.5])
        self.names = names
        self.nodes: dict[str, Node] = {name: self._node(name) for name in names}

    def _node(self, name: str) -> Node:
        options = RosterOptions(
            diskless=self.rng.random() < 0.5,
            diskless_delay_s=self.rng.choice([0.0, 2.0]),
            ping_period_s=4.0,
            backlog_ttl_s=self.rng.choice([0, 15]),
            rdb_channel=self.rng.random() < 0.6,
            dual_channel=self.rng.random() < 0.6,
        )
        node = Node(self, name, options, self.rng.choice([2_000, 20_000]))
        node.old_data = self.rng.choice(list(OldData))
        return node

    def port_of(self, name: str) -> int:
        return 7000 + self.names.index(name)

    def name_at(self, port: int) -> str:
        return self.names[port - 7000]

    def log(self, text: str) -> None:
        self.lines.append(f"{self.clock.now:9.3f} {text}")
        del self.lines[:-LOG_LINES]

    def connect(self, node: Node, host: str) -> None:
        """Node wants a connection to the one called `host`."""
        link = node.link

        def arrive() -> None:
            if node.is_gone or node.link is not link or link is None or link.role_state != "connecting":
                return
            target = self.nodes[host]
            if self.unreachable_until.get(host, 0.0) > self.clock.now or target is node:
                link.lost(self.clock.now, "connection refused")
            else:
                wire = Wire(self.clock, self.rng, (node, target), self.max_delay_s)
                self.wires = [each for each in self.wires if each.is_open]
                self.wires.append(wire)
                target.accept(wire)
                node.link_wire = wire
                link.connected(self.clock.now)
            node.settle()

        self.clock.after(self.rng.random() * self.max_delay_s, arrive)

    def connect_rdb_channel(self, node: Node, host: str, attempt: int) -> None:
        """Node wants a second connection to the one called `host`."""
        link = node.link

        def arrive() -> None:
            if node.is_gone or node.link is not link or link is None or node.rdb_attempt != attempt:
                return
            target = self.nodes[host]
            if self.unreachable_until.get(host, 0.0) > self.clock.now:
                link.rdb_lost(self.clock.now, "connection refused")
            else:
                wire = Wire(self.clock, self.rng, (node, target), self.max_delay_s)
                self.wires.append(wire)
                target.accept(wire)
                node.rdb_wire = wire
                link.rdb_connected(self.clock.now)
            node.settle()

        self.clock.after(self.rng.random() * self.max_delay_s, arrive)

    def places(self) -> list[str]:
        """Every node's names and cuts, for a failure's report."""
        out = []
        for node in self.nodes.values():
            history, backlog = node.history, node.backlog
            what = (
                f"replica of {node.role.master.host}, {node.link.role_state}"
                if node.role.master and node.link
                else "master"
            )
            names = f"{history.replid[:8]}, {history.replid2[:8]} up to {history.fork}"
            out.append(f"{node.name}: {what}; {names}; holds [{backlog.start}, {backlog.end})")
        return out

    # ------------------------------------------------------------------ the random hand

    def shake(self, steps: int) -> None:
        """Writes, and now and then a fault or a change of roles, a tenth of a second apart on average."""
        for _ in range(steps):
            self.clock.run_until(self.clock.now + self.rng.random() * 0.2)
            node = self.nodes[self.rng.choice(self.names)]
            if node.takes_writes:
                self._write(node)
            if self.rng.random() < 0.05:
                self._harm(node)

    def _write(self, node: Node) -> None:
        unit = []
        for _ in range(self.rng.choice([1, 1, 1, 3])):
            key = b"key:%d" % self.rng.randint(0, 5)
            db = self.rng.choice([0, 0, 1, 2])
            value = b"%d," % self.rng.randint(0, 999)
            if self.rng.random() < 0.1:
                value = b"x" * self.rng.randint(100, 1500)
            unit.append((db, [b"DEL", key] if self.rng.random() < 0.1 else [b"APPEND", key, value]))
        node.write(unit)

    def _harm(self, node: Node) -> None:
        kind = self.rng.randint(0, 15)
        if kind <= 3 and self.wires:
            self.rng.choice(self.wires).cut()
        elif kind <= 5 and self.wires:
            self.rng.choice(self.wires).stalled_until = self.clock.now + self.rng.random() * 30
        elif kind == 6:
            self.unreachable_until[node.name] = self.clock.now + self.rng.random() * 10
        elif kind == 7:
            node.fails_loads = self.rng.random() < 0.5
        elif kind == 8:
            node.backlog.resize(self.rng.choice([500, 2_000, 20_000]))
        elif kind == 9:
            node.old_data = self.rng.choice(list(OldData))
            self.child_failures = self.rng.choice([0.0, 0.3])
        elif kind == 12 and self.rng.random() < 0.5:
            self._restart(node, keeps_data=False)
        elif kind == 13:
            self._restart(node, keeps_data=True)
        elif kind == 14 and node.takes_writes:
            node.hand_over()
        elif node.failover.state is not FailoverState.NONE:
            if kind == 15:
                node.abort()
        elif kind == 10 and node.role.is_replica:
            node.promote()
        elif kind == 11:
            self._follow_somebody(node)

    def _follow_somebody(self, node: Node) -> None:
        """Any other node that does not, by whatever chain, follow this one."""
        choices = [other for other in self.nodes.values() if other is not node and not self._follows(other, node)]
        if choices:
            node.follow(self.rng.choice(choices).name)

    def _follows(self, node: Node, other: Node) -> bool:
        seen = set()
        while node.role.master is not None and node.name not in seen:
            seen.add(node.name)
            node = self.nodes[node.role.master.host]
            if node is other:
                return True
        return False

    def _restart(self, node: Node, *, keeps_data: bool) -> None:
        """Ended and started again: with a snapshot that states its place in the stream, or with nothing."""
        saves = keeps_data and (node.role.holds_stream or not node.role.is_replica) and node.backlog.active
        node.log(f"restarts {f'at {node.backlog.end}' if saves else 'empty'}")
        node.is_gone = True
        for wire in [*node.attached, node.link_wire, node.rdb_wire]:
            if wire is not None:
                wire.cut()
        fresh = self._node(node.name)
        self.nodes[node.name] = fresh
        if saves:
            stream_db = node.data.stream_db if node.role.is_replica else max(0, node.feed.db)
            snapshot = node.data.dump(stream_db)
            fresh.restore(snapshot, node.history.replid, node.backlog.end, leads=node.role.master is None)
        if node.role.master is not None:
            fresh.follow(node.role.master.host)

    # ------------------------------------------------------------------ the quiet

    def heal(self) -> Node:
        """No more faults; everyone ends up below one master, some behind another replica."""
        self.child_failures = 0.0
        self.unreachable_until.clear()
        for node in self.nodes.values():
            node.abort()
        for wire in self.wires:
            wire.stalled_until = 0.0
        for node in self.nodes.values():
            node.fails_loads = False
            node.backlog.resize(20_000)
        masters = [node for node in self.nodes.values() if not node.role.is_replica]
        master = self.rng.choice(masters) if masters else self.nodes[self.names[0]]
        if not masters:
            master.promote()
        for node in self.nodes.values():
            if node is not master and not self._follows(node, master):
                node.follow(master.name)
        return master

    def settle_down(self, master: Node, seconds: float) -> None:
        """Quiet time, at whose end nobody syncs any more; a last write, time for it to arrive; then all are equal."""
        self.clock.run_until(self.clock.now + seconds)
        syncs = sum(node.full_syncs for node in self.nodes.values())
        self.clock.run_until(self.clock.now + 60)
        if syncs != sum(node.full_syncs for node in self.nodes.values()):
            raise Broken("economy: full resyncs go on though nothing happens")
        master.roster.options.ping_period_s = 1e9
        self._write(master)
        self.clock.run_until(self.clock.now + 8)
        place = (master.history.replid, master.backlog.end)
        for node in self.nodes.values():
            if node is not master:
                at = (node.history.replid, node.backlog.end)
                self.log(f"{node.name}: {node.link.role_state if node.link else 'master'} at {at}")
                check_convergence(master.name, master.data, place, node.name, node.data, at)
