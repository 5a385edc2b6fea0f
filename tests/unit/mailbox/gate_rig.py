"""A node with gates, and what its store finds."""

from __future__ import annotations

from collections.abc import Sequence

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.compare import Found, FoundBox, Text
from pyrepl.mailbox.folders import FolderResult, FoundFolder, FoundFolders
from pyrepl.mailbox.gate_states import GateOrder, GateResult, GateState, GateWork, Seen
from pyrepl.mailbox.gates import Gates
from pyrepl.mailbox.mastering import MasteringOptions
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import DONE, AddMessage, Ended, RaiseNext, SetFlags, Work
from pyrepl.mailbox.tracker import TrackerOptions
from pyrepl.mailbox.verbs import Create, Save
from pyrepl.mailbox.words import APART, Box, Dot, Token
from tests.simulation.mailbox.memory_rows import MemoryRows

GUID = "1" * 32
TEXT = Text(5, 1_700_000_000, ())
READS = Seen(reads=True)
RELEASED = Seen(released=True)


def done(works: Sequence[Work]) -> list[Ended]:
    """They went well."""
    return [Ended(work, DONE) for work in works]


class Rig:
    """A node alone, INBOX, and what its store finds there."""

    def __init__(
        self, members: str = "a", *, is_root: bool = True, accept: bool = True, has_lock_files: bool = True
    ) -> None:
        self.now = 0.0
        self.found = FoundBox(())
        self.orders: list[GateOrder] = []
        self.notices: list[Notice] = []
        self.saved: list[Save] = []
        self.raised: list[RaiseNext] = []
        mastering = MasteringOptions(tracker=TrackerOptions(accept=accept))
        self.options = NodeOptions(mastering, expunge_guard=3, has_lock_files=has_lock_files)
        self.rows = MemoryRows()
        self.members = Members(tuple(map(Member, members)))
        self.restart()
        self.run(8.0 if is_root else 0.0)
        self.node.core.do([Create(user="alice", box=Box("INBOX"), id=GUID, uidvalidity=7)])
        self.round()
        self.settle()

    def restart(self) -> None:
        self.node = Node("a", self.members, self.rows, self.now, self.options)
        self.orders.clear()
        self.list_folders()

    @property
    def gates(self) -> Gates:
        assert self.node.gates is not None
        return self.node.gates

    def round(self, result: GateResult | None = None) -> list[GateOrder]:
        """As the driver's; every order ends with `result`, or with what is there."""
        orders = self.gates.orders((), self.now)
        for order in orders:
            told = GateResult(None if order.work is GateWork.OPEN else self.found)
            self.gates.done(order, result or told, self.now)
        self.node.tick(self.now)
        core = self.node.core
        works = [*core.works(), *core.removals()]
        assert not any(isinstance(work, AddMessage | SetFlags) for work in works), "what Dovecot did is there already"
        self.gates.worked(done(works), self.now)
        self.raised += [work for work in works if isinstance(work, RaiseNext)]
        self.notices += core.notices()
        self.orders += orders
        core.sends()
        return orders

    def list_folders(self) -> None:
        """They are as the rows say."""
        assert self.node.folders is not None
        for order in self.node.folders.orders((), self.now):
            shown = view(self.rows, order.user).items()
            there = tuple(FoundFolder(name, guid) for guid, (name, _) in shown)
            names = frozenset(name for _, (name, is_subscribed) in shown if is_subscribed)
            self.node.folders.done(order, FolderResult(FoundFolders(there, names)), self.now)

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds * 10)):
            self.now += 0.1
            self.round()

    def settle(self) -> None:
        """Rounds, until nothing follows: what a round tells the node shows in the next."""
        while self.round() or self.round():
            pass

    def see(self, seen: Seen) -> list[GateWork]:
        """The file system tells something; what the store has to do then."""
        self.orders.clear()
        self.gates.seen(GUID, seen, self.now)
        self.settle()
        return [order.work for order in self.orders]

    def save_of_b(self, uid: int, number: int) -> None:
        """A message comes that the member b saved while it was apart."""
        save = Save(
            user="alice",
            box=Box(GUID, True),
            uid=uid,
            guid=f"Gb{number}",
            size=5,
            received=1,
            token=Token(0, APART),
            at=Dot("b", number),
            modseq=8 + number,
        )
        core = self.node.core
        core.hear("b", "*", save, "text")
        core.ended(done(core.works()))

    def state(self) -> GateState | None:
        return self.gates.state(GUID)

    def messages(self) -> dict[int, str]:
        return {row.uid: row.guid for row in self.node.core.rows.messages(GUID)}

    def ops(self) -> list[object]:
        return list(self.node.core.rows.ops("a", 1, 100))


def mail(*uids: int) -> FoundBox:
    return FoundBox(tuple(Found(uid, f"G{uid}", frozenset(), TEXT) for uid in uids))
