"""The tree that a finished walk shows: masters at the top, each replica under the node it follows.

Who is whose child: a node goes by its own word (master_host). A replica that its master lists and that could not be
asked hangs where the master lists it; one that is listed and says that it follows another, or nobody, is shown there
too, as `elsewhere`. Nodes that follow each other in a circle have no top: the first of them that was found takes that
place, and the circle is closed with a leaf that repeats it.

What is wrong with a node is said in problems.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from pyrepl.address import Address
from pyrepl.topology.facts import Facts, ReplicaRow
from pyrepl.topology.walk import Walk


@final
class TreeNode:
    """A node in its place.

    Invariant: facts is None exactly if failure is not empty.
    """

    def __init__(self, address: Address, facts: Facts | None, failure: str, parent: TreeNode | None) -> None:
        assert (facts is None) == bool(failure)
        self.address: Final = address
        self.facts: Final = facts
        self.failure: Final = failure
        """Why the node could not be asked; empty if it could."""
        self.is_refused = False
        """The node answered, but refused to be asked: the password is missing or wrong, or protected mode."""
        self.parent: Final = parent
        self.row: ReplicaRow | None = None
        """How the parent's INFO lists this node; None if the parent does not list it."""
        self.children: list[TreeNode] = []
        self.closes_loop = False
        """The node stands higher up in the tree already: it and the nodes between follow each other in a circle."""
        self.elsewhere = False
        """The parent lists this node, but the node says that it follows another one or none."""
        self.write_bytes_per_s: float | None = None
        """How fast the node's stream grows; None when not measured."""

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def offset(self) -> int | None:
        """How much of the stream the node has: as it says itself, else as its master's INFO says."""
        if self.facts is not None:
            return self.facts.offset
        return self.row.offset if self.row is not None else None

    @property
    def lag_bytes(self) -> int | None:
        """How far it is behind its parent, in stream bytes; None at the top, or when its stream is another.

        The newer of two readings counts, what it says and what its parent knows, as they were not read at one moment.
        """
        parent = self.parent.facts if self.parent is not None else None
        if parent is None or parent.offset is None or self.offset is None or self.elsewhere or self.closes_loop:
            return None
        if self.facts is not None and (self.facts.replid != parent.replid or self.facts.sync is not None):
            return None
        held = max(self.offset, self.row.offset) if self.row is not None else self.offset
        return max(0, parent.offset - held)

    @property
    def lag_s(self) -> int | None:
        """Seconds since its parent last had an acknowledgement, or since its link went down."""
        if self.facts is not None and not self.facts.link_up and self.facts.down_s is not None:
            return self.facts.down_s
        return self.row.lag_s if self.row is not None else None

    @property
    def cover_bytes(self) -> int | None:
        """How many more stream bytes may be written during a cut that ends in a partial resync; 0: none.

        None when there is nothing to tell: at the top, in a full resync, on another stream, without a backlog.
        """
        parent = self.parent.facts if self.parent is not None else None
        lag_bytes = self.lag_bytes
        if parent is None or parent.backlog_bytes is None or lag_bytes is None:
            return None
        # While the link is up its bytes are on their way; cut, it can be continued only from what is still held.
        is_lost = lag_bytes > parent.backlog_held_bytes and not self._is_up
        return 0 if is_lost else max(0, parent.backlog_bytes - lag_bytes)

    @property
    def cover_s(self) -> float | None:
        """How long cover_bytes last at the present write rate; None when nothing is written or the rate is not
        known."""
        rate = self.parent.stream_bytes_per_s if self.parent is not None else None
        return self.cover_bytes / rate if self.cover_bytes is not None and rate else None

    @property
    def stream_bytes_per_s(self) -> float | None:
        """The node's write rate, or that of the nearest node above it that was measured, as the stream is the same."""
        if self.write_bytes_per_s is not None or self.parent is None:
            return self.write_bytes_per_s
        return self.parent.stream_bytes_per_s

    @property
    def _is_up(self) -> bool:
        return self.facts is not None and self.facts.link_up

    def walk(self) -> list[TreeNode]:
        """This node and all below it, in the order in which they are shown."""
        return [self, *(node for child in self.children for node in child.walk())]


