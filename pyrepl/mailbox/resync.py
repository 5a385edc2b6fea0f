"""How a member gets the ops that it missed: vectors and SYNC.

Not here: texts that ops lack (fetching.py), state (pulling.py, telling.py), what nobody has any more (lost_ops.py), how
ops are applied (core.py), waiting until all is everywhere (checks.py).

A link that comes up begins with SYNC from both ends: each answers with all ops that the other lacks, of whatever
origin, and sends its own as they happen from then on. Who sees by ACK that another has had ops for a second that are
missing here asks for them, so the ops of a dead node spread from whoever has them.

Who lacks ops that the other's journal has dropped is refused by SYNC, and takes its state instead (pulling.py); then it
begins with SYNC again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.entries import Pages
from pyrepl.mailbox.fetching import Fetching
from pyrepl.mailbox.lost_ops import LostOps
from pyrepl.mailbox.peers import Peer
from pyrepl.mailbox.pulling import Pulling
from pyrepl.mailbox.verbs import Ack, Command, Op, Sync
from pyrepl.mailbox.words import Dot, Vector

MOST_AT_ONCE: Final = 500
"""Ops in one answer to SYNC."""
LOOK_S: Final = 1.0
"""How often a node tells what it has, and compares it with what others told."""
WRONG_PAUSE_S: Final = 60.0
"""After so long, at most, who sent a damaged text is asked again: it may have mended it."""
SYNC: Final = "s"
"""How the tags of these questions begin."""


@final
class Resync:
    """The exchange with all members."""

    def __init__(self, core: Core, now: float, pages: Pages, place: int) -> None:
        """`place`: this node's among those that keep mail, from 0."""
        self.core: Final = core
        self.pulling: Final = Pulling(core, pages, self._sync)
        self.fetching: Final = Fetching(core)
        self._lost: Final = LostOps(core, self.pulling, self.fetching, place)
        self.on_synced: Callable[[str], None] = lambda peer: None
        """Told of a member that has told all that it has."""
        self._asked = 0
        self._look_at = now
        self._told_held: Vector = ()
        self._syncing: dict[str, str] = {}
        """Peer -> the tag of its unanswered SYNC."""
        self._again: Final[set[str]] = set()
        """Members that had no time for a SYNC, and are asked at the next look."""
        self._behind: dict[str, dict[str, int]] = {}
        """Peer -> what it had that we lacked when we looked last."""
        self._forgive_at = now

    # Links

    def link_up(self, peer: Peer) -> None:
        peer.is_up, peer.is_live = True, False
        self.core.asks_anew(peer.name)
        self._lost.link_up()
        # It says anew what it has, which is less where a disk was lost.
        peer.held.clear()
        self._sync(peer.name)

    def link_down(self, peer: Peer) -> None:
        peer.is_up = peer.is_live = False
        self._syncing.pop(peer.name, None)
        self.pulling.link_down(peer.name)
        self.fetching.link_down(peer.name)

    def _sync(self, peer: str) -> None:
        self._asked += 1
        tag = f"{SYNC}{self._asked}"
        self._syncing[peer] = tag
        self.core.send(peer, Sync(held=self.core.journal.vector()), tag)

    # What members say

    def hear_sync(self, peer: Peer, tag: str, sync: Sync) -> None:
        """Send what `held` does not cover, at most MOST_AT_ONCE ops; then the peer asks again."""
        theirs = {dot.origin: dot.seq for dot in sync.held}
        peer.tells(sync.held, self.core.causal.held)
        if not self.core.answers_now(peer.name, SYNC):
            self.core.send(peer.name, No(reason=Reason.BUSY), tag)
            return
        ops: list[Op] = []
        for origin in self.core.rows.held():
            after = theirs.get(origin, 0)
            oldest = self.core.rows.oldest(origin)
            if self.core.causal.held.get(origin, 0) > after and oldest > after + 1:
                self.core.send(peer.name, No(reason=Reason.FAILED, oldest=Dot(origin, oldest)), tag)
                return
            ops += self.core.rows.ops(origin, after, MOST_AT_ONCE + 1 - len(ops))
        for op in ops[:MOST_AT_ONCE]:
            self.core.tell(peer.name, op)
        is_all = len(ops) <= MOST_AT_ONCE
        peer.is_live = peer.is_live or is_all
        self.core.send(peer.name, Ok(held=self.core.journal.vector(), left=0 if is_all else 1), tag)

    def hear_ack(self, peer: Peer, ack: Ack) -> None:
        peer.tells(ack.held, self.core.causal.held)

    def answered(self, peer: Peer, tag: str, answer: Command) -> None:
        """The answer to a SYNC of ours, which may be forgotten by now."""
        if self._syncing.get(peer.name) != tag:
            return
        del self._syncing[peer.name]
        if isinstance(answer, Ok):
            peer.tells(answer.held, self.core.causal.held)
            if answer.left:
                self._sync(peer.name)
            else:
                self.on_synced(peer.name)
        elif isinstance(answer, No) and answer.reason == Reason.BUSY:
            self._again.add(peer.name)
        elif isinstance(answer, No):
            self.pulling.want(peer)

    # Time

    def tick(self, now: float) -> None:
        if now < self._look_at:
            return
        self._look_at = now + LOOK_S
        self.pulling.tick(now)
        self._lost.review(now, is_syncing=bool(self._syncing))
        self.fetching.forget_refusals()
        if now >= self._forgive_at:
            self._forgive_at = now + WRONG_PAUSE_S
            self.fetching.forgive()
            self.pulling.forgive()
        vector = self.core.journal.vector()
        for peer in self.core.peers.values():
            if peer.is_up and vector != self._told_held:
                self.core.send(peer.name, Ack(held=vector))
            self._compare(peer)
        self._told_held = vector

    def _compare(self, peer: Peer) -> None:
        """Ask for what the peer had a second ago, and we still lack."""
        held = self.core.causal.held
        before = self._behind.get(peer.name, {})
        is_behind = peer.name in self._again or any(held.get(origin, 0) < seq for origin, seq in before.items())
        self._again.discard(peer.name)
        if is_behind and peer.is_up and peer.name not in self._syncing and peer.name != self.pulling.peer:
            self._sync(peer.name)
        self._behind[peer.name] = {o: seq for o, seq in peer.held.items() if held.get(o, 0) < seq}

    def next_deadline(self) -> float:
        return self._look_at
