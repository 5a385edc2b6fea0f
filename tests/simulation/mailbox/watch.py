"""What nodes do of their own: which UIDs they give out (I7), and what they change under a condition (I14)."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile
from typing import NamedTuple

from pyrepl.mailbox.node import Node
from pyrepl.mailbox.root_states import RootState
from pyrepl.mailbox.rows import MessageRow
from pyrepl.mailbox.uids import MASTER
from pyrepl.mailbox.verbs import Copy, Delete, Expunge, Op, Save, Store
from pyrepl.mailbox.words import APART, Dot, Token, walk
from tests.simulation.mailbox.memory_rows import MemoryRows, touched
from tests.simulation.mailbox.violation import Violation

MOST: int = 10_000


class Made(NamedTuple):
    """When an op was made, and what its origin was then, and had applied, by op or by state."""

    at: float
    epoch: int
    has_lease: bool
    op: Op
    known: dict[str, int]

    def knew(self, dot: Dot) -> bool:
        return self.known.get(dot.origin, 0) >= dot.seq


class Expunged(NamedTuple):
    """An EXPUNGE that was made, and which SAVEs and COPYs of each of its messages its origin had applied before."""

    op: Expunge
    known: dict[str, set[Dot]]


class WaitingLock(NamedTuple):
    """A LOCK that waits: its mailbox, how many waited for that when it was asked for, and how many had their turn
    since."""

    box: str
    before: int
    served: int


class Flagged(NamedTuple):
    """A STORE of one flag of one message: whether it set it, and which STOREs of it its origin had applied before."""

    at: Dot
    is_set: bool
    known: set[Dot]


class Watch:
    """Looks at each op that a node makes, in the order of the real time."""

    def __init__(self, *, has_dovecots: bool = False) -> None:
        self._has_dovecots = has_dovecots
        self.are_gates_kept = True
        """No Dovecot gives out UIDs while its node and the keeper of its gates are dead."""
        self.made: dict[Dot, Made] = {}
        self.expunges: dict[Dot, Expunged] = {}
        self._conditions: dict[tuple[str, str], list[Dot]] = {}
        """(mailbox, GUID) -> STOREs unchangedsince that were answered OK."""
        self.flagged: dict[tuple[str, str], dict[str, list[Flagged]]] = {}
        """(mailbox, GUID) -> flag -> the STOREs that changed it."""
        self._brought: Counter[tuple[str, str]] = Counter()
        """(mailbox, GUID) -> how many SAVEs and COPYs brought it, whatever journals still have."""
        self.most_overtaking = 10**9
        """So many more LOCKs may be served before one than waited when it was asked for (I11)."""
        self._locks: dict[str, WaitingLock] = {}
        """By mail process."""
        self._votes: dict[tuple[str, int], str] = {}
        self._holders: dict[tuple[str, Token], str] = {}
        self.deletes: list[Delete] = []
        """All, those too of which nobody can know any more: what had not come elsewhere is gone by them."""
        self._seen: dict[str, int] = {}

    def look(self, node: Node, rows: MemoryRows, now: float, real: float, lease_end: float) -> None:
        """A node committed something; `now` is the time by its clock, and until `lease_end` it had a lease before."""
        origin = node.core.origin
        seen = self._seen.get(origin, 0)
        new = rows.ops_made(origin, seen)
        if not new:
            return
        self._seen[origin] = seen + len(new)
        known = rows.held()
        known |= {other: max(seq, known.get(other, 0)) for other, seq in rows.ahead().items()}
        for op in new:
            assert op.at is not None
            if isinstance(op, Save | Copy):
                self._brought.update(touched(op))
            self.made[op.at] = Made(real, node.mastering.root.epoch, node.mastering.root.has_lease(now), op, known)
            if isinstance(op, Delete):
                self.deletes.append(op)
            elif isinstance(op, Expunge):
                self.expunges[op.at] = Expunged(op, {guid: _brought_before(op, guid, rows) for guid in op.guids})
            elif isinstance(op, Store):
                self._note_flags(op, rows)
            elif isinstance(op, Save) and op.token is not None:
                self._check_place(node, (op.uid,), op.token)
            elif isinstance(op, Copy) and op.token is not None:
                self._check_place(node, tuple(walk(op.touids, MOST)), op.token)
                if not self._has_dovecots:
                    self.check_grant(node, now, op.touids[0][0], op.token, lease_end)

    def _note_flags(self, op: Store, rows: MemoryRows) -> None:
        assert op.at is not None
        for where in touched(op):
            before = {each.at for each in takewhile(lambda each: each.at != op.at, rows.touching(*where))}
            for flag in {*op.add, *op.remove}:
                of_flag = self.flagged.setdefault(where, {}).setdefault(flag, [])
                of_flag.append(Flagged(op.at, flag in op.add, {made.at for made in of_flag if made.at in before}))

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

    def check_grant(self, node: Node, now: float, uid: int, token: Token | None, lease_end: float) -> None:
        """A LOCK was answered under a token, or a COPY made: without a lease its UIDs are above a gap, unless no other
        master can be.

        It is looked at the end of a round, before which the lease was until `lease_end`. The node may have voted in it
        afterwards, or have begun to ask for a new epoch, which waits for what was granted.
        """
        root = node.mastering.root
        is_now = token is None or token.term == APART or token.epoch == root.epoch
        if not is_now or root.state in (RootState.PROBING, RootState.CLAIMING):
            return
        has_lease = now < max(lease_end, root.lease_end(now))
        is_alone = not node.members.could_elect_without(node.name)
        place = node.members.place(node.name)
        if not has_lease and not is_alone and node.mastering.blocks.first(uid, place) != uid:
            raise Violation("I7", f"{node.name} has no lease, and may give out {uid}")

    def forget(self, lost: set[Dot]) -> None:
        """Nobody can know of these ops any more."""
        for dot in lost:
            self.made.pop(dot, None)
            self.expunges.pop(dot, None)

    def transaction(self, last: Dot) -> list[Op]:
        """The ops that were made as one, of which this is the last."""
        found = [self.made[last].op] if last in self.made else []
        while found and (before := Dot(last.origin, last.seq - len(found))) in self.made and self.made[before].op.left:
            found.append(self.made[before].op)
        return found

    def check_condition(self, at: Dot, since: int, rows: MemoryRows) -> None:
        """A STORE unchangedsince was answered OK: whoever made it knew of no change beyond that (I14)."""
        if at not in self.made:
            return
        op = self.made[at].op
        for where in touched(op):
            before = takewhile(lambda each: each.at != at, rows.touching(*where))
            beyond = [each for each in before if (each.modseq or 0) > since and not isinstance(each, Expunge)]
            if beyond:
                raise Violation("I14", f"{op} was made behind {beyond}, which are beyond {since}")
            for other in self._conditions.setdefault(where, []):
                self._check_conditions(at, other)
            self._conditions[where].append(at)

    def _check_conditions(self, at: Dot, other: Dot) -> None:
        """Of two that were compared under masterships of one root, the later one knew of the one before (M10)."""
        one, two = self.made[at], self.made.get(other)
        if two is None or one.epoch != two.epoch or not (one.has_lease and two.has_lease):
            return
        if not one.knew(other) and not two.knew(at):
            raise Violation("I14", f"{one.op} and {two.op} were made, and neither knew of the other")

    def check_expunged(self, rows: MemoryRows, *, do_clash: bool) -> None:
        """What is there was brought by SAVEs or COPYs that no EXPUNGE knew of (I4). Of two mails of one GUID an EXPUNGE
        takes away the one that it names."""
        for op, known in self.expunges.values():
            for guid in op.guids:
                row = rows.message(op.box.text, guid)
                ended = known[guid] & set(op.kills) if do_clash else known[guid]
                if row is not None and ended & set(row.dots):
                    raise Violation("I4", f"{row} is back, or was never gone: {op}")

    def check_flags(self, row: MessageRow) -> None:
        """Of a flag that change stands of which nobody knew who made another one (7.1). A message that came several
        times has the flags with which it came last; and of a change that was lost with a disk nobody can say whether
        others had heard of it, as FLAGS or by state."""
        where = row.box, row.guid
        if self._brought[where] > 1:
            return
        for flag, made in self.flagged.get(where, {}).items():
            if not all(each.at in self.made for each in made):
                continue
            known = {at for each in made for at in each.known}
            last = [each for each in made if each.at not in known]
            if last and all(each.is_set != (flag in row.set_flags()) for each in last):
                raise Violation("7.1", f"{flag} of {row} is not what those say who knew of the others: {last}")

    def lock_asked(self, client: str, box: str) -> None:
        before = sum(each.box == box for each in self._locks.values())
        self._locks[client] = WaitingLock(box, before, 0)

    def lock_over(self, client: str, *, granted: bool) -> None:
        """It was answered, or nobody waits for the answer any more."""
        mine = self._locks.pop(client, None)
        if mine is None or not granted:
            return
        if mine.served > mine.before + self.most_overtaking:
            raise Violation(
                "I11", f"{mine.served} LOCKs were served before {client}'s, which came behind {mine.before}"
            )
        for name, each in self._locks.items():
            if each.box == mine.box:
                self._locks[name] = each._replace(served=each.served + 1)

    def voted(self, name: str, epoch: int, node: str) -> None:
        """A member gave its vote (I6)."""
        if self._votes.setdefault((name, epoch), node) != node:
            raise Violation("I6", f"{name} voted for {self._votes[name, epoch]} in epoch {epoch}, and for {node}")

    def votes_lost(self, name: str) -> None:
        """A member's disk is gone with its votes. One for itself that nobody joined made no root, and may be followed
        by one for another: the others would know the epoch, and tell it, before it votes again."""
        for (voter, epoch), node in list(self._votes.items()):
            joined = any(self._votes.get((other, epoch)) == name for other, _ in self._votes if other != name)
            if voter == node == name and not joined:
                del self._votes[voter, epoch]

    def holds(self, box: str, token: Token, name: str) -> None:
        """A member with a lease has the mastership under a token (I6)."""
        if self._holders.setdefault((box, token), name) != name:
            raise Violation("I6", f"{box[:6]} was held by {self._holders[box, token]} under {token}, and is by {name}")


def _brought_before(op: Expunge, guid: str, rows: MemoryRows) -> set[Dot]:
    before = takewhile(lambda each: each.at != op.at, rows.touching(op.box.text, guid))
    return {each.at for each in before if isinstance(each, Save | Copy) and each.at is not None}
