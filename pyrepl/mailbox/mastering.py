"""Root and tracker put together with rows and links: who may give out UIDs here, and the messages about that.

Not here: what a LOCK is used for (mail_side.py), and the machines themselves (root.py, tracker.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import Ok, Reason
from pyrepl.mailbox.core import NO_TOKEN, Core
from pyrepl.mailbox.early_locks import Early, EarlyLocks
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.mastership import (
    Arrived,
    AskFor,
    Granted,
    HandOver,
    Lost,
    Overdue,
    Refused,
    StaleGive,
    StillUsed,
    TrackerEvent,
    Want,
)
from pyrepl.mailbox.members import Members
from pyrepl.mailbox.root import Root, RootOptions
from pyrepl.mailbox.root_states import RootState
from pyrepl.mailbox.rows import BoxRow, ClusterRow
from pyrepl.mailbox.sending import Counted
from pyrepl.mailbox.tracker import ASK_AGAIN_S, Tracker, TrackerOptions
from pyrepl.mailbox.tracker_states import Phase
from pyrepl.mailbox.uids import MASTER, NO_UID, SHORT_UID, UidBlocks
from pyrepl.mailbox.verbs import Command, Give, InUse, RootClear, RootSet, Take
from pyrepl.mailbox.words import APART, Token, node_of

GIVE: Final = "g"
AWAITED_S: Final = 30.0
"""So long after its start a node waits for ops that were half done before it: their origin's disk may be lost."""
MOST_EARLY_TAKES: Final = 1000
"""So many TAKEs of mailboxes that are not known yet are kept, inclusive."""


class MasteringOptions(NamedTuple):
    """`gap` is `mailbox-gap`."""

    root: RootOptions = RootOptions()
    tracker: TrackerOptions = TrackerOptions()
    gap: int = 100_000


class _Giving(NamedTuple):
    """A GIVE: who said it, with which tag, and which UID it would give out next."""

    peer: str
    tag: str
    uid: int


