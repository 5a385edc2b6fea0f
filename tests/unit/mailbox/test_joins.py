"""All users whose Maildirs are there are joined, some at a time."""

from __future__ import annotations

from zlib import crc32

from pyrepl.mailbox.compare import FoundBox
from pyrepl.mailbox.folders import FolderResult, FoundFolder, FoundFolders
from pyrepl.mailbox.gate_states import GateOrder, GateResult
from pyrepl.mailbox.joins import MOST_AT_ONCE, PATIENCE_S, Joins
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.unit.mailbox.gate_rig import done


class Rig:
    """A node alone; the store lists one INBOX of each user, but for those it cannot list."""

    def __init__(self, *broken: str) -> None:
        self.now = 0.0
        self.node = Node("a", Members((Member("a"),)), MemoryRows(), 0.0, NodeOptions(expunge_guard=100))
        self.broken = set(broken)
        self.boxes = 1
        """Of each user."""
        self.gate_orders: list[GateOrder] = []
        self.looks_at_most = 100
        """Mailboxes that are compared in a round."""
        self.listed: list[int] = []
        """How many users were listed in each round."""
        while not self.node.mastering.root.is_root:
            self.pass_time(0.1)

    @property
    def joins(self) -> Joins:
        assert self.node.joins is not None
        return self.node.joins

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.node.tick(self.now)
        folders, gates = self.node.folders, self.node.gates
        assert folders is not None and gates is not None
        ended = done([*self.node.core.works(), *self.node.core.removals()])
        gates.worked(ended, self.now)
        folders.worked(ended, self.now)
        self.gate_orders += gates.orders((), self.now)
        for gate in self.gate_orders[: self.looks_at_most]:
            self.gate_orders.remove(gate)
            gates.done(gate, GateResult(FoundBox(())), self.now)
        orders = folders.orders((), self.now)
        self.listed.append(len(orders))
        for order in orders:
            names = ("INBOX", *(f"Folder {number}" for number in range(1, self.boxes)))
            there = tuple(FoundFolder(name, f"{crc32(f'{order.user} {name}'.encode()):032x}", 7) for name in names)
            found = FoundFolders(there, frozenset())
            result = FolderResult(why="no disk") if order.user in self.broken else FolderResult(found)
            folders.done(order, result, self.now)


def test_some_at_a_time_until_all_are_kept_and_compared() -> None:
    rig, users = Rig(), [f"user{number:02}" for number in range(3 * MOST_AT_ONCE)]
    rig.node.join_all(users, rig.now)
    assert rig.joins.left == len(users)
    for _ in range(100):
        rig.pass_time(0.1)
    assert (rig.joins.left, rig.joins.done, rig.joins.failed) == (0, len(users), [])
    assert max(rig.listed) <= MOST_AT_ONCE
    assert sorted(rig.node.core.rows.users()) == users
    assert [n.about for n in rig.node.core.notices() if n.name == "joined"] == [f"{len(users)} users, 0 failed"]
    rig.node.join_all(users, rig.now)
    rig.pass_time(0.1)
    assert (rig.joins.left, rig.joins.done) == (0, len(users)), "nothing was left to do"


def test_who_cannot_be_listed_has_failed_and_the_others_go_on() -> None:
    rig = Rig("bob")
    rig.node.join_all(["alice", "bob", "carol"], rig.now)
    for _ in range(30):
        rig.pass_time(0.1)
    assert (rig.joins.left, rig.joins.done, rig.joins.failed) == (0, 2, ["bob"])


def test_who_takes_too_long_has_failed() -> None:
    rig = Rig()
    rig.node.join_all(["alice"], rig.now)
    rig.joins.tick(rig.now + PATIENCE_S - 1)
    assert rig.joins.left == 1
    rig.joins.tick(rig.now + PATIENCE_S)
    assert (rig.joins.left, rig.joins.failed) == (0, ["alice"])


def test_who_has_very_much_mail_has_not_failed_while_it_is_compared() -> None:
    rig, boxes = Rig(), 4
    rig.boxes = boxes
    rig.looks_at_most = 1
    rig.node.join_all(["alice"], rig.now)
    for _ in range(boxes + 2):
        rig.pass_time(0.1)
        rig.now += PATIENCE_S / 2
        rig.joins.tick(rig.now)
    assert (rig.joins.left, rig.joins.failed, rig.joins.done) == (0, [], 1)
