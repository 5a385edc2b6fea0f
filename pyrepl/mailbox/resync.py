"""How a member gets what it missed: vectors, SYNC, texts by FETCH.

Not here: state (pulling.py, telling.py), how ops are applied (core.py), waiting until all is everywhere (checks.py).

A link that comes up begins with SYNC from both ends: each answers with all ops that the other lacks, of whatever
origin, and sends its own as they happen from then on. Who sees by ACK that another has had ops for a second that are
missing here asks for them, so the ops of a dead node spread from whoever has them.

Who lacks ops that the other's journal has dropped is refused by SYNC, and takes its state instead (pulling.py); then it
begins with SYNC again.

Who was in the middle of that when the other's disk was lost, shows what some ops did that nobody has any more. When
all members say that they have not got them, what is shown stands for these ops: the vector is raised to them, and the
others take the state from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.core import Core, Peer
from pyrepl.mailbox.entries import Pages
from pyrepl.mailbox.merging import NO_TEXT, Text
from pyrepl.mailbox.pulling import Pulling
from pyrepl.mailbox.verbs import Ack, Command, Fetch, Op, Sync
from pyrepl.mailbox.words import Dot, Vector, node_of

MOST_AT_ONCE: Final = 500
"""Ops in one answer to SYNC."""
LOOK_S: Final = 1.0
"""How often a node tells what it has, and compares it with what others told."""
WRONG_PAUSE_S: Final = 60.0
"""After so long, at most, who sent a damaged text is asked again: it may have mended it."""
LOST_S: Final = 15.0
"""So long all have to be linked, and nobody to have an op, until it is lost; each node waits so much longer than the
one before it, so that one is first."""
SYNC, FETCH = "s", "f"


class _Fetching(NamedTuple):
    at: Dot
    what: tuple[str, str]
    peer: str


@final
class Resync:
    """The exchange with all members."""

    def __init__(self, core: Core, now: float, pages: Pages, place: int) -> None:
        """`place`: this node's among those that keep mail, from 0."""
        self.core: Final = core
        self._lost_s: Final = LOST_S * (1 + place)
        self._lost_since = float("inf")
        """Since when nobody has ops that rows show; infinity if it is not so."""
        self._without: set[str] = set()
        """Origins of which a text was given up, and since then no member has come: the next needs no such wait."""
        self._gathered: set[str] = set()
        """Members whose state was taken since ops were found to be lost: each may show another part of them."""
        self.pulling: Final = Pulling(core, pages, self._sync)
        self.on_synced: Callable[[str], None] = lambda peer: None
        """Told of a member that has told all that it has."""
        self._asked = 0
        self._look_at = now
        self._told_held: Vector = ()
        self._syncing: dict[str, str] = {}
        """Peer -> the tag of its unanswered SYNC."""
        self._behind: dict[str, dict[str, int]] = {}
        """Peer -> what it had that we lacked when we looked last."""
        self._fetching: dict[str, _Fetching] = {}
        self._refused: dict[Dot, set[str]] = {}
        """Op -> who said that it has not the text."""
        self._wrong: Final[set[tuple[Dot, str]]] = set()
        """Ops, and who sent another text than theirs."""
        self._forgive_at = now

    def _tag(self, letter: str) -> str:
        self._asked += 1
        return f"{letter}{self._asked}"

    # Links

    def link_up(self, peer: Peer) -> None:
        peer.is_up, peer.is_live = True, False
        self._without.clear()
        # It says anew what it has, which is less where a disk was lost.
        peer.held.clear()
        self._sync(peer.name)

    def link_down(self, peer: Peer) -> None:
        peer.is_up = peer.is_live = False
        self._syncing.pop(peer.name, None)
        self.pulling.link_down(peer.name)
        for tag in [tag for tag, fetching in self._fetching.items() if fetching.peer == peer.name]:
            del self._fetching[tag]

    def _sync(self, peer: str) -> None:
        tag = self._tag(SYNC)
        self._syncing[peer] = tag
        self.core.send(peer, Sync(held=self.core.journal.vector()), tag)

    # What members say

    def hear_sync(self, peer: Peer, tag: str, sync: Sync) -> None:
        """Send what `held` does not cover, at most MOST_AT_ONCE ops; then the peer asks again."""
        theirs = {dot.origin: dot.seq for dot in sync.held}
        peer.tells(sync.held, self.core.causal.held)
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

    def hear_fetch(self, peer: str, tag: str, fetch: Fetch) -> None:
        home = self.core.rows.home(fetch.user, fetch.guid)
        if home is None:
            self.core.send(peer, No(reason=Reason.NOUID, held=self.core.journal.vector()), tag)
            return
        answer = Ok(size=home.size, received=home.received, sum=home.sums)
        self.core.send(peer, answer, tag, (fetch.user, fetch.guid))

    def answered(self, peer: Peer, tag: str, answer: Command, text: str = "") -> None:
        """The answer to a question of ours."""
        if self._syncing.get(peer.name) == tag:
            del self._syncing[peer.name]
            if isinstance(answer, Ok):
                peer.tells(answer.held, self.core.causal.held)
                if answer.left:
                    self._sync(peer.name)
                else:
                    self.on_synced(peer.name)
            elif isinstance(answer, No):
                self.pulling.want(peer)
        elif tag in self._fetching:
            self._fetched(peer, self._fetching.pop(tag), answer, text)
        else:
            self.core.let_go(text)

    # Texts

    def fetch_lacking(self) -> None:
        """Ask for the texts without which ops cannot be applied: their origin first, then whoever can be reached."""
        busy = {fetching.at for fetching in self._fetching.values()}
        for at, what in list(self.core.lacking.items()):
            if what in self.core.texts or self.core.rows.home(*what) is not None:
                del self.core.lacking[at]
            elif at not in busy:
                self._fetch(at, what)

    def _fetch(self, at: Dot, what: tuple[str, str]) -> None:
        refused = self._refused.setdefault(at, set()) | {peer for op, peer in self._wrong if op == at}
        ups = [peer.name for peer in self.core.peers.values() if peer.is_up and peer.name not in refused]
        if not ups:
            return
        origin = node_of(at.origin)
        peer = origin if origin in ups else ups[0]
        tag = self._tag(FETCH)
        self._fetching[tag] = _Fetching(at, what, peer)
        self.core.send(peer, Fetch(user=what[0], guid=what[1]), tag)

    def _fetched(self, peer: Peer, fetching: _Fetching, answer: Command, text: str) -> None:
        if self.core.causal.has(fetching.at):
            # What the op did came by state meanwhile.
            self.core.let_go(text)
            self._refused.pop(fetching.at, None)
            return
        if isinstance(answer, Ok):
            self.core.let_go((self.core.texts.get(fetching.what) or NO_TEXT).name)
            self.core.texts[fetching.what] = Text(text, answer.size or 0, answer.received or 0, answer.sum)
        elif isinstance(answer, No):
            self._refused.setdefault(fetching.at, set()).add(peer.name)
            if answer.reason is Reason.FAILED:
                self._wrong.add((fetching.at, peer.name))
            held = {dot.origin: dot.seq for dot in answer.held}
            if held.get(fetching.at.origin, 0) >= fetching.at.seq:
                # It applied the op, and has no such message any more: the message was expunged.
                self.core.texts[fetching.what] = None
        if fetching.what in self.core.texts:
            self._refused.pop(fetching.at, None)
            self.core.lacking.pop(fetching.at, None)
            self.core.drain()

    # Time

    def tick(self, now: float) -> None:
        if now < self._look_at:
            return
        self._look_at = now + LOOK_S
        self.pulling.tick(now)
        self._review_lost(now)
        # Whoever had not the text may have it by now.
        self._refused.clear()
        if now >= self._forgive_at:
            self._forgive_at = now + WRONG_PAUSE_S
            self._wrong.clear()
            self.pulling.forgive()
        vector = self.core.journal.vector()
        for peer in self.core.peers.values():
            if peer.is_up and vector != self._told_held:
                self.core.send(peer.name, Ack(held=vector))
            self._compare(peer)
        self._told_held = vector

    def _review_lost(self, now: float) -> None:
        """Is what rows show all that there will ever be of some ops, or has nobody their texts?"""
        lost, without_text = self._lost(), self._without_text()
        if self._is_gathering():
            return
        if not lost and not without_text:
            self._lost_since = float("inf")
            self._gathered.clear()
        elif now >= (since := min(self._lost_since, now)) + self._lost_s or self._is_known(lost, without_text):
            if lost and self._gather():
                self._lost_since = since
                return
            self.core.note("ops_lost", " ".join(f"{dot.origin}:{dot.seq}" for dot in (*lost, *without_text)))
            if lost:
                self.core.jump(lost)
            # As of messages that were expunged before they came: so the other ops of their origin are not lost as well.
            self._without.update(at.origin for at in without_text)
            for at in without_text:
                # One that came by state in part is passed by the jump.
                if at in self.core.lacking:
                    self.core.texts[self.core.lacking.pop(at)] = None
            self.core.drain()
            self._lost_since = float("inf")
            self._gathered.clear()
        else:
            self._lost_since = since

    def _is_gathering(self) -> bool:
        """Is the state taken of a member that may show another part of lost ops?"""
        return bool(self._gathered) and (self.pulling.peer in self._gathered or bool(self._syncing))

    def _gather(self) -> bool:
        """Take the state of a member of which it was not taken yet; False if there is none. Then all that anybody shows
        of these ops is here, and the others take it from here."""
        for name in sorted(self.core.peers):
            if name not in self._gathered and self.core.peers[name].is_up:
                self._gathered.add(name)
                self.pulling.want(self.core.peers[name])
                return True
        return False

    def _is_known(self, lost: Vector, without_text: list[Dot]) -> bool:
        """Is it more of what was given up already?"""
        return not lost and all(at.origin in self._without for at in without_text)

    def _lost(self) -> Vector:
        """Ops that came by state in part, and that nobody has; none while somebody cannot be asked."""
        held, peers = self.core.causal.held, self.core.peers.values()
        if not self.core.journal.ahead or not self._could_ask_all():
            return ()
        return tuple(
            Dot(origin, seq)
            for origin, seq in sorted(self.core.journal.ahead.items())
            if held.get(origin, 0) < seq and all(peer.held.get(origin, 0) <= held.get(origin, 0) for peer in peers)
        )

    def _without_text(self) -> list[Dot]:
        """Ops that came without their texts, which nobody has, as nobody has applied these ops: the disk of their
        origin is gone. None while somebody cannot be asked."""
        if not self.core.lacking or not self._could_ask_all():
            return []
        peers = self.core.peers.values()
        names = {peer.name for peer in peers}
        return [
            at
            for at in sorted(self.core.lacking)
            if self._refused.get(at, set()) >= names
            and not any((at, name) in self._wrong for name in names)
            and all(peer.held.get(at.origin, 0) < at.seq for peer in peers)
        ]

    def _could_ask_all(self) -> bool:
        """Is everybody there, and did all say what they have?"""
        return not self.pulling.peer and not self._syncing and all(peer.is_up for peer in self.core.peers.values())

    def _compare(self, peer: Peer) -> None:
        """Ask for what the peer had a second ago, and we still lack."""
        held = self.core.causal.held
        before = self._behind.get(peer.name, {})
        is_behind = any(held.get(origin, 0) < seq for origin, seq in before.items())
        if is_behind and peer.is_up and peer.name not in self._syncing and peer.name != self.pulling.peer:
            self._sync(peer.name)
        self._behind[peer.name] = {o: seq for o, seq in peer.held.items() if held.get(o, 0) < seq}

    def next_deadline(self) -> float:
        return self._look_at
