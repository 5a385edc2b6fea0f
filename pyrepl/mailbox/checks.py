"""CHECK: a mail process waits until all that was done anywhere is here, and all that is here is everywhere.

Not here: how ops come to members that lack them (resync.py).

Each member that can be reached is asked twice. It answers when it has applied what the asker had, with what it has
itself, and the asker goes on when it has that too. Only then does everybody know the highest modseqs that clients may
have seen anywhere; so the second time whatever they did before without knowing these gets a higher modseq, and all are
told. A client that kept what it saw on another member is then told of every change by its highest modseq.

A message that still waits for a UID has not fully arrived: until it has one, no CHECK of its user is answered.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.core import Core, Peer
from pyrepl.mailbox.verbs import Check, Command
from pyrepl.mailbox.words import Vector

CHECK: Final = "c"
CHECK_S: Final = 5.0
ROUNDS: Final = 2
MOST_OF_PEER: Final = 1000
"""CHECKs of one member that may wait here; more are answered BUSY."""


class _Heard(NamedTuple):
    """A member's, which is not answered yet."""

    peer: str
    tag: str
    user: str
    needs: Vector


class _Asked(NamedTuple):
    """A mail process's."""

    client: str
    tag: str
    user: str
    until: float
    rounds: int
    """How many follow on this one."""
    waits_for: set[str]
    needs: dict[str, int]


@final
class Checks:
    """All that wait, of members and of mail processes."""

    def __init__(self, core: Core) -> None:
        self.core: Final = core
        self._made = 0
        self._heard: list[_Heard] = []
        self._asked: dict[str, _Asked] = {}

    def hurry(self) -> None:
        """Have the members that can be reached say what they hold as soon as they hold all that this node has now."""
        self._made += 1
        for peer in sorted(peer.name for peer in self.core.peers.values() if peer.is_up):
            self.core.send(peer, Check(held=self.core.journal.seen()), f"{CHECK}{self._made}")

    def ask(self, client: str, tag: str, user: str, now: float) -> None:
        """A mail process asks; `user` "": about everybody's mailboxes."""
        self._begin(_Asked(client, tag, user, now + CHECK_S, ROUNDS, set(), {}))
        self.finish(now)

    def _begin(self, asked: _Asked) -> None:
        """The next round of it."""
        self._made += 1
        number = f"{CHECK}{self._made}"
        ups = {peer.name for peer in self.core.peers.values() if peer.is_up}
        self._asked[number] = asked._replace(rounds=asked.rounds - 1, waits_for=ups, needs={})
        for peer in sorted(ups):
            self.core.send(peer, Check(user=asked.user, held=self.core.journal.seen()), number)

    def hear(self, peer: str, tag: str, check: Check) -> None:
        """A member asks."""
        if sum(heard.peer == peer for heard in self._heard) >= MOST_OF_PEER:
            self.core.send(peer, No(reason=Reason.BUSY), tag)
            return
        self._heard.append(_Heard(peer, tag, check.user, check.held))
        self._answer()

    def answered(self, peer: Peer, tag: str, answer: Command) -> None:
        """A member answered. One that refuses is as one that cannot be reached in time."""
        if not isinstance(answer, Ok):
            return
        peer.tells(answer.held, self.core.causal.held)
        asked = self._asked.get(tag)
        if asked is not None:
            asked.waits_for.discard(peer.name)
            for dot in answer.held:
                asked.needs[dot.origin] = max(dot.seq, asked.needs.get(dot.origin, 0))

    def link_down(self, peer: str) -> None:
        self._heard = [heard for heard in self._heard if heard.peer != peer]
        for asked in self._asked.values():
            asked.waits_for.discard(peer)

    def client_gone(self, client: str) -> None:
        self._asked = {number: asked for number, asked in self._asked.items() if asked.client != client}

    def finish(self, now: float) -> None:
        """Something came, or its time: answer those that are covered by now."""
        if self._heard:
            self._answer()
        while self._asked and (number := self._next_over(now)) is not None:
            asked = self._asked.pop(number)
            if now >= asked.until:
                self.core.reply(asked.client, asked.tag, No(reason=Reason.TIMEOUT))
            elif asked.rounds:
                self._begin(asked)
            else:
                self.core.reply(asked.client, asked.tag, Ok())

    def _next_over(self, now: float) -> str | None:
        """A round that is over, in time or not."""
        for number, asked in self._asked.items():
            is_whole = not asked.waits_for and self._covers(asked.needs) and self._is_settled(asked.user)
            if is_whole or now >= asked.until:
                return number
        return None

    def _answer(self) -> None:
        for heard in list(self._heard):
            if self._covers({dot.origin: dot.seq for dot in heard.needs}) and self._is_settled(heard.user):
                self._heard.remove(heard)
                self.core.send(heard.peer, Ok(held=self.core.journal.seen()), heard.tag)

    def _covers(self, needs: dict[str, int]) -> bool:
        held = self.core.causal.held
        return all(held.get(origin, 0) >= seq for origin, seq in needs.items())

    def _is_settled(self, user: str) -> bool:
        """Has each message of the user a UID?"""
        boxes = (self.core.rows.box(guid) for guid in self.core.unsettled)
        return not any(box is not None and user in ("", box.user) for box in boxes)

    def next_deadline(self) -> float:
        return min(asked.until for asked in self._asked.values()) if self._asked else float("inf")
