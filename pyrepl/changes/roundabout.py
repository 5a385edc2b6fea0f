"""Which node a subscriber tries next and how long it waits before, and when there is no more sense in trying.

Not here: connecting (client.py), what a node says (subscriber.py).

A round is a try of every node in turn, without a pause between them. After a round in which nobody served us comes a
pause, twice as long each time and of random length, so that a thousand subscribers of a node that was restarted do
not come back in the same millisecond. A node that refuses for good (a token too old, a wrong password) does not end
it while others may do better: one keeps a longer backlog than another. When a round is over and any of its nodes has
refused, the first refusal is the answer; whoever could not be reached in that round is not waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar, final

Node = TypeVar("Node")

STEADY_S: Final = 30.0
"""A node that served for so long is forgiven its end: the next pause is the first again."""

SHORT_S: Final = 1.0
"""One that served for less is not worth haste: we would go round between nodes that all cut us."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Pauses in seconds: the n-th (from 1) is at most first_s * 2**(n-1), and never more than most_s."""

    first_s: float = 0.1
    most_s: float = 10.0


class Try(NamedTuple, Generic[Node]):
    """Go to that node, after so many seconds."""

    node: Node
    after_s: float


@final
class Roundabout(Generic[Node]):
    """The order of nodes, and the pauses between the rounds.

    `jitter()` is uniform in [0, 1): a pause is between half of its length and all of it.

    Invariants: `0 <= _failures < len(nodes)` between calls; `refusals` holds those of this round only, but when
    `ended` returned None those of the last one.
    """

    def __init__(self, nodes: Sequence[Node], pace: Pace, jitter: Callable[[], float]) -> None:
        if not nodes:
            raise ValueError("a subscriber needs at least one node")
        self._nodes: Final = tuple(nodes)
        self._pace: Final = pace
        self._jitter: Final = jitter
        self._at = 0
        self._failures = 0
        self._pauses = 0
        self.refusals: list[Exception] = []

    @property
    def node(self) -> Node:
        """Whose turn it is."""
        return self._nodes[self._at]

    def ended(self, served_for_s: float | None, refusal: Exception | None = None) -> Try[Node] | None:
        """The connection to `node` is no more, or never was: the next try, or None when there is no sense in one.

        `served_for_s`: since it first brought us something; None if it never did. `refusal`: it said no for good.
        """
        assert served_for_s is None or served_for_s >= 0
        if served_for_s is not None:
            self._begin_round(steady=served_for_s >= STEADY_S)
        if refusal is not None:
            self.refusals.append(refusal)
        self._failures += 1
        self._at = (self._at + 1) % len(self._nodes)
        is_over = self._failures == len(self._nodes)
        if is_over and self.refusals:
            return None
        if not is_over and (served_for_s is None or served_for_s >= SHORT_S):
            return Try(self.node, 0.0)
        if is_over:
            self._begin_round(steady=False)
        return Try(self.node, self._pause_s())

    def _begin_round(self, *, steady: bool) -> None:
        self._failures = 0
        self.refusals.clear()
        if steady:
            self._pauses = 0

    def _pause_s(self) -> float:
        longest_s = min(self._pace.most_s, self._pace.first_s * 2.0 ** min(self._pauses, 30))
        self._pauses += 1
        return longest_s * (0.5 + 0.5 * self._jitter())
