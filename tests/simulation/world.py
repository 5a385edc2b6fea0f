"""Several nodes on one network, and the quiet after the random hand has done its work."""

from __future__ import annotations

import random
from collections import Counter

from pyrepl.replication.dialects import DIALECTS
from pyrepl.replication.link_states import OldData
from pyrepl.replication.roster import RosterOptions
from tests.simulation.checkers.broken import Broken
from tests.simulation.checkers.convergence import check_convergence
from tests.simulation.checkers.left_overs import check_left_overs
from tests.simulation.checkers.state import StateWatch
from tests.simulation.clock import Clock
from tests.simulation.hand import Hand
from tests.simulation.ledger import Ledger
from tests.simulation.network import Wire
from tests.simulation.node import Node

LOG_LINES = 400
ON_THE_WAY_S = 20.0
"""More than any timeout of a node."""


class World:
    """A run with one seed. The same seed gives the same run."""

    def __init__(self, seed: int, names: str = "abcd") -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.clock = Clock()
        self.ledger = Ledger()
        self.states = StateWatch(self.ledger)
        self.seen: Counter[str] = Counter()
        """What happened, and how often: a history without a thing proves nothing about it."""
        self.files: dict[str, bytes] = {}
        self.lines: list[str] = []
        self.child_failures = 0.0
        self.unreachable_until: dict[str, float] = {}
        self.wires: list[Wire] = []
        self.max_delay_s = self.rng.choice([0.001, 0.05, 0.5])
        self.names = names
        self.nodes: dict[str, Node] = {name: self._node(name) for name in names}
        self.hand = Hand(self)

    def _node(self, name: str) -> Node:
        options = RosterOptions(
            diskless=self.rng.random() < 0.5,
            diskless_delay_s=self.rng.choice([0.0, 2.0]),
            ping_period_s=4.0,
            max_concurrent_syncs=self.rng.choice([0, 0, 1, 2]),
            backlog_ttl_s=self.rng.choice([0, 15]),
            dialects=frozenset(dialect for dialect in DIALECTS if self.rng.random() < 0.6),
        )
        node = Node(self, name, options, self.rng.choice([2_000, 20_000]))
        node.old_data = self.rng.choice(list(OldData))
        return node

    def replace(self, node: Node) -> Node:
        """A fresh process in the place of `node`, with nothing in it."""
        fresh = self._node(node.name)
        self.nodes[node.name] = fresh
        return fresh

    def follows(self, node: Node, other: Node) -> bool:
        """Does `node`, by whatever chain, get its data through `other`?"""
        seen = set()
        while node.role.master is not None and node.name not in seen:
            seen.add(node.name)
            node = self.nodes[node.role.master.host]
            if node is other:
                return True
        return False

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
            if node.is_frozen:
                self.clock.at(node.frozen_until, arrive)
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
            if node.is_frozen:
                self.clock.at(node.frozen_until, arrive)
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

    # ------------------------------------------------------------------ the quiet

    def heal(self) -> Node:
        """No more faults; everyone ends up below one master, some behind another replica."""
        self.child_failures = 0.0
        self.unreachable_until.clear()
        for node in self.nodes.values():
            node.frozen_until = 0.0
            node.settle()
            node.handing.abort()
        for wire in self.wires:
            wire.stalled_until = 0.0
        for node in self.nodes.values():
            node.fails_loads = False
            node.backlog.resize(20_000)
        # A hand-over that was aborted may have been obeyed all the same: the request was on its way.
        self.clock.run_until(self.clock.now + ON_THE_WAY_S)
        masters = [node for node in self.nodes.values() if not node.role.is_replica]
        master = self.rng.choice(masters) if masters else self.nodes[self.names[0]]
        if not masters:
            master.promote()
        for node in self.nodes.values():
            if node is not master and not self.follows(node, master):
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
        self.hand.write(master)
        self.clock.run_until(self.clock.now + 8)
        for node in self.nodes.values():
            masters = [each.role.master.host for each in self.nodes.values() if each.role.master is not None]
            check_left_overs(node.name, node.roster, node.backlog, masters.count(node.name))
        place = (master.history.replid, master.backlog.end)
        for node in self.nodes.values():
            if node is not master:
                at = (node.history.replid, node.backlog.end)
                self.log(f"{node.name}: {node.link.role_state if node.link else 'master'} at {at}")
                check_convergence(master.name, master.data, place, node.name, node.data, at)