@final
class Tree:
    """All nodes that were found. `tops` are the masters, in the order in which they were found. `left_out`: how many
    addresses were not asked, as there were too many."""

    def __init__(self, start: Address, tops: list[TreeNode], left_out: int, sentinel: Facts | None) -> None:
        self.start: Final = start
        self.tops: Final = tops
        self.left_out: Final = left_out
        self.sentinel: Final = sentinel
        """The facts of `start`, if that is a sentinel: it is no node of the tree."""

    @property
    def start_failure(self) -> str:
        """Why the first node could not be asked; empty if it could."""
        node = self._failed_start
        return "" if node is None else node.failure

    @property
    def start_is_refused(self) -> bool:
        """The first node is there, and refuses to be asked."""
        node = self._failed_start
        return node is not None and node.is_refused

    @property
    def _failed_start(self) -> TreeNode | None:
        return next((node for node in self.nodes() if node.address == self.start and node.failure), None)

    def nodes(self) -> list[TreeNode]:
        return [node for top in self.tops for node in top.walk()]


def build(walk: Walk, rates: Mapping[Address, float] | None = None) -> Tree:
    """The tree of a finished walk; `rates` are stream bytes per second by key (walk.write_rates)."""
    builder = _Builder(walk, rates or {})
    sentinel = walk.facts(walk.start)
    return Tree(
        walk.start,
        builder.tops(),
        walk.left_out,
        sentinel if sentinel is not None and sentinel.is_sentinel else None,
    )


@final
class _Builder:
    """Builds a tree. Invariant: `_placed` holds the keys of the nodes that stand where they themselves say."""

    def __init__(self, walk: Walk, rates: Mapping[Address, float]) -> None:
        self._walk = walk
        self._rates = rates
        self._placed: set[Address] = set()
        keys = [key for key, answer in walk.answers.items() if not answer.facts.is_sentinel]
        self._parents = {key: self._parent_of(key) for key in keys}
        self._followers: dict[Address, list[Address]] = {}
        for key, parent in self._parents.items():
            if parent is not None:
                self._followers.setdefault(parent, []).append(key)

    def tops(self) -> list[TreeNode]:
        masters = [key for key, parent in self._parents.items() if parent is None]
        unreached = [address for address in self._walk.failures if address in self._followers]
        tops = [self._place(key, None) for key in (*masters, *unreached)]
        # What is left follows itself in a circle.
        for key in self._parents:
            if key not in self._placed:
                tops.append(self._place(key, None))
        shown = {node.address for top in tops for node in top.walk()}
        return tops + [self._make(key, None) for key in self._walk.failures if key not in shown]

    def _parent_of(self, key: Address) -> Address | None:
        facts = self._walk.facts(key)
        return self._walk.key_of(facts.master) if facts is not None and facts.master is not None else None

    def _make(self, key: Address, parent: TreeNode | None) -> TreeNode:
        facts = self._walk.facts(key)
        unknown = "not asked" if key.port else "has not said where it listens"
        node = TreeNode(key, facts, "" if facts is not None else self._walk.failures.get(key, unknown), parent)
        node.is_refused = key in self._walk.refusals
        return node

    def _place(self, key: Address, parent: TreeNode | None) -> TreeNode:
        """Make the node and all nodes below it."""
        node = self._make(key, parent)
        self._placed.add(key)
        node.write_bytes_per_s = self._rates.get(key)
        listed = set()
        for row in node.facts.replicas if node.facts is not None else ():
            child_key = self._walk.key_of(row.address)
            if child_key not in listed or not child_key.port:
                listed.add(child_key)
                node.children.append(self._listed(child_key, row, node))
        for child_key in self._followers.get(key, ()):
            if child_key not in listed:
                node.children.append(self._follower(child_key, node))
        return node

    def _listed(self, key: Address, row: ReplicaRow, parent: TreeNode) -> TreeNode:
        if self._parents.get(key) == parent.address:
            node = self._follower(key, parent)
        else:
            node = self._make(key, parent)
            node.elsewhere = node.facts is not None
        node.row = row
        return node

    def _follower(self, key: Address, parent: TreeNode) -> TreeNode:
        if key not in self._placed:
            return self._place(key, parent)
        node = self._make(key, parent)
        node.closes_loop = True
        return node