@final
class Mastering:
    """This node's masterships. `on_lock` is told of each LOCK that was granted or refused."""

    def __init__(self, core: Core, members: Members, now: float, options: MasteringOptions) -> None:
        self.core: Final = core
        self.members: Final = members
        self.options: Final = options
        self.root: Final = Root(core.name, members, core.rows.cluster(), now, options.root)
        self.tracker: Final = Tracker(core.name, len(members.names), options.tracker)
        self.blocks: Final = UidBlocks(options.gap, len(members.names))
        self.on_lock: Callable[[Granted | Refused, float], None] = lambda event, now: None
        self.may_clear: Callable[[], bool] = lambda: True
        """Is all known here that was saved under older masterships?"""
        self.has_heard_all: Callable[[], bool] = lambda: True
        """Is nothing awaited of what was known here before data was lost?"""
        self._early: Final = EarlyLocks(core)
        self._early_takes: Final[dict[Take, float]] = {}
        """TAKEs that came before the CREATE of their mailbox, in their order -> until when they are kept."""
        self._told_clear = -1
        """The epoch for which we said that we are clear."""
        self._awaits_until: Final = now + AWAITED_S
        """So long ops are awaited whose messages a crash left."""
        self._gave = 0
        self._gives: dict[str, tuple[str, Token]] = {}
        """Tag of a GIVE that was not answered yet -> its mailbox and token."""
        self._arriving: dict[str, _Giving] = {}
        """Mailbox that was given to us and has not arrived -> by whom."""
        self._has_gap = False
        """The takeover was from somebody who could not clear."""
        self._ready_by = float("inf")
        self._renewed_at = float("-inf")
        self._uids_told: Final[dict[str, str]] = {}
        """Mailbox that has few UIDs left, or none -> what was told of that."""
        self._kept_row: ClusterRow | None = None
        """What was put last of the root's row."""
        self.tracker.epoch = self.root.epoch
        for user in core.rows.users():
            for box in core.rows.boxes(user):
                self.know(box)

    def know(self, box: BoxRow) -> None:
        """A mailbox is here."""
        if not self.tracker.knows(box.guid):
            self.tracker.add(box.guid, box.token, box.holder)

    def first_uid(self, box: BoxRow, token: Token) -> int:
        """The first UID that may be given out under a token."""
        uid = self._first_uid(box, token)
        self._tell_left(box, uid)
        return uid

    def _first_uid(self, box: BoxRow, token: Token) -> int:
        return self.blocks.first(self._least_uid(box, token), self._place(token))

    def _place(self, token: Token) -> int:
        return self.members.place(self.core.name) if token.term == APART else MASTER

    def some_uids(self, box: BoxRow, token: Token, count: int) -> list[int]:
        """The next `count` UIDs that may be given out under a token, ascending, or as many as are left."""
        uids = self.blocks.some(self._least_uid(box, token), self._place(token), count)
        if count:
            self._tell_left(box, uids[-1] if uids else NO_UID)
        return uids

    def behind_unknown(self, box: BoxRow, token: Token) -> int:
        """The first UID behind those that this node's Dovecot may have given out, of which nobody has told."""
        return self.blocks.takeover(self.core.merger.least_uid(box), token.epoch)

    def is_arriving(self, box: str) -> bool:
        """Is its mastership on its way here?"""
        mine = self.tracker.boxes.get(box)
        return mine is not None and mine.phase is Phase.ARRIVING

    def _least_uid(self, box: BoxRow, token: Token) -> int:
        """The lowest UID that nobody else has given out, as far as can be known. If `box` has a next UID above that of
        its row, those up to there are given out under this token already."""
        least = self.core.merger.least_uid(box)
        if token.term == APART or not self._is_behind_others(box.guid, token.epoch):
            return least
        row = self.core.rows.box(box.guid)
        is_own = row is not None and least > self.core.merger.least_uid(row)
        return least if is_own else self.blocks.takeover(least, token.epoch)

    def _is_behind_others(self, box: str, epoch: int) -> bool:
        """Did the highest UID of a mailbox come from a master of an older epoch, and later than the mastership? That
        master may have given out more, of which nobody told yet."""
        given_by = self.core.merger.given_by.get(box)
        return given_by is not None and given_by.epoch < epoch and given_by.term != APART

    def _tell_left(self, box: BoxRow, uid: int) -> None:
        """Once, when few are left behind this UID of a mailbox, and when none is."""
        name = "" if uid < SHORT_UID else "uids_run_short" if uid < NO_UID else "uids_run_out"
        if name and self._uids_told.get(box.guid) != name:
            self._uids_told[box.guid] = name
            self.core.note(name, f"{box.user} {box.name}")

    # LOCK and UNLOCK

    def is_made_here(self, box: BoxRow) -> bool:
        """Was the mailbox made by this node, with the database that it has now?"""
        return box.created_stamp.node == self.core.origin

    def lock(self, box: BoxRow, lock: str, now: float, wait_s: float | None = None) -> None:
        if self.root.is_fresh and not self.is_made_here(box):
            # Which UIDs were given out before the data was lost, will be known in a moment.
            self.on_lock(Refused(box.guid, lock, Reason.APART), now)
            return
        self.know(box)
        self._review_lease(now)
        timeout_s = self.options.tracker.lock_timeout_s
        early = Early(box.guid, lock, now + (timeout_s if wait_s is None else min(timeout_s, wait_s)))
        if not self._has_left_block(box) or not self._early.keep(early, now):
            self.tracker.lock(box.guid, lock, now, wait_s)
        self.follow_up(now)

    def _has_left_block(self, box: BoxRow) -> bool:
        """Is the next UID one of those that others give out?"""
        token = Token(self.tracker.epoch, APART if self.tracker.is_apart else 0)
        return self._first_uid(box, token) != self.core.merger.least_uid(box)

    def unlock(self, box: str, lock: str, now: float) -> None:
        self._early.drop(lock)
        self.tracker.unlock(box, lock, now)
        self.follow_up(now)

    # What members say

    def hear(self, peer: str, tag: str, command: Command, now: float) -> None:
        # Whoever comes first after the node stood still must not find a lease that is over.
        self._review_lease(now)
        if isinstance(command, Take):
            self._hear_take(command, now)
        elif isinstance(command, Give):
            self._hear_give(peer, tag, command, now)
        elif isinstance(command, InUse):
            box = self._of(command)
            if box is not None and self.tracker.knows(box.guid):
                self.tracker.in_use(box.guid, command.token, now)
        else:
            if isinstance(command, RootSet) and command.root == peer:
                self._told_clear = -1
            self.root.hear(peer, tag, command, now)

    def _hear_take(self, take: Take, now: float) -> None:
        box = self._of(take)
        if box is not None:
            self.know(box)
            self.tracker.take(box.guid, Want(take.wanted_by, take.hops), take.token, now)
        elif len(self._early_takes) < MOST_EARLY_TAKES:
            # The CREATE is sent when it is committed where it was made, the TAKE at once. Who wants the mailbox says it
            # again after a while, and others would be served meanwhile.
            self._early_takes[take] = now + ASK_AGAIN_S

    def _review_early_takes(self, now: float) -> None:
        for take, until in list(self._early_takes.items()):
            is_known = self._of(take) is not None
            if is_known or now >= until:
                del self._early_takes[take]
            if is_known and now < until:
                self._hear_take(take, now)

    def _hear_give(self, peer: str, tag: str, give: Give, now: float) -> None:
        box = self._of(give)
        if box is None or self.root.is_fresh:
            # Not answered, so it is said again. It may be one that was taken before the data was lost.
            return
        self.know(box)
        is_new = self.tracker.give(box.guid, give.token, give.held, now)
        mine = self.tracker.boxes[box.guid]
        if is_new or (mine.phase is Phase.ARRIVING and mine.token == give.token):
            # Only what has arrived is kept and answered: a restart forgets what had to be applied first, and the
            # sender, who was not answered, says it again.
            self._arriving[box.guid] = _Giving(peer, tag, give.uid)
            self.tracker.applied(self.core.causal.held, now)
        else:
            self.core.send(peer, Ok(token=give.token), tag)

    def _of(self, command: Take | Give | InUse) -> BoxRow | None:
        """The mailbox that it names; None if its user has none such."""
        box = self.core.rows.box(command.box.text)
        return box if box is not None and box.user == command.user else None

    def answered(self, peer: str, tag: str, answer: Command, now: float) -> None:
        if tag not in self._gives:
            self.root.answered(peer, tag, answer, now)
        else:
            guid, token = self._gives.pop(tag)
            box = self.core.rows.box(guid)
            if box is not None and box.token == token and box.holder == peer:
                self.core.rows.put_box(box._replace(unconfirmed=False))

    # Links and time

    def link(self, peer: str, is_up: bool, now: float, *, is_fresh: bool = False) -> None:
        """A GIVE of which we do not know that it came is said again. To a member that has no data (`is_fresh`) it may
        have come before that was lost: nobody has this mastership then, until there is a new epoch."""
        self.tracker.link(peer, is_up, now)
        if not is_up:
            self.root.link_down(peer)
        else:
            self.root.link_up(peer, now)
            for user in self.core.rows.users():
                for box in self.core.rows.boxes(user):
                    if not box.unconfirmed or box.holder != peer:
                        continue
                    if is_fresh:
                        self.core.rows.put_box(box._replace(unconfirmed=False))
                    elif box.token.epoch == self.root.epoch:
                        self._give(box)

    def tick(self, now: float) -> None:
        self.root.tick(now)
        self.tracker.tick(now)

    def next_deadline(self, now: float) -> float:
        at = min(self.root.next_deadline(now), self.tracker.next_deadline(), self._early.next_deadline())
        if self.tracker.has_lease:
            at = min(at, self.root.lease_end(now))
        if self._is_getting_ready:
            at = min(at, self._ready_by)
        return at

    # What follows

    def follow_up(self, now: float) -> None:
        """Bring everything up to date with the root's state, leases, and what is applied.

        It is called after whatever came, once: hear(), answered(), link() and tick() leave it to their caller.
        """
        root = self.root
        self._review_epoch(now)
        self._review_lease(now)
        if self._is_getting_ready:
            self._review_ready(now)
        if self._early_takes:
            self._review_early_takes(now)
        self.tracker.applied(self.core.causal.held, now)
        for early in self._early.due(now):
            self.tracker.lock(early.box, early.lock, now, max(0.0, early.until - now))
        lost: list[Lost] = []
        while events := self.tracker.events():
            # All that have arrived at once may be used at once, by who was granted one of them: UIDs are passed first.
            for event in sorted(events, key=lambda event: not isinstance(event, Arrived)):
                lost.append(event) if isinstance(event, Lost) else self._on(event, now)
        if lost:
            self._renew(lost[0], now)
        if self._told_clear != root.row.epoch:
            self._review_clear(now)
        for send in root.to_send():
            self.core.send(*send)
        if root.row is not self._kept_row:
            self._kept_row = root.row
            self.core.rows.put_cluster(root.row._replace(origin=self.core.origin, is_fresh=root.is_fresh))

    @property
    def _is_getting_ready(self) -> bool:
        """Does it wait, as the root, for what others hold?"""
        return self.root.state is RootState.ROOT and not self.tracker.is_ready

    def _review_epoch(self, now: float) -> None:
        row = self.root.row
        if row.epoch == self.tracker.epoch and row.root == self.tracker.root:
            return
        if self.tracker.has_lease:
            self.tracker.lease(False, now)
        self._ready_by = float("inf")
        if not self.root.root:
            self.tracker.root_gone()
        elif self.root.epoch == self.tracker.epoch:
            self.tracker.root_found(self.root.root, now)
        else:
            self._arriving.clear()
            self._gives.clear()
            self.tracker.root_set(self.root.epoch, self.root.root, now)

    def _review_lease(self, now: float) -> None:
        tracker, root = self.tracker, self.root
        has_lease = tracker.epoch == root.row.epoch and now < root.lease_end(now)
        if has_lease != tracker.has_lease:
            tracker.lease(has_lease, now)
        is_apart = not has_lease and (root.is_shut_out or len(tracker.up) + 1 < self.members.majority)
        if is_apart != tracker.is_apart:
            back = "root_forced" if root.is_forced else "together"
            self.core.note("apart" if is_apart else back, self.core.name)
            stays = not self.members.could_elect_without(self.core.name)
            self.tracker.apart(is_apart, stays_master=stays)

    def _review_ready(self, now: float) -> None:
        """The root begins when nobody holds an older mastership, and all is applied that was saved under one."""
        if self.tracker.epoch != self.root.epoch:
            return
        if self._ready_by == float("inf"):
            self._ready_by = now + self.options.root.lease_s
        held = self.core.causal.held
        cleared = self.root.held_of_cleared
        is_covered = all(held.get(dot.origin, 0) >= dot.seq for clear in cleared.values() for dot in clear)
        if is_covered or now >= self._ready_by:
            self._ready_by = float("inf")
            self._has_gap = not (is_covered and self.root.all_cleared())
            cleared.clear()
            self.tracker.root_ready(now)

    def _review_clear(self, now: float) -> None:
        """Say once in each epoch that no older mastership is held here."""
        root = self.root.root
        if not root or not self.tracker.is_clear or not self.may_clear() or not self.has_heard_all():
            return
        is_left = now < self._awaits_until and self.core.merger.awaits(self.core.causal.has)
        if is_left or self.core.journal.is_ahead():
            # Which UIDs clients saw before a crash, nobody knows but us, until the ops come again that gave them out.
            # And of ops that rows show in part, nobody may have the rest, nor the UIDs that they gave out.
            return
        if self.tracker.epoch != self.root.epoch or self.core.name in self.members.witnesses:
            return
        self._told_clear = self.root.epoch
        clear = RootClear(epoch=self.root.epoch, node=self.core.name, held=self.core.journal.vector())
        if root == self.core.name:
            self.root.hear(root, "*", clear, now)
            self.root.tick(now)
            self.follow_up(now)
        else:
            self.core.send(root, clear)

    def _on(self, event: TrackerEvent, now: float) -> None:
        if isinstance(event, Granted | Refused):
            self.on_lock(event, now)
        elif isinstance(event, AskFor):
            self._ask(event)
        elif isinstance(event, StillUsed):
            box = self._box(event.box)
            self.core.send(event.to, InUse(user=box.user, box=by_guid(box), token=event.token))
        elif isinstance(event, HandOver):
            self._hand_over(event)
        elif isinstance(event, Arrived):
            self._arrived(event)
        elif isinstance(event, StaleGive):
            self.core.note("stale_give", self._called(event.box))
        elif isinstance(event, Overdue) and not self._may_come(event):
            self.tracker.cannot_come(event.box)

    def _may_come(self, event: Overdue) -> bool:
        """Is somebody linked who has all that a mailbox needs: who gave it, or for each op its origin or who told that
        it has it? What is only slow is waited for, or its messages would come behind the UIDs of a new master, and get
        other ones."""
        up = {peer.name: peer.held for peer in self.core.peers.values() if peer.is_up}
        giving = self._arriving.get(event.box)
        return (giving is not None and giving.peer in up) or all(
            node_of(dot.origin) in up or any(held.get(dot.origin, 0) >= dot.seq for held in up.values())
            for dot in event.needs
        )

    def _renew(self, lost: Lost, now: float) -> None:
        """A new epoch, behind all that was granted in this one: until it is elected, the root has no lease. Before the
        root is ready nobody can have the mailbox, and a new epoch would let all wait anew."""
        if self.tracker.is_ready and now >= self._renewed_at + self.options.root.lease_s:
            self._renewed_at = now
            self.core.note("mastership_lost", self._called(lost.box))
            self.root.renew(now)
            self._review_lease(now)

    def _ask(self, event: AskFor) -> None:
        box = self._box(event.box)
        token = Token(self.root.epoch, box.token.term if box.token.epoch == self.root.epoch else 0)
        take = Take(user=box.user, box=by_guid(box), wanted_by=event.wanted_by, hops=event.hops, token=token)
        self.core.send(event.peer, take)

    def _hand_over(self, event: HandOver) -> None:
        box = self._box(event.box)._replace(token=event.token, holder=event.to, unconfirmed=True)
        self.core.rows.put_box(box)
        self._give(box)

    def _give(self, box: BoxRow) -> None:
        self._gave += 1
        tag = f"{GIVE}{self._gave}"
        self._gives[tag] = (box.guid, box.token)
        give = Give(
            user=box.user,
            box=by_guid(box),
            token=box.token,
            uid=self.first_uid(box, box.token),
            modseq=box.highest,
            held=self.core.journal.seen(),
        )
        self.core.send(box.holder, give, tag)

    def _arrived(self, event: Arrived) -> None:
        """Ours. A root that takes over from one who could not clear leaves room for what was given out meanwhile."""
        box = self._box(event.box)
        is_takeover = box.token.epoch < event.token.epoch and event.token.term == 0
        self.core.rows.put_box(box._replace(token=event.token, holder=self.core.name, unconfirmed=False))
        giving = self._arriving.pop(event.box, None)
        if giving is not None:
            self.core.count(Counted.MOVE)
            self.core.send(giving.peer, Ok(token=event.token), giving.tag)
        self._review_given(box, event.token, giving)
        if is_takeover and self._has_gap:
            self.core.pass_uids(box, self.blocks.takeover(box.uidnext, event.token.epoch) - 1, event.token)

    def _review_given(self, box: BoxRow, token: Token, giving: _Giving | None) -> None:
        """The mastership came: all is known here that was given out in older epochs, or the root has left room for it.
        If not, messages of these came to the giver or to us alone, or before a restart as the master."""
        given_by = self.core.merger.given_by
        was_ours = giving is None and box.token == token and box.holder == self.core.name
        highest = self.core.rows.message_at(box.guid, box.uidnext - 1) if was_ours else None
        if giving is not None and giving.uid != self.blocks.first(self.core.merger.least_uid(box), MASTER):
            given_by[box.guid] = NO_TOKEN
        elif highest is not None and highest.token.epoch:
            given_by[box.guid] = highest.token
        else:
            given_by.pop(box.guid, None)

    def _called(self, guid: str) -> str:
        box = self._box(guid)
        return f"{box.user} {box.name}"

    def _box(self, guid: str) -> BoxRow:
        box = self.core.rows.box(guid)
        assert box is not None
        return box
