"""How a member gets the ops that it missed: vectors and SYNC.

Not here: texts that ops lack (fetching.py), state (pulling.py, telling.py), what nobody has any more (lost_ops.py), how
ops are applied (core.py), waiting until all is everywhere (checks.py).

A link that comes up begins with SYNC from both ends: each answers with all ops that the other lacks, of whatever
origin, and sends its own as they happen from then on. Who sees by ACK that another has had ops for a second that are
missing here asks for them, so the ops of a dead node spread from whoever has them. Which ops an answer has, and in
which order, is said in missed.py.

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
from pyrepl.mailbox.missed import missed
from pyrepl.mailbox.peers import Peer
from pyrepl.mailbox.pulling import Pulling
from pyrepl.mailbox.verbs import Ack, Command, Sync
from pyrepl.mailbox.words import Dot, Vector

MOST_AT_ONCE: Final = 500
"""Ops in one answer to SYNC."""
MOST_BYTES_AT_ONCE: Final = 4 * 1024 * 1024
"""What they may take, about (causal.cost_of): all are said to a link at once, and one to which much waits ends."""
LOOK_S: Final = 1.0
"""How often a node tells what it has, and compares it with what others told."""
WRONG_PAUSE_S: Final = 60.0
"""After so long, at most, who sent a damaged text is asked again: it may have mended it."""
SYNC: Final = "s"
"""How the tags of these questions begin."""


@final
class Resync:
    """The exchange with all members."""

    def __init__(self, core: Core, now: float, pages: Pages, place: int, most_bytes: int = MOST_BYTES_AT_ONCE) -> None:
        """`place`: this node's among those that keep mail, from 0. `most_bytes`: as MOST_BYTES_AT_ONCE."""
        self.core: Final = core
        self.most_ops = MOST_AT_ONCE
        self.most_bytes = most_bytes
        self.pulling: Final = Pulling(core, pages, self._sync)
        self.fetching: Final = Fetching(core)
        self._lost: Final = LostOps(core, self.pulling, self.fetching, place)
        self.on_synced: Callable[[str], None] = lambda peer: None
        """Told of a member that has told all that it has."""
        self._asked = 0
        self._look_at = now
        self._told_held: Vector = ()
        self._syncing: dict[str, tuple[str, Sync]] = {}
        """Peer -> its unanswered SYNC, with its tag."""
        self._again: Final[set[str]] = set()
        """Members that had no time for a SYNC, or nothing new, and are asked at the next look."""
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
        sync = self._lacking()
        self._syncing[peer] = tag, sync
        self.core.send(peer, sync, tag)

    def _lacking(self) -> Sync:
        """What is applied, and what waits: that is not told again, as the texts of many ops would come each time."""
        return Sync(held=self.core.journal.vector(), waits=self.core.causal.reaches())

    # What members say

    def hear_sync(self, peer: Peer, tag: str, sync: Sync) -> None:
        """Send what the peer lacks, a bounded number of ops; then it asks again."""
        peer.tells(sync.held, self.core.causal.held)
        if not self.core.answers_now(peer.name, SYNC):
            self.core.send(peer.name, No(reason=Reason.BUSY), tag)
            return
        theirs = {dot.origin: dot.seq for dot in sync.held}
        for origin, seq in sync.waits:
            theirs[origin] = max(seq, theirs.get(origin, 0))
        mine = self.core.causal.held
        for origin in sorted(mine):
            oldest, after = self.core.rows.oldest(origin), theirs.get(origin, 0)
            if mine[origin] > after and oldest > after + 1:
                self.core.send(peer.name, No(reason=Reason.FAILED, oldest=Dot(origin, oldest)), tag)
                return
        ops, is_all = missed(self.core.rows, mine, theirs, self.most_ops, self.most_bytes)
        for op in ops:
            self.core.tell(peer.name, op)
        peer.is_live = peer.is_live or is_all
        self.core.send(peer.name, Ok(held=self.core.journal.vector(), left=0 if is_all else 1), tag)

    def hear_ack(self, peer: Peer, ack: Ack) -> None:
        peer.tells(ack.held, self.core.causal.held)

    def answered(self, peer: Peer, tag: str, answer: Command) -> None:
        """The answer to a SYNC of ours, which may be forgotten by now."""
        expected, asked = self._syncing.get(peer.name, ("", Sync()))
        if expected != tag:
            return
        del self._syncing[peer.name]
        if isinstance(answer, Ok):
            peer.tells(answer.held, self.core.causal.held)
            if not answer.left:
                self.on_synced(peer.name)
            elif self._lacking() != asked:
                self._sync(peer.name)
            else:
                # What came is of no use now, and would be no other if it were asked for at once.
                self._again.add(peer.name)
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
        """Ask for what the peer had a second ago, and did not come yet."""
        held, lacks = self.core.causal.held, self.core.causal.lacks
        before = self._behind.get(peer.name, {})
        is_behind = peer.name in self._again or any(lacks(Dot(origin, seq)) for origin, seq in before.items())
        self._again.discard(peer.name)
        if is_behind and peer.is_up and peer.name not in self._syncing and peer.name != self.pulling.peer:
            self._sync(peer.name)
        self._behind[peer.name] = {o: seq for o, seq in peer.held.items() if held.get(o, 0) < seq}

    def next_deadline(self) -> float:
        return self._look_at
