"""CHECK: a mail process waits until all that was done anywhere is here, and all that is here is everywhere, as far as
members can be reached: mail programs must not wait for one that is off for days.

Not here: how ops come to members that lack them (resync.py).

Each member that can be reached is asked twice. It answers when it has applied what the asker had, with what it has
itself, and the asker goes on when it has that too. Only then does everybody know the highest modseqs that clients may
have seen anywhere; so the second time whatever they did before without knowing these gets a higher modseq, and all are
told. A client that kept what it saw on another member is then told of every change by its highest modseq.

A message that still waits for a UID has not fully arrived: until it has one, no CHECK of its user is answered. A mail
process waits too until the store of its own node, if that is a slow one, has done all that.

Where a user is about to log in, each member answers with its clock, which Dovecots are raised to (aligning.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.modseqs import Clock
from pyrepl.mailbox.peers import Peer
from pyrepl.mailbox.verbs import Check, Command
from pyrepl.mailbox.words import Vector

CHECK: Final = "c"
CHECK_S: Final = 5.0
ROUNDS: Final = 2
MOST_OF_PEER: Final = 1000
"""CHECKs of one member that may wait here; more are answered BUSY."""


Then: TypeAlias = Callable[[bool, float], None]
"""Told at `now` when a CHECK is over, and whether all is at all members: none was missing."""


class _Heard(NamedTuple):
    """A member's, which is not answered yet."""

    peer: str
    tag: str
    user: str
    needs: Vector
    wants_clock: bool


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
    then: Then | None
    """Of a user who is about to log in; None: the mail process is answered."""
    is_whole: bool = True
    """Did no member miss until now?"""


@final
class Checks:
    """All that wait, of members and of mail processes."""

    def __init__(self, core: Core, clock: Clock) -> None:
        self.core: Final = core
        self._clock: Final = clock
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
        self._begin(_Asked(client, tag, user, now + CHECK_S, ROUNDS, set(), {}, None))
        self.finish(now)

    def ask_then(self, user: str, until: float, then: Then) -> None:
        """As `ask`, of a user who is about to log in; the members' clocks are heard."""
        self._begin(_Asked("", "", user, until, ROUNDS, set(), {}, then))

    def _begin(self, asked: _Asked) -> None:
        """The next round of it."""
        self._made += 1
        number = f"{CHECK}{self._made}"
        ups = {peer.name for peer in self.core.peers.values() if peer.is_up}
        is_whole = asked.is_whole and len(ups) == len(self.core.peers)
        self._asked[number] = asked._replace(rounds=asked.rounds - 1, waits_for=ups, needs={}, is_whole=is_whole)
        for peer in sorted(ups):
            check = Check(user=asked.user, held=self.core.journal.seen(), login=asked.then is not None)
            self.core.send(peer, check, number)

    def hear(self, peer: str, tag: str, check: Check) -> None:
        """A member asks."""
        if sum(heard.peer == peer for heard in self._heard) >= MOST_OF_PEER:
            self.core.send(peer, No(reason=Reason.BUSY), tag)
            return
        self._heard.append(_Heard(peer, tag, check.user, check.held, check.login))

    def answered(self, peer: Peer, tag: str, answer: Command, now: float) -> None:
        """A member answered. One that refuses is as one that cannot be reached in time. What its clients have seen of
        ops that it has not applied is waited for, and acknowledges nothing: the rest of them is still to come."""
        if not isinstance(answer, Ok):
            return
        peer.tells(answer.held, self.core.causal.held)
        if answer.modseq is not None:
            self._clock.heard(answer.modseq, now)
        asked = self._asked.get(tag)
        if asked is not None:
            asked.waits_for.discard(peer.name)
            for dot in (*answer.held, *answer.ahead):
                asked.needs[dot.origin] = max(dot.seq, asked.needs.get(dot.origin, 0))

    def link_down(self, peer: str) -> None:
        self._heard = [heard for heard in self._heard if heard.peer != peer]
        for number, asked in self._asked.items():
            if peer in asked.waits_for:
                asked.waits_for.discard(peer)
                self._asked[number] = asked._replace(is_whole=False)

    def client_gone(self, client: str) -> None:
        self._asked = {number: asked for number, asked in self._asked.items() if asked.client != client}

    def finish(self, now: float) -> None:
        """Something came, or its time: answer those that are covered by now."""
        if self._heard:
            self._answer(now)
        while self._asked and (number := self._next_over(now)) is not None:
            asked = self._asked.pop(number)
            if now >= asked.until:
                self._end(asked, No(reason=Reason.TIMEOUT), now)
            elif asked.rounds:
                self._begin(asked)
            else:
                self._end(asked, Ok(), now)

    def _end(self, asked: _Asked, answer: Ok | No, now: float) -> None:
        if asked.then is None:
            self.core.reply(asked.client, asked.tag, answer)
        else:
            asked.then(asked.is_whole and isinstance(answer, Ok), now)

    def _next_over(self, now: float) -> str | None:
        """A round that is over, in time or not."""
        for number, asked in self._asked.items():
            has_come = not asked.waits_for and self._covers(asked.needs) and self._is_settled(asked.user)
            behind = self.core.behind
            is_whole = has_come and not (asked.user in behind if asked.user else behind)
            if is_whole or now >= asked.until:
                return number
        return None

    def _answer(self, now: float) -> None:
        for heard in list(self._heard):
            if self._covers({dot.origin: dot.seq for dot in heard.needs}) and self._is_settled(heard.user):
                self._heard.remove(heard)
                clock = self._clock.read(now) if heard.wants_clock else None
                held, ahead = self.core.journal.vector(), self.core.journal.beyond()
                self.core.send(heard.peer, Ok(held=held, ahead=ahead, modseq=clock), heard.tag)

    def _covers(self, needs: dict[str, int]) -> bool:
        held = self.core.causal.held
        return all(held.get(origin, 0) >= seq for origin, seq in needs.items())

    def _is_settled(self, user: str) -> bool:
        """Has each message of the user a UID?"""
        boxes = (self.core.rows.box(guid) for guid in self.core.unsettled)
        return not any(box is not None and user in ("", box.user) for box in boxes)

    def next_deadline(self) -> float:
        return min(asked.until for asked in self._asked.values()) if self._asked else float("inf")
