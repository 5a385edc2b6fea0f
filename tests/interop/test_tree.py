"""Five nodes of three makes in a tree that is rebuilt at random under writes: as many full resyncs as the rules demand.

The moves, and what each of them must cost:

    climb      a replica moves up to an ancestor of its master, under writes       nothing: the ancestor has all it has
    graft      a replica moves anywhere outside its own branch, in a quiet moment   nothing: all are at the same byte
    switch     FAILOVER from the root to a child, under writes                      nothing, by design
    promote    REPLICAOF NO ONE at a child in a quiet moment, the root follows it   nothing: both are at the fork
    split      the same, but the old root writes on before it follows              past_fork, for the old root, and
                                                                                    id_mismatch for each below it, as
                                                                                    its master got another stream

Where a pyrepl sends the data its own count by cause must agree; real servers count without causes.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from typing import Final

import pytest

from pyrepl.replication.psync import FULL_RESYNC_CAUSES
from tests.interop.pair import BACKLOG
from tests.interop.writing import Writing
from tests.peers import compare
from tests.peers.lab import Lab, LabError, Node, wait_until
from tests.peers.ports import HOST

KINDS: Final = ("pyrepl", "redis8", "pyrepl", "valkey8", "pyrepl")
CALM: Final = {**BACKLOG, "repl-ping-replica-period": "3600"}
"""No PING by the clock: then it is known which writes lie behind a fork."""
NEVER_BELOW: Final = ("valkey8", "redis8")
"""(replica, master): Valkey 8 cannot load what Redis 8 saves."""


class Tree:
    """Who follows whom, as it was ordered; and how many full resyncs that must have cost."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes = [lab.start(kind, directives=CALM) for kind in KINDS]
        self.root = self.nodes[0]
        self.master: dict[Node, Node] = {}
        self.demanded: Counter[tuple[Node, str]] = Counter()
        """By who has to send the data, and why."""
        self.done: list[str] = []
        self.root.call("SET", "first", "1")
        for node in self.nodes[1:]:
            self.attach(node, self.rng.choice([each for each in self.possible(node) if each in self.attached]))
            # It was a master until now, so it names a stream: its own.
            self.demanded[self.master[node], "id_mismatch"] += 1
            node.wait_link_up()
        self.writing = Writing(self.root, random.Random(seed))

    @property
    def attached(self) -> list[Node]:
        return [self.root, *self.master]

    def below(self, node: Node) -> list[Node]:
        """All that get their data through this one."""
        children = [each for each, master in self.master.items() if master is node]
        return [*children, *(deeper for child in children for deeper in self.below(child))]

    def above(self, node: Node) -> list[Node]:
        master = self.master.get(node)
        return [] if master is None else [master, *self.above(master)]

    def possible(self, node: Node) -> list[Node]:
        """Whom a node could follow."""
        branch = [node, *self.below(node)]
        return [each for each in self.nodes if each not in branch and (node.kind, each.kind) != NEVER_BELOW]

    def heirs(self) -> list[Node]:
        """Children that could be the root, with the old root below them."""
        children = [node for node, master in self.master.items() if master is self.root]
        return [node for node in children if (self.root.kind, node.kind) != NEVER_BELOW]

    def attach(self, node: Node, master: Node) -> None:
        self.master[node] = master
        node.call("REPLICAOF", HOST, str(master.port))

    def note(self, move: str, *nodes: Node) -> None:
        self.done.append(
            f"{move} {' '.join(node.name for node in nodes)}, full resyncs demanded: {self.demanded.total()}"
        )

    def full_resyncs(self) -> int:
        return sum(node.stat("sync_full") for node in self.nodes)

    def check_full_resyncs(self) -> None:
        """Each node has sent its data as often as the rules demand; a pyrepl says why, and is right."""
        for node in self.nodes:
            stats = node.info("stats")
            demanded = {cause: count for (sender, cause), count in self.demanded.items() if sender is node}
            assert int(stats["sync_full"]) == sum(demanded.values()), (node.name, demanded, stats)
            if node.kind == "pyrepl":
                causes = {cause: int(stats[f"sync_full_{cause}"]) for cause in FULL_RESYNC_CAUSES}
                assert {cause: count for cause, count in causes.items() if count} == demanded, node.name

    def summary(self) -> str:
        """How many full resyncs there were and why, and how many moves of which kind."""
        causes: Counter[str] = Counter()
        for (_, cause), count in self.demanded.items():
            causes[cause] += count
        moves = Counter(line.split()[0] for line in self.done if not line.startswith(" "))
        partial = sum(node.stat("sync_partial_ok") for node in self.nodes)
        return (
            f"{moves.total()} moves {dict(moves)}, {self.writing.written} writes; {causes.total()} full resyncs"
            f" {dict(causes)}, as many as demanded; {partial} partial ones"
        )

    def settle(self, *, offsets: bool = True) -> None:
        """All are linked, at the same byte of the same stream; without `offsets` only the stream's id counts."""

        def same() -> bool:
            infos = [node.info("replication") for node in self.nodes]
            up = all(info.get("master_link_status", "up") == "up" for info in infos)
            places = {(info["master_replid"], offsets and info["master_repl_offset"]) for info in infos}
            return up and len(places) == 1

        try:
            wait_until("all are at the same byte", same, 120, every_s=0.05)
        except LabError as error:
            places = [f"{node.name}: {node.info('replication')}" for node in self.nodes]
            raise LabError("\n".join([str(error), *places])) from None

    # ------------------------------------------------------------------ the moves

    def move(self) -> None:
        """One move, and whatever follows from it: a node remembers one former id, so all must have learned the new one
        before there is another."""
        self.rng.choice([self.climb, self.climb, self.graft, self.graft, self.switch, self.promote, self.split])()
        self.settle(offsets=False)
        self.done.append(f"  full resyncs: {self.full_resyncs()}")
        self.check_full_resyncs()

    def climb(self) -> None:
        node = self.rng.choice(list(self.master))
        higher = [each for each in self.above(node)[1:] if each in self.possible(node)]
        if higher:
            target = self.rng.choice(higher)
            self.note("climb", node, target)
            self.attach(node, target)
            node.wait_link_up()

    def graft(self) -> None:
        node = self.rng.choice(list(self.master))
        target = self.rng.choice(self.possible(node))
        self.note("graft", node, target)
        with self.writing.quiet():
            self.settle()
            self.attach(node, target)
            node.wait_link_up()

    def switch(self) -> None:
        if not self.heirs():
            return
        old, heir = self.root, self.rng.choice(self.heirs())
        self.note("switch", old, heir)
        old.call("FAILOVER", "TO", HOST, str(heir.port))
        self.crown(heir)
        wait_until(f"{heir.name} leads", lambda: heir.info("replication")["role"] == "master")
        wait_until("the hand-over is over", lambda: old.info("replication")["master_failover_state"] == "no-failover")
        self.writing.root = heir
        old.wait_link_up()

    def promote(self) -> None:
        self._promote(0)

    def split(self) -> None:
        self._promote(self.rng.randint(1, 5))

    def _promote(self, lost_writes: int) -> None:
        if not self.heirs():
            return
        old, heir = self.root, self.rng.choice(self.heirs())
        with self.writing.quiet():
            self.settle()
            heir.call("REPLICAOF", "NO", "ONE")
            for number in range(lost_writes):
                old.call("SET", "lost", str(number))
            self.crown(heir)
            if lost_writes:
                self.demanded[heir, "past_fork"] += 1
                for deeper in self.below(old):
                    self.demanded[self.master[deeper], "id_mismatch"] += 1
            self.note("split" if lost_writes else "promote", old, heir)
            old.call("REPLICAOF", HOST, str(heir.port))
            self.writing.root = heir
            old.wait_link_up()
            self.settle()

    def crown(self, heir: Node) -> None:
        old, self.root = self.root, heir
        del self.master[heir]
        self.master[old] = heir


@pytest.mark.parametrize(
    ("seconds", "first_seed"),
    [(15, 1), pytest.param(120, None, marks=[pytest.mark.matrix, pytest.mark.timeout(1200)])],
)
def test_rebuilt_at_random(lab: Lab, seconds: int, first_seed: int | None) -> None:
    seed = int(os.environ.get("PYREPL_TREE_SEED", "0")) or first_seed or random.SystemRandom().randrange(1, 1 << 31)
    tree = Tree(lab, seed)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            tree.move()
        tree.writing.end()
        tree.settle()
        for node in tree.nodes:
            if node is not tree.root:
                compare.assert_equal(tree.root, node)
        tree.check_full_resyncs()
        print(f"PYREPL_TREE_SEED={seed}: {tree.summary()}")
        assert tree.writing.written > 100
    except BaseException as error:
        error.add_note("\n".join([f"PYREPL_TREE_SEED={seed}", *tree.done]))
        raise
