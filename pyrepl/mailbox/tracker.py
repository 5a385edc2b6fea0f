"""The master tracker: who may give out UIDs in which mailbox, as this node knows it.

Not here: one mailbox's part (mastership.py), who is the root (root.py), and rows, which the events are written to.

Source: the design note, 1.1. Masters are found along hints, which form a tree towards the last one that is known; each
node that a TAKE passes turns its hint to who wants the mailbox (path reversal of Naimi and Trehel).
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import Reason
from pyrepl.mailbox.mastership import AskFor, Lost, Mastership, Overdue, StaleGive, TrackerEvent, Want
from pyrepl.mailbox.tracker_states import Phase, TrackerTrigger
from pyrepl.mailbox.words import APART, Token, Vector


class TrackerOptions(NamedTuple):
    """Spans in seconds: `mailbox-lock-timeout`, `mailbox-tenure`. `accept`: give out UIDs apart (`mailbox-apart`)."""

    lock_timeout_s: float = 10.0
    tenure_s: float = 0.02
    accept: bool = True


ASK_AGAIN_S: Final = 1.0
LOST_S: Final = 5.0
"""So long nobody gives a mailbox that is asked for, nor says that it is in use, then the root is told that it is lost.
So long, too, what a mailbox needs that was given may be missing until it is looked who has it."""
USED_S: Final = 60.0
"""So long it is said of a mailbox that LOCKs are open. Whoever has one for longer may hang for ever: the others get the
mailbox by a new epoch, and what is saved under that LOCK other UIDs."""


@final
class Tracker:
    """All mailboxes.

    Invariants: without a lease no mailbox is HELD or DRAINING; a LOCK is answered at its deadline at the latest; a
    mailbox in which anything waits is among the busy ones. Most are not, and what happens costs nothing for these.
    """

    def __init__(self, name: str, size: int, options: TrackerOptions) -> None:
        """`size`: how many members there are."""
        self.name: Final = name
        self.options: Final = options
        self.most_hops: Final = 2 * size
        self.epoch = 0
        self.root = ""
        self.is_ready = False
        """We are the root, and no older mastership can be left."""
        self.has_lease = False
        self.is_apart = False
        self.stays_master_apart = False
        """Apart, what was ours stays ours: the others have no majority without us."""
        self.unlooked: Container[str] = ()
        """Mailboxes in which UIDs may have been given out here that nobody knows: apart, no more are meanwhile."""
        self.boxes: Final[dict[str, Mastership]] = {}
        self._busy: Final[dict[str, Mastership]] = {}
        self.up: Final[set[str]] = set()
        """Members that can be reached."""
        self._since: dict[str, float] = {}
        """Mailbox -> since when it is asked for."""
        self._waited: dict[str, float] = {}
        """Mailbox -> for how long it was asked for by LOCKs that were all refused."""
        self._out: list[TrackerEvent] = []

    def events(self) -> list[TrackerEvent]:
        if not self._out:
            return []
        out = self._out[:]
        self._out.clear()
        return out

    def add(self, box: str, token: Token, holder: str) -> Mastership:
        """A mailbox as its row tells of it: `holder` has it under `token`, if that is of this epoch."""
        mine = self.boxes.get(box)
        if mine is None:
            known = token.epoch == self.epoch
            mine = self.boxes[box] = Mastership(self.name, box, token, holder if known else "", self._out)
            if known and holder == self.name:
                mine.move(TrackerTrigger.GIVE)
                self._busy[box] = mine
        return mine

    def knows(self, box: str) -> bool:
        return box in self.boxes

    def token_now(self, box: str) -> Token | None:
        """The token under which a LOCK would be granted at once; None if it would wait."""
        mine = self.boxes[box]
        if mine.phase is Phase.HELD and not mine.takes:
            return mine.token
        return self._apart_token(mine) if self._may_part(mine) else None

    def stands(self, box: str, token: Token) -> bool:
        """May UIDs that follow what the rows show now be given out under a token that was granted before? Not when
        others may have gone on meanwhile."""
        mine = self.boxes[box]
        if mine.is_ours:
            return token == mine.token
        return self._may_part(mine) and token == self._apart_token(mine)

    # LOCK, UNLOCK, TAKE, GIVE

    def lock(self, box: str, lock: str, now: float, wait_s: float | None = None) -> None:
        """A LOCK of a mailbox that was added; it is answered by Granted or Refused."""
        mine = self._touch(box)
        timeout_s = self.options.lock_timeout_s
        mine.waiting[lock] = now + (timeout_s if wait_s is None else min(timeout_s, wait_s))
        self._use(mine, now)
        if lock not in mine.waiting:
            return
        if mine.phase is Phase.HELD:
            mine.grant(lock, mine.token)
        elif self._may_part(mine):
            mine.grant(lock, self._apart_token(mine))
        elif mine.phase is Phase.ELSEWHERE:
            self._want(mine, now)

    def unlock(self, box: str, lock: str, now: float) -> None:
        """A LOCK ends; its SAVEs, if it had any, were sent before."""
        mine = self._touch(box)
        mine.unlock(lock, now)
        if mine.phase is Phase.CLEARING and not mine.locks:
            self._clear(mine, now)
        self._rest(mine, now)

    def take(self, box: str, want: Want, token: Token, now: float) -> None:
        """Another node wants the mailbox. One of an older epoch is void."""
        if want.node == self.name or token.epoch != self.epoch:
            return
        mine = self._touch(box)
        self._use(mine, now)
        if want.hops > self.most_hops and self.root == self.name and not mine.is_ours:
            self._out.append(Lost(box))
        if mine.phase is Phase.ELSEWHERE and self._is_at_root(mine):
            mine.move(TrackerTrigger.WANT)
        if mine.phase is Phase.ELSEWHERE:
            self._pass_on(mine, want)
        else:
            mine.want(want, now)

    def give(self, box: str, token: Token, needs: Vector, now: float) -> bool:
        """The mastership is ours once `needs` is applied. False if the token was not higher: it is void."""
        mine = self._touch(box)
        if token.epoch != self.epoch or token <= mine.token or mine.phase not in (Phase.ASKING, Phase.ELSEWHERE):
            self._out.append(StaleGive(box, token))
            return False
        mine.token = token
        mine.hint = self.name
        mine.needs = needs
        mine.asked_at = now
        mine.move(TrackerTrigger.GIVE)
        return True

    def cannot_come(self, box: str) -> None:
        """It was given to us, but nobody has what it needs: only a new epoch helps, which the root begins."""
        if self.root == self.name:
            self._out.append(Lost(box))
        elif self.root:
            self._out.append(AskFor(box, self.root, self.name, self.most_hops + 1))

    def in_use(self, box: str, token: Token, now: float) -> None:
        """Somebody has the mailbox, and says so to us and to those who wait behind us."""
        mine = self.boxes[box]
        if mine.phase is Phase.ASKING and token.epoch == self.epoch:
            self._since[box] = now
            self._waited.pop(box, None)
            mine.say_in_use(token)

    def applied(self, held: dict[str, int], now: float) -> None:
        """So far every op is applied here."""
        for mine in list(self._busy.values()) if self._busy else ():
            if mine.phase is Phase.ARRIVING:
                mine.needs = tuple(dot for dot in mine.needs if held.get(dot.origin, 0) < dot.seq)
                self._use(mine, now)

    # Roots, leases, links

    def root_set(self, epoch: int, root: str, now: float) -> None:
        """There is a new epoch: all masterships end, as soon as their LOCKs do."""
        self.epoch, self.root = epoch, root
        self.is_ready = False
        self._waited.clear()
        for mine in self.boxes.values():
            mine.takes.clear()
            mine.hint = ""
            if mine.locks:
                mine.move(TrackerTrigger.ROOT_SET)
                self._busy[mine.box] = mine
            else:
                self._clear(mine, now)

    def root_gone(self) -> None:
        """The root of this epoch is none any more, or is not known."""
        self.root = ""
        self.is_ready = False

    def root_found(self, root: str, now: float) -> None:
        """The root of this epoch is known by now."""
        self.root = root
        for mine in list(self._busy.values()):
            if mine.phase is Phase.ASKING:
                self._ask_again(mine, now)

    @property
    def is_clear(self) -> bool:
        """Is no LOCK of an older epoch open?"""
        return all(mine.phase is not Phase.CLEARING for mine in self._busy.values())

    def root_ready(self, now: float) -> None:
        """We are the root, and everything is ours that we have not given away in this epoch."""
        self.is_ready = True
        self._use_all(now)

    def lease(self, has_lease: bool, now: float) -> None:
        """We are one of the majority, or are not any more."""
        self.has_lease = has_lease
        for mine in self.boxes.values():
            if mine.is_ours and not has_lease:
                mine.move(TrackerTrigger.LEASE_GONE)
            elif mine.phase is Phase.APART and has_lease:
                mine.move(TrackerTrigger.LEASE_AGAIN)
                mine.grant_waiting(mine.token)
                mine.serve(now)
        self._use_all(now)

    def apart(self, is_apart: bool, *, stays_master: bool) -> None:
        """The others may go on without us; whether we do as well is a matter of `mailbox-apart`."""
        self.is_apart = is_apart
        self.stays_master_apart = stays_master
        for mine in self.boxes.values() if is_apart else ():
            if self._may_part(mine):
                mine.grant_waiting(self._apart_token(mine))

    def looked(self, box: str) -> None:
        """A mailbox is none of the `unlooked` any more."""
        mine = self.boxes.get(box)
        if mine is not None and self._may_part(mine):
            mine.grant_waiting(self._apart_token(mine))

    def link(self, peer: str, is_up: bool, now: float) -> None:
        """A member can be reached, or cannot: what was asked of it is asked again."""
        (self.up.add if is_up else self.up.discard)(peer)
        for mine in list(self._busy.values()):
            if mine.phase is Phase.ASKING and (mine.hint or self.root) == peer:
                self._ask_again(mine, now)

    def tick(self, now: float) -> None:
        for mine in list(self._busy.values()):
            mine.expire(now, self.why_late)
            mine.serve(now)
            if mine.phase is Phase.ASKING and now >= mine.asked_at + ASK_AGAIN_S:
                self._ask_again(mine, now)
            if mine.phase is Phase.ARRIVING and mine.waiting and now >= mine.asked_at + LOST_S:
                mine.asked_at = now
                self._out.append(Overdue(mine.box, mine.needs))
            if mine.phase is Phase.DRAINING and mine.said_at + ASK_AGAIN_S <= now <= mine.drains_since + USED_S:
                mine.said_at = now
                mine.say_in_use(mine.token)
            self._rest(mine, now)
            if not mine.is_busy:
                self._busy.pop(mine.box, None)

    @property
    def why_late(self) -> Reason:
        """Why a LOCK could not be granted in time."""
        return Reason.APART if self.is_apart else Reason.TIMEOUT

    def next_deadline(self) -> float:
        """When tick() may have something to do; infinity if never."""
        if not self._busy:
            return float("inf")
        times = [float("inf")]
        for mine in self._busy.values():
            times += mine.waiting.values()
            if mine.phase is Phase.ASKING:
                times.append(mine.asked_at + ASK_AGAIN_S)
            if mine.phase is Phase.ARRIVING and mine.waiting:
                times.append(mine.asked_at + LOST_S)
            if mine.phase is Phase.HELD and mine.takes:
                times.append(mine.tenure_until)
            if mine.phase is Phase.DRAINING and mine.said_at + ASK_AGAIN_S <= mine.drains_since + USED_S:
                times.append(mine.said_at + ASK_AGAIN_S)
        return min(times)

    # How it does that.

    def _touch(self, box: str) -> Mastership:
        """The mailbox; something comes to it, so it may be busy."""
        mine = self._busy[box] = self.boxes[box]
        return mine

    def _may_part(self, mine: Mastership) -> bool:
        return self.is_apart and self.options.accept and mine.box not in self.unlooked

    def _apart_token(self, mine: Mastership) -> Token:
        is_still_master = mine.phase is Phase.APART and self.stays_master_apart
        return mine.token if is_still_master else Token(self.epoch, APART)

    def _is_at_root(self, mine: Mastership) -> bool:
        return self.root == self.name and mine.hint in ("", self.name)

    def _use_all(self, now: float) -> None:
        for mine in self.boxes.values():
            self._use(mine, now)

    def _use(self, mine: Mastership, now: float) -> None:
        """It is HELD from now on, if it may be."""
        if not self.has_lease:
            return
        if mine.phase is Phase.ARRIVING and not mine.needs:
            self._hold(mine, now)
        elif mine.phase in (Phase.ELSEWHERE, Phase.ASKING) and self.is_ready and self._is_at_root(mine):
            mine.token = max(mine.token, Token(self.epoch, 0))
            mine.hint = self.name
            self._hold(mine, now)

    def _hold(self, mine: Mastership, now: float) -> None:
        self._since.pop(mine.box, None)
        self._waited.pop(mine.box, None)
        mine.hold(now, self.options.tenure_s)

    def _clear(self, mine: Mastership, now: float) -> None:
        mine.move(TrackerTrigger.CLEARED)
        mine.hint = ""
        if mine.waiting:
            self._want(mine, now)

    def _want(self, mine: Mastership, now: float) -> None:
        mine.move(TrackerTrigger.WANT)
        self._since[mine.box] = now - self._waited.pop(mine.box, 0.0)
        self._ask(mine, mine.hint or self.root, now)

    def _ask_again(self, mine: Mastership, now: float) -> None:
        """The root knows best; what the root knows, is in its own hint."""
        self._ask(mine, mine.hint if self.root == self.name else self.root, now)

    def _ask(self, mine: Mastership, peer: str, now: float) -> None:
        mine.asked_at = now
        is_lost = now >= self._since.setdefault(mine.box, now) + LOST_S
        if is_lost and self.root == self.name:
            self._out.append(Lost(mine.box))
        target = peer if peer in self.up else self.root
        if target not in ("", self.name):
            self._out.append(AskFor(mine.box, target, self.name, self.most_hops + 1 if is_lost else 1))

    def _pass_on(self, mine: Mastership, want: Want) -> None:
        """The hint was who may have it, and is now who wants it."""
        target = mine.hint or self.root
        if target == want.node or target not in self.up or want.hops > self.most_hops:
            target = self.root
        mine.hint = want.node
        if target not in ("", self.name, want.node):
            self._out.append(AskFor(mine.box, target, want.node, want.hops + 1))

    def _rest(self, mine: Mastership, now: float) -> None:
        """Nobody here waits any more: who waits elsewhere is sent on."""
        if mine.phase is not Phase.ASKING or mine.waiting or self._is_at_root(mine):
            return
        mine.move(TrackerTrigger.GIVE_UP)
        since = self._since.pop(mine.box, now)
        if self.root == self.name or self.root in self.up:
            self._waited[mine.box] = now - since
        wants, mine.takes = mine.takes, []
        for want in wants:
            self._pass_on(mine, want)
