"""Ops that came too early: each waits until all that its origin knew when it made it is applied here.

Not here: what applying means (merging.py), and where missing ops come from (node.py asks by SYNC).

An op is due when the one before it of its origin is applied, everything in `after` is, and all of its transaction is
here. So whatever an op speaks of is there: the mailbox, the message, the UIDs that were given out before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple, final

from pyrepl.mailbox.verbs import Op
from pyrepl.mailbox.words import Dot, Vector


class Waiting(NamedTuple):
    """An op that came, and the name of its text in the drop folder ("" for none). `cost`: see `cost_of`."""

    op: Op
    text: str = ""
    cost: int = 0


MOST_WAITING: Final = 10_000
"""Ops that wait; what comes beyond is dropped and asked for again, but for the next transaction of an origin that is
known."""
MOST_WAITING_BYTES: Final = 16 * 1024 * 1024
"""What they may take together: a line may be 64 KiB. As much as may wait for a member that does not read
(`mailbox-output-buffer-limit`). And what one transaction may take beyond that, if it is the next one of an origin that
is known: it is of use only as a whole."""
MOST_TX_BYTES: Final = 12 * 1024 * 1024
"""What one transaction may take that a node makes (`tx_cost`): the rest is for what each of its ops says that it waits
for."""
_LEAST_IN_TX: Final = MOST_TX_BYTES // (MOST_WAITING // 2)
MOST_TOLD: Final = 100
"""Origins of which others are told how much waits, as that has to fit into a line."""
_OP_BYTES: Final = 1000
_ITEM_BYTES: Final = 64


def cost_of(op: Op) -> int:
    """About as many bytes as the op takes in memory, or more: what Python adds to each item of a list is counted."""
    cost = _OP_BYTES
    for value in op.__dict__.values():
        if isinstance(value, str):
            cost += len(value)
        elif type(value) is tuple:
            cost += sum(_ITEM_BYTES + (len(each) if isinstance(each, str) else _ITEM_BYTES) for each in value)
    return cost


def tx_cost(ops: Iterable[Op]) -> int:
    """What a transaction takes of MOST_TX_BYTES: each op so much at least that no more than can wait fit in."""
    return sum(max(cost_of(op), _LEAST_IN_TX) for op in ops)


@final
class Causal:
    """What waits, by origin and seq.

    Invariants: nothing at or below the vector waits; at most `most` ops wait, and of each known origin the next
    transaction, of `most` ops too. `count` is their number, `waiting_bytes` what they take: at most MOST_WAITING_BYTES,
    and as much again and one op for each of these transactions.
    """

    __slots__ = ("_beyond", "_most", "_waiting", "coming", "count", "held", "waiting_bytes")

    def __init__(self, held: dict[str, int], most: int = MOST_WAITING) -> None:
        """`held` is the vector, which is kept here from now on."""
        self.held: Final = held
        self.coming: dict[str, int] = {}
        """A vector up to which everything comes otherwise: ops below it wait, as they would bring back what is gone."""
        self._most: Final = most
        self._waiting: dict[str, dict[int, Waiting]] = {}
        self._beyond: dict[str, int] = {}
        """Origin -> what its next transaction takes that came in where there was no room."""
        self.count = 0
        self.waiting_bytes = 0

    def add(self, op: Op, text: str = "") -> bool:
        """An op came. False: it is applied or waits already, or there is no room for it."""
        assert op.at is not None
        origin, seq = op.at
        cost = cost_of(op)
        if self.has(op.at) or self.waits(op.at) or not self._has_room(origin, seq, cost):
            return False
        if self._is_full(cost):
            self._beyond[origin] = self._beyond.get(origin, 0) + cost
        self._waiting.setdefault(origin, {})[seq] = Waiting(op, text, cost)
        self.count += 1
        self.waiting_bytes += cost
        return True

    def _is_full(self, cost: int) -> bool:
        return self.count >= self._most or self.waiting_bytes + cost > MOST_WAITING_BYTES

    def _has_room(self, origin: str, seq: int, cost: int) -> bool:
        applied = self.held.get(origin, 0)
        if not self._is_full(cost) or (applied and seq == applied + 1):
            return True
        first = self._waiting.get(origin, {}).get(applied + 1)
        is_of_next = (
            applied > 0 and first is not None and first.op.left < self._most and seq <= applied + 1 + first.op.left
        )
        return is_of_next and self._beyond.get(origin, 0) + cost <= MOST_WAITING_BYTES

    def reach(self, origin: str) -> int:
        """The seq up to which all of an origin is here, applied or waiting."""
        seq, queue = self.held.get(origin, 0), self._waiting.get(origin, {})
        while seq + 1 in queue:
            seq += 1
        return seq

    def reaches(self) -> Vector:
        """Where more is here than is applied, of MOST_TOLD origins."""
        found = [Dot(origin, self.reach(origin)) for origin, queue in sorted(self._waiting.items()) if queue]
        return tuple([dot for dot in found if not self.has(dot)][:MOST_TOLD])

    def lacks(self, at: Dot) -> bool:
        """Did this op, or one before it, not come yet, and would it be taken?"""
        reach = self.reach(at.origin)
        return reach < at.seq and self._has_room(at.origin, reach + 1, 0)

    def waits(self, at: Dot) -> bool:
        """Did it come, and has to wait?"""
        return at.seq in self._waiting.get(at.origin, ())

    def waiting(self, at: Dot) -> Op | None:
        """The op, if it waits."""
        found = self._waiting.get(at.origin, {}).get(at.seq)
        return None if found is None else found.op

    def has(self, at: Dot) -> bool:
        """Is it applied, or known otherwise?"""
        return self.held.get(at.origin, 0) >= at.seq

    def due(self, passed: Collection[str] = ()) -> list[Waiting]:
        """The next op, with all of its transaction, in order; [] if none can be applied now. `passed`: origins that are
        not looked at."""
        for origin, queue in self._waiting.items():
            if origin in passed:
                continue
            seq = self.held.get(origin, 0) + 1
            first = queue.get(seq)
            # No transaction of more than can wait is ever whole.
            if first is not None and seq > self.coming.get(origin, 0) and first.op.left < self._most:
                whole = [queue.get(seq + more) for more in range(first.op.left + 1)]
                found = [each for each in whole if each is not None]
                if len(found) == len(whole) and all(self._covers(each.op, origin) for each in found):
                    return found
        return []

    def _covers(self, op: Op, origin: str) -> bool:
        return all(self.has(dot) for dot in op.after if dot.origin != origin)

    def applied(self, op: Op) -> None:
        """It is applied: the vector grows by it."""
        assert op.at is not None and op.at.seq == self.held.get(op.at.origin, 0) + 1
        self.held[op.at.origin] = op.at.seq
        self._beyond.pop(op.at.origin, None)
        if self.waits(op.at):
            self._drop(op.at)

    def jump(self, origin: str, seq: int) -> list[Waiting]:
        """Up to here all is known otherwise; the ops that waited for nothing."""
        self.held[origin] = max(seq, self.held.get(origin, 0))
        self._beyond.pop(origin, None)
        queue = self._waiting.get(origin, {})
        found = [queue[old] for old in sorted(queue) if old <= seq]
        for each in found:
            assert each.op.at is not None
            self._drop(each.op.at)
        return found

    def _drop(self, at: Dot) -> None:
        self.waiting_bytes -= self._waiting[at.origin].pop(at.seq).cost
        self.count -= 1
