"""The ops that another member lacks, in an order in which it can apply them.

An answer has room for a part of them, and who gets that part asks again from where it then is. So the part must bring
it further: each transaction comes whole, and behind what it waits for. Origin by origin, as the journal has them, all
that there is room for might wait for what there is none for, and would come again for ever.

Not here: who asks, and when (resync.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from pyrepl.mailbox.causal import cost_of
from pyrepl.mailbox.rows import Rows
from pyrepl.mailbox.verbs import Op

_PAGE: Final = 50
"""Ops of one origin that are read at once."""


@final
class _Queue:
    """The ops of one origin behind `after`, transaction by transaction."""

    def __init__(self, rows: Rows, origin: str, after: int) -> None:
        self._rows: Final = rows
        self.origin: Final = origin
        self._read = after
        self._ops: list[Op] = []

    def first(self) -> list[Op]:
        """The next transaction; [] at the end."""
        place = 0
        while self._has(place):
            if not self._ops[place].left:
                return self._ops[: place + 1]
            place += 1
        return []

    def take(self, count: int) -> None:
        del self._ops[:count]

    def _has(self, place: int) -> bool:
        if place >= len(self._ops):
            page = self._rows.ops(self.origin, self._read, _PAGE)
            for op in page:
                assert op.at is not None
                self._read = op.at.seq
            self._ops += page
        return place < len(self._ops)


@final
class _Answer:
    """What was taken into an answer, and up to where the other gets by that."""

    def __init__(self, theirs: Mapping[str, int], most: int, most_bytes: int) -> None:
        self.reached: Final = dict(theirs)
        self.ops: Final[list[Op]] = []
        self.is_full = False
        self._most: Final = most
        self._bytes_left = most_bytes

    def covers(self, ops: list[Op], origin: str) -> bool:
        """Has the other by then what they wait for?"""
        return all(self.reached.get(dot.origin, 0) >= dot.seq for op in ops for dot in op.after if dot.origin != origin)

    def take(self, queue: _Queue, ops: list[Op]) -> None:
        """A transaction; the first one in any case."""
        cost = sum(map(cost_of, ops))
        self.is_full = bool(self.ops) and (len(self.ops) + len(ops) > self._most or cost > self._bytes_left)
        if not self.is_full:
            self.ops.extend(ops)
            self._bytes_left -= cost
            last = ops[-1].at
            assert last is not None
            self.reached[last.origin] = last.seq
            queue.take(len(ops))


def missed(
    rows: Rows, held: Mapping[str, int], theirs: Mapping[str, int], most: int, most_bytes: int
) -> tuple[list[Op], bool]:
    """Ops up to `held` that `theirs` does not cover, and whether these are all. At most `most`, and not much more than
    what costs `most_bytes` (causal.cost_of), but one transaction in any case."""
    queues = [
        _Queue(rows, origin, theirs.get(origin, 0)) for origin in sorted(held) if held[origin] > theirs.get(origin, 0)
    ]
    answer = _Answer(theirs, most, most_bytes)
    count = -1
    while count < len(answer.ops) and not answer.is_full:
        count = len(answer.ops)
        for queue in queues:
            while (ops := queue.first()) and answer.covers(ops, queue.origin) and not answer.is_full:
                answer.take(queue, ops)
    # What is left waits for ops that are not here, as rows that came by state show more than was applied: the other may
    # get these from elsewhere.
    for queue in queues:
        while (ops := queue.first()) and not answer.is_full:
            answer.take(queue, ops)
    return answer.ops, not answer.is_full
