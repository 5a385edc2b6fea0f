"""Ops that were on a disk which is lost, and of which the members have only a part.

What an op did may be left: a member took the state of its origin, and was in the middle of that when the disk was
lost. The vector is raised to the op then: what the rows show is all that there will ever be of it.

Its line may be left without the text. It is applied as one of a message that was expunged.

Both wait until all members are linked and have said that they have not got it. Members may show different parts of
the same ops: before the vector is raised, the state of each of them is taken.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.fetching import Fetching
from pyrepl.mailbox.pulling import Pulling
from pyrepl.mailbox.words import Dot, Vector

LOST_S: Final = 15.0
"""So long all have to be linked, and nobody to have an op, until it is lost; each node waits so much longer than the
one before it, so that one is first."""


@final
class LostOps:
    """What nobody has, and since when."""

    def __init__(self, core: Core, pulling: Pulling, fetching: Fetching, place: int) -> None:
        """`place`: this node's among those that keep mail, from 0."""
        self._core: Final = core
        self._pulling: Final = pulling
        self._fetching: Final = fetching
        self._wait_s: Final = LOST_S * (1 + place)
        self._since = float("inf")
        """Since when nobody has ops that rows show, or texts that ops need; infinity if it is not so."""
        self._without: Final[set[str]] = set()
        """Origins of which a text was given up, and since then no member has come: the next needs no such wait."""
        self._gathered: Final[set[str]] = set()
        """Members whose state was taken since ops were found to be lost: each may show another part of them."""

    def link_up(self) -> None:
        """A member has come that may have what nobody had."""
        self._without.clear()

    def review(self, now: float, *, is_syncing: bool) -> None:
        """Is anything lost? `is_syncing`: a member has not answered our SYNC."""
        could_ask = not is_syncing and not self._pulling.peer and all(peer.is_up for peer in self._core.peers.values())
        ops, texts = (self._ops(), self._fetching.nobody_has()) if could_ask else ((), [])
        if self._gathered and (is_syncing or self._pulling.peer in self._gathered):
            return
        if not ops and not texts:
            self._settled()
            return
        self._since = min(self._since, now)
        is_due = now >= self._since + self._wait_s or self._is_more_of_the_same(ops, texts)
        if is_due and not (ops and self._gather()):
            self._give_up(ops, texts)

    def _ops(self) -> Vector:
        """Ops that came by state in part, and that nobody has."""
        held, peers = self._core.causal.held, self._core.peers.values()
        return tuple(
            Dot(origin, seq)
            for origin, seq in sorted(self._core.journal.ahead.items())
            if held.get(origin, 0) < seq and all(peer.held.get(origin, 0) <= held.get(origin, 0) for peer in peers)
        )

    def _is_more_of_the_same(self, ops: Vector, texts: list[Dot]) -> bool:
        return not ops and all(at.origin in self._without for at in texts)

    def _gather(self) -> bool:
        """Take the state of a member of which it was not taken yet; False if there is none. Then all that anybody shows
        of these ops is here, and the others take it from here."""
        for name in sorted(self._core.peers):
            if name not in self._gathered and self._core.peers[name].is_up:
                self._gathered.add(name)
                self._pulling.want(self._core.peers[name])
                return True
        return False

    def _give_up(self, ops: Vector, texts: list[Dot]) -> None:
        self._core.note("ops_lost", " ".join(f"{dot.origin}:{dot.seq}" for dot in (*ops, *texts)))
        if ops:
            self._core.jump(ops)
        # As of messages that were expunged before they came: so the other ops of their origin are not lost as well.
        self._without.update(at.origin for at in texts)
        for at in texts:
            # One that came by state in part is passed by the jump.
            if at in self._core.lacking:
                self._core.no_text(at, self._core.lacking[at][1])
        self._core.drain()
        self._settled()

    def _settled(self) -> None:
        self._since = float("inf")
        self._gathered.clear()
