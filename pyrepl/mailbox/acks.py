"""Who waits until another node has an op: mail processes in synchronous mode, which give their commands a tag.

Not here: how members are told of ops (core.py).

One is answered when as many other nodes have its op on disk as are wanted, or as can be reached, if these are fewer;
and when the time is over. The answer says how many have it: with acks=0 it comes with the notice `single_copy`.
"""

from __future__ import annotations

from bisect import insort
from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.codec import UNTAGGED
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.words import Dot

OPS: Final = "o"
WHY_ALONE: Final = "no other node can be reached, and mailbox-single-copy refuses what would be on this one alone"


class AckOptions(NamedTuple):
    """`wanted`: `mailbox-min-acks`, at least 1; `timeout_s`: `mailbox-ack-timeout`; `accepts_single`:
    `mailbox-single-copy`."""

    wanted: int = 1
    timeout_s: float = 5.0
    accepts_single: bool = True


class _Ack(NamedTuple):
    """Somebody waits until other nodes have the op `at`."""

    client: str
    tag: str
    at: Dot
    answer: Ok
    until: float


@final
class Acks:
    """All that wait."""

    def __init__(self, core: Core, options: AckOptions) -> None:
        self.core: Final = core
        self.options: Final = options
        self._waiting: list[_Ack] = []
        """By `until`."""
        self._seen: tuple[object, ...] | None = None
        """What was known of the others when nobody more could be answered; None if somebody waits since then."""
        self._made = 0

    @property
    def must_refuse(self) -> bool:
        """Would a change be here alone, and is that refused? Who keeps mail with nobody never refuses."""
        peers = self.core.peers.values()
        return bool(peers) and not self.options.accepts_single and not any(peer.is_up for peer in peers)

    def ask_tag(self, tag: str) -> str:
        """The tag for an op to other nodes: one if its mail process waits."""
        if tag == UNTAGGED:
            return UNTAGGED
        self._made += 1
        return f"{OPS}{self._made}"

    def wait(self, client: str, tag: str, at: Dot | None, answer: Ok, now: float) -> None:
        """Answer when other nodes have the op `at`."""
        self.wait_until(client, tag, at, answer, now + self.options.timeout_s)

    def wait_until(self, client: str, tag: str, at: Dot | None, answer: Ok, until: float) -> None:
        """As `wait`, where the time to wait has begun before."""
        assert at is not None
        if tag != UNTAGGED:
            self._seen = None
            insort(self._waiting, _Ack(client, tag, at, answer, until), key=lambda ack: ack.until)

    def acked(self, peer: str, at: Dot) -> None:
        """`peer` answered that it has an op on disk, and so all before it of this origin."""
        held = self.core.peers[peer].held
        held[at.origin] = max(at.seq, held.get(at.origin, 0))

    def client_gone(self, client: str) -> None:
        self._waiting = [ack for ack in self._waiting if ack.client != client]

    def tick(self, now: float) -> None:
        """Answer those whose op enough other nodes have, and those for whom no more can be reached."""
        # Asked at each step of the node.
        if not self._waiting:
            return
        # What others hold only grows, so the sum tells whether it did.
        seen = tuple((peer.is_up, sum(peer.held.values())) for peer in self.core.peers.values())
        if seen == self._seen and now < self._waiting[0].until:
            return
        left: list[_Ack] = []
        peers = tuple(self.core.peers.values())
        for ack in self._waiting:
            having = [peer.held.get(ack.at.origin, 0) >= ack.at.seq for peer in peers]
            acks = sum(having)
            within_reach = sum(peer.is_up or has for peer, has in zip(peers, having, strict=True))
            if acks < min(self.options.wanted, within_reach) and now < ack.until:
                left.append(ack)
                continue
            if not acks and self.core.peers:
                self.core.note("single_copy", f"{ack.at.origin}:{ack.at.seq}")
            self.core.reply(ack.client, ack.tag, ack.answer.replaced(acks=acks))
        self._waiting, self._seen = left, seen

    def next_deadline(self) -> float:
        return self._waiting[0].until if self._waiting else float("inf")
