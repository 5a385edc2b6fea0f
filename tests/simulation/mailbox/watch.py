"""What nodes do of their own: which UIDs they give out (I7), and what they change under a condition (I14)."""

from __future__ import annotations

from typing import NamedTuple

from pyrepl.mailbox.node import Node
from pyrepl.mailbox.uids import MASTER
from pyrepl.mailbox.verbs import Copy, Delete, Op, Save
from pyrepl.mailbox.words import APART, Dot, Token, walk
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.simulation.mailbox.violation import Violation

MOST: int = 10_000


class Made(NamedTuple):
    """When an op was made, and what its origin was then."""

    at: float
    epoch: int
    has_lease: bool
    op: Op


class Condition(NamedTuple):
    """A STORE unchangedsince that was answered OK."""

    dot: Dot
    since: int


class Watch:
    """Looks at each op that a node makes, in the order of the real time."""

    def __init__(self, *, has_dovecots: bool = False) -> None:
        self._has_dovecots = has_dovecots
        self.are_gates_kept = True
        """No Dovecot gives out UIDs while its node and the keeper of its gates are dead."""
        self.made: dict[Dot, Made] = {}
        self.conditions: list[Condition] = []
        self.deletes: list[Delete] = []
        """All, those too of which nobody can know any more: what had not come elsewhere is gone by them."""
        self._seen: dict[str, int] = {}

    def look(self, node: Node, rows: MemoryRows, now: float, real: float) -> None:
        """A node committed something; `now` is the time by its clock."""
        origin = node.core.origin
        seen = self._seen.get(origin, 0)
        new = rows.ops_made(origin, seen)
        self._seen[origin] = seen + len(new)
        for op in new:
            assert op.at is not None
            self.made[op.at] = Made(real, node.mastering.root.epoch, node.mastering.root.has_lease(now), op)
            if isinstance(op, Delete):
                self.deletes.append(op)
            elif isinstance(op, Save) and op.token is not None:
                self._check_place(node, (op.uid,), op.token)
            elif isinstance(op, Copy) and op.token is not None:
                self._check_place(node, tuple(walk(op.touids, MOST)), op.token)

    def _check_place(self, node: Node, uids: tuple[int, ...], token: Token) -> None:
        """Masters give out UIDs of their blocks, who is apart those of its own.

        A store goes on where it was: if it gave out UIDs apart that were never saved, a master has some of its own too.
        A Dovecot goes on where it was for a moment when the mastership is over, and what it did then is APART.
        """
        if not self.are_gates_kept:
            return
        own = node.members.place(node.name)
        places = {own} if token.term == APART and not self._has_dovecots else {MASTER, own}
        for uid in uids:
            if all(node.mastering.blocks.first(uid, place) != uid for place in places):
                raise Violation("I7", f"{node.name} gave out {uid} under {token}")

    def check_grant(self, node: Node, now: float, uid: int) -> None:
        """A LOCK was answered: without a lease its UIDs are above a gap, unless no other master can be."""
        has_lease = node.mastering.root.has_lease(now)
        is_alone = not node.members.could_elect_without(node.name)
        place = node.members.place(node.name)
        if not has_lease and not is_alone and node.mastering.blocks.first(uid, place) != uid:
            raise Violation("I7", f"{node.name} has no lease, and a LOCK may give out {uid}")

    def forget(self, lost: set[Dot]) -> None:
        """Nobody can know of these ops any more."""
        for dot in lost:
            self.made.pop(dot, None)

    def check_conditions(self) -> None:
        """Of two on one message in one epoch, the later one knew of the earlier one."""
        newest: dict[tuple[str, str, int], int] = {}
        known = [(self.made[each.dot], each.since) for each in self.conditions if each.dot in self.made]
        for made, since in sorted(known, key=lambda pair: pair[0].at):
            for guid in made.op.__dict__["guids"] if made.has_lease else ():
                key = (made.op.box.text, guid, made.epoch)
                if newest.get(key, 0) > since:
                    raise Violation("I14", f"{made.op} does not know of modseq {newest[key]}")
                newest[key] = made.op.modseq or 0
