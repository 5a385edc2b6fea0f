"""The gates of a node's mailboxes: who is not master of one owns its `dovecot-uidlist.lock`, so that a Dovecot which
needs to know nothing of it asks for the mastership by waiting for that file.

| state | event | next |
|---|---|---|
| SHUT | somebody reads the lock file, or mail lies there without a UID | WANTED: LOCK |
| SHUT | the lock file is gone: a clean-up by hand, a Maildir that was put back | SHUTTING |
| WANTED | the LOCK is granted | OPENING: the next UID is raised to what may be given out, the file removed |
| OPEN | Dovecot has released the lock file | LOOKING: what it did becomes ops, by a glance if that can tell it |
| OPEN | others want the mailbox; the lease is over; nobody writes any more; the next UID is of others | SHUTTING |
| LOOKING | its user stands still, as the disk refuses | SHUTTING |
| SHUTTING | the file is taken | what Dovecot did becomes ops, UNLOCK: GIVE goes behind them |
| SHUT, of a store without lock files | Dovecot has changed something | SHUTTING: what it did becomes ops |

An open gate is a LOCK as a mail process has one, so everything about masterships is as it is for those. What Dovecot
did before a gate was shut for the first time has no LOCK: its UIDs are like those given out apart. So are all UIDs
where the store has no lock files: such gates are never opened, and say no more than when to look.

What is to be done in the store is asked as orders. They are done before anything else in a round, when every work that
follows from the rows is done, so that files and rows may be compared. A LOCK that is over ends with the next tick, and
not before all that the store told is in the rows: who waits for it, as MAILBOX RENEW does, goes on at once, and then
the rows are not those with which the rest is to be compared.

Not here: the comparison (compare.py), lock files and events of the file system (the daemon's), and the process that
keeps gates shut when the daemon is killed (its keeper).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import Final, final

from pyrepl.mailbox.boxes import is_visible, view
from pyrepl.mailbox.codec import UNTAGGED
from pyrepl.mailbox.compare import FoundBox, difference
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.gate_awaited import Awaited
from pyrepl.mailbox.gate_oddities import tell_differences, tell_failed, tell_odd, trouble
from pyrepl.mailbox.gate_parting import Parting
from pyrepl.mailbox.gate_states import (
    BEFORE_SHUT,
    HELD_S,
    KEPT,
    WORKS,
    Blind,
    Gate,
    GateOrder,
    GateResult,
    GateState,
    GateTrigger,
    GateWork,
    Seen,
)
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.saving import Saving
from pyrepl.mailbox.sayable import sayable
from pyrepl.mailbox.sending import Counted
from pyrepl.mailbox.store import Ended, MakeBox, MoveMessage, Outcome, RemoveBox
from pyrepl.mailbox.verbs import Lock
from pyrepl.mailbox.words import APART, Token

CLIENT: Final = "gate"
"""As which mail process the gates have their LOCKs."""
BUSY_S: Final = 0.02
"""After so long the store is asked again for a lock file that a Dovecot has."""
RETRY_S: Final = 1.0
"""After so long what failed is tried again."""
GONE_S: Final = 5.0
"""After so long a mailbox that had no folder is looked for again."""
ENTER_S: Final = 0.1
"""So long a gate stays open for whoever waited at it to come in, whoever else wants the mailbox."""
MOST_WHOLE: Final = 2
"""Mailboxes that are compared as a whole at once: there may be thousands, and a node has to answer meanwhile."""
IDLE_S: Final = 10.0
"""A gate at which nothing happened for so long is shut."""


@final
class Gates:
    """All mailboxes'.

    Invariants: a gate in OPENING, OPEN or LOOKING has a LOCK; a mailbox whose gate has something to do is among the
    active ones, and what happens costs nothing for the others.
    """

    def __init__(
        self, core: Core, mastering: Mastering, saving: Saving, guard: int, *, has_lock_files: bool = True
    ) -> None:
        """`guard`: `mailbox-expunge-guard`. `has_lock_files`: can the store keep a Dovecot from giving out UIDs?"""
        self._core: Final = core
        self._mastering: Final = mastering
        self._saving: Final = saving
        self._guard: Final = guard
        self._has_lock_files: Final = has_lock_files
        self._gates: Final[dict[str, Gate]] = {}
        self._active: Final[set[str]] = set()
        self.allowed: Final[set[str]] = set()
        """What an operator allowed, and was not done yet."""
        self.uncompared: Final[set[str]] = set()
        """Mailboxes where flags are changed that are to be changed back (aligning.py): they are not compared now."""
        self._unlooked: Final[set[str]] = set()
        """Mailboxes of before the start, where a Dovecot may have done what nobody knows of."""
        self._awaited: Final = Awaited(core)
        self._over: Final[set[str]] = set()
        """Mailboxes whose LOCK ends with the next tick."""
        self._standing: Container[str] = ()
        """Users whose files lag behind the rows."""
        self._is_unwatched = False
        self.blind = Blind()
        self._parting: Final = Parting(core, mastering)
        self.news: int = 0
        """The number of the last thing that the file system told."""
        for user in core.rows.users():
            for box in core.rows.boxes(user):
                if is_visible(core.rows, box):
                    self._add(box.guid)
                    self._unlooked.add(box.guid)
        mastering.tracker.unlooked = self._unlooked

    def count_all_unlooked(self) -> int:
        """Of how many known mailboxes do the rows not have yet what Dovecots did before the start?"""
        return len(self._unlooked)

    def state(self, box: str) -> GateState | None:
        """None of a mailbox that is not here."""
        gate = self._gates.get(box)
        return None if gate is None else gate.state

    def boxes(self) -> list[BoxRow]:
        """Those that have a gate."""
        found = (self._core.rows.box(guid) for guid in self._gates)
        return [box for box in found if box is not None]

    def troubled(self) -> Iterator[tuple[str, str]]:
        """Mailboxes that could not be looked at when that was tried last, or lack messages that do not count as
        expunged, and why."""
        for gate in self._gates.values():
            if gate.why or gate.missing:
                yield gate.box, trouble(gate, has_lock_files=self._has_lock_files)

    # News

    def count_news(self) -> int:
        """The number of something that was just told."""
        self.news += 1
        return self.news

    def unlooked(self, mark: int) -> dict[str, int]:
        """Mailboxes of which something was told after the number `mark`, and the rows do not have it: the number that
        `has_looked` is to be asked for."""
        gates = (self._gates[guid] for guid in self._active)
        return {gate.box: gate.news for gate in gates if gate.news > mark and gate.looked < gate.news}

    def has_looked(self, box: str, number: int) -> bool:
        """Do the rows have what was told of a mailbox up to this number, or is it gone?"""
        gate = self._gates.get(box)
        return gate is None or (gate.looked >= number and not self._saving.order(box).is_holding)

    # What the shell tells

    def seen(self, box: str, seen: Seen, now: float) -> None:
        """The file system told something of a mailbox."""
        gate = self._gates.get(box)
        if gate is None:
            return
        if seen.brought or seen.released:
            gate.news = self.count_news()
        if gate.state in KEPT:
            self._seen_kept(gate, seen, now)
        if gate.state is GateState.SHUTTING and gate.is_asked:
            gate.is_let_go |= seen.released
        if gate.state in (GateState.OPEN, GateState.LOOKING) and seen.holds:
            gate.again_at = now
        if gate.state in (GateState.OPEN, GateState.LOOKING, GateState.OPENING) and (seen.released or seen.brought):
            gate.idle_at = now + IDLE_S
            if seen.released:
                # Who waited has come in, and is done.
                gate.has_changed = True
                gate.enter_until = now
            else:
                # A Dovecot gives it a UID and releases the lock in a moment; others bring mail and do neither.
                gate.again_at = min(gate.again_at, now + BUSY_S)
        if gate.state is GateState.OPEN:
            # It may be looked at, or shut, at once. A gate is opened in another round, when its LOCK is on disk.
            self._review_open(gate, now)
        self._active.add(box)

    def _seen_kept(self, gate: Gate, seen: Seen, now: float) -> None:
        """The same, while the lock file is to be ours. Where it is gone a Dovecot may give out UIDs that another node
        gives out too, so that comes first."""
        gate.is_lost |= seen.released
        gate.has_changed |= seen.brought or gate.is_lost
        if gate.state is GateState.WANTED and gate.is_lost:
            # Who waited at it has gone on.
            self._saving.unlock(CLIENT, gate.box, now)
            self._refuse(gate, now)
        elif gate.state is GateState.SHUT and gate.is_lost:
            self._shut_again(gate, now)
        elif gate.state is GateState.SHUT and (seen.reads or seen.brought):
            gate.again_at = now

    def _shut_again(self, gate: Gate, now: float) -> None:
        gate.move(GateTrigger.LOOK)
        gate.again_at = now

    def unwatched(self, blind: Blind) -> None:
        """Of these the file system tells nothing, and what is told of them is made up in turn."""
        count = len(blind.boxes) + len(blind.users)
        if count and not self._is_unwatched:
            self._core.note("watches_run_out", f"{count} folders or more")
        self._is_unwatched, self.blind = count > 0, blind

    def worked(self, ended: Sequence[Ended], now: float) -> None:
        """Works were done: mailboxes came or went. One that holds mail keeps its gate: it may have given out UIDs that
        nobody knows of. A message that was to be moved and is not there, Dovecot has expunged."""
        for work, result in ended:
            if isinstance(work, MakeBox):
                self._add(work.box)
            elif isinstance(work, RemoveBox) and result.outcome is Outcome.DONE:
                self._drop(work.box)
            elif isinstance(work, MoveMessage) and result.outcome is Outcome.NO_TEXT and work.box in self._gates:
                self._look_again(self._gates[work.box], now)

    def follow(self, box: str) -> None:
        """A mailbox that was deleted has mail: what its clients did is to be compared."""
        if box not in self._gates:
            self._unlooked.add(box)
        self._add(box)

    def count_unlooked(self, user: str) -> int:
        """How many mailboxes of this user have files that were not compared with the rows yet?"""
        boxes = view(self._core.rows, user)
        return sum(guid not in self._gates or self._gates[guid].state in BEFORE_SHUT for guid in boxes)

    def allow(self, box: str, now: float) -> None:
        """An operator says that messages which are missing were expunged."""
        if box in self._gates:
            self.allowed.add(box)
            self.seen(box, Seen(released=True, brought=True), now)

    def orders(self, standing: Container[str], now: float) -> list[GateOrder]:
        """What the store has to do now; each is to be told as done. `standing`: users whose files lag behind the rows,
        so that they cannot be compared, but to shut a gate: what works are owed about is left `untold` then."""
        found, whole = [], 0
        self._standing = standing
        for guid in sorted(self._active):
            gate, box = self._gates[guid], self._core.rows.box(guid)
            if box is None or gate.is_asked or gate.again_at > now or gate.state not in WORKS:
                continue
            if box.user in standing and not self._may_shut(gate):
                gate.again_at = now + RETRY_S
                self._give_up(gate, now)
            elif guid in self.uncompared and WORKS[gate.state] is not GateWork.OPEN:
                gate.again_at = now + BUSY_S
            elif whole < MOST_WHOLE or gate.is_compared:
                gate.is_asked, gate.is_let_go, gate.again_at = True, False, float("inf")
                found.append(self._order(gate, box))
                whole += not gate.is_compared
        return found

    def done(self, order: GateOrder, result: GateResult, now: float) -> None:
        """How an order ended. What has changed in the rows since it was done is `untold`; a gate that is new since then
        waits for another one."""
        gate, box = self._gates.get(order.box), self._core.rows.box(order.box)
        if gate is None or box is None or not gate.is_asked:
            return
        gate.is_asked = False
        if gate.is_lost and result.was_open:
            self._core.note("gate_lost", f"{box.user} {box.name}")
            gate.is_lost = False
        if result.is_busy or result.why:
            gate.again_at = now + (BUSY_S if result.is_busy else RETRY_S)
            gate.is_compared &= result.is_busy
            gate.is_unsure = False
            if result.is_gone:
                # Who lists the user's folders tells of that; a Dovecot that has deleted one does this every day.
                gate.again_at = now + GONE_S
            else:
                why = result.why or gate.why
                tell_failed(self._core, gate, box, why, has_lock_files=self._has_lock_files)
            if result.why:
                self._give_up(gate, now)
                self._let_others(gate, box, now, is_shut=result.is_shut)
            return
        gate.why, gate.blind_at = "", float("inf")
        gate.is_lost = False
        if result.found is not None and self._adopt(gate, box, result.found, now):
            gate.again_at = now
            return
        is_part = result.found is not None and bool(result.found.untold)
        gate.is_unsure = result.found is not None and result.found.unsure
        if result.found is not None and not result.found.unlisted and not gate.is_unsure and not is_part:
            gate.looked = gate.asked_news
        gate.move(GateTrigger.DONE)
        if order.work is GateWork.OPEN:
            self._count_wait(gate, now)
        if gate.state is GateState.SHUT:
            self._unlooked.discard(gate.box)
            self._mastering.tracker.looked(gate.box)
            self._over.add(gate.box)
            is_unlisted = result.found is not None and result.found.unlisted > 0
            gate.has_changed = is_unlisted or gate.news > gate.asked_news
            if not is_unlisted and not is_part and not is_visible(self._core.rows, box):
                # It was deleted, and stayed for mail that is gone by now; if any is there still, it stays.
                self._core.want(RemoveBox(box.user, box.guid))
            gate.again_at = now if gate.has_changed else now + RETRY_S if is_part else float("inf")
            if gate.is_let_go:
                # Perhaps after it was taken: it is taken before anybody is let in.
                gate.is_lost = True
                self._shut_again(gate, now)
        elif order.work is GateWork.OPEN:
            gate.enter_until, gate.idle_at = now + ENTER_S, now + IDLE_S
        elif order.work is GateWork.GLANCE and result.found is not None and (gate.is_unsure or result.found.unlisted):
            # Mostly somebody is at it, and tells when it is done; but nobody may be.
            gate.again_at = now + BUSY_S
        elif result.found is not None and result.found.is_held:
            gate.again_at = min(gate.again_at, now + HELD_S)

    def _may_shut(self, gate: Gate) -> bool:
        """Its user stands still, perhaps for long: the other nodes are to have the mailbox meanwhile. What was never
        compared since the start waits, as nobody knows what of it a crash left."""
        if not self._has_lock_files or gate.box in self._unlooked:
            return False
        if gate.state is GateState.LOOKING:
            gate.move(GateTrigger.CLOSE)
        return gate.state is GateState.SHUTTING

    def _give_up(self, gate: Gate, now: float) -> None:
        """One that cannot be opened now is not to keep the mailbox from the other nodes meanwhile."""
        if gate.state is GateState.OPENING:
            self._over.add(gate.box)
            self._refuse(gate, now)

    def _refuse(self, gate: Gate, now: float) -> None:
        """It stays shut, or is shut again, if its lock file went meanwhile."""
        gate.move(GateTrigger.REFUSED)
        if gate.is_lost:
            self._shut_again(gate, now)

    def _is_standing(self, gate: Gate) -> bool:
        box = self._core.rows.box(gate.box)
        return box is not None and box.user in self._standing

    def _let_others(self, gate: Gate, box: BoxRow, now: float, *, is_shut: bool) -> None:
        """What is there cannot be told. The other nodes get the mailbox, behind all UIDs that a Dovecot may have given
        out here; what it did is compared when it can be, as after a start."""
        token = self._token(gate.box)
        if gate.state is GateState.LOOKING and self._has_lock_files:
            gate.move(GateTrigger.CLOSE)
            return
        is_long = gate.state is GateState.SHUTTING and is_shut and gate.is_blind_for_long(now)
        if is_long and token is not None and token.term != APART:
            self._core.pass_uids(box, self._mastering.behind_unknown(box, token) - 1, token)
            self._unlooked.add(gate.box)
            self._over.add(gate.box)

    def tick(self, now: float) -> None:
        """Bring the gates up to date with masterships, and with time."""
        for box in sorted(self._over) if self._over else ():
            self._saving.unlock(CLIENT, box, now)
        self._over.clear()
        is_back = self._parting.tick(now)
        for guid in self._awaited.come(now):
            if guid in self._gates:
                self._look_again(self._gates[guid], now)
        for guid in list(self._active) if self._active else ():
            gate = self._gates[guid]
            if is_back and gate.state is GateState.SHUT and gate.again_at < float("inf"):
                gate.again_at = now
            self._review(gate, now)
            if gate.state is GateState.SHUT and gate.again_at == float("inf"):
                self._active.discard(guid)
        if not self._has_lock_files:
            self._parting.part_uids(self.boxes(), now)

    def _look_again(self, gate: Gate, now: float) -> None:
        """All of a mailbox is to be compared. Where its gate is on its way, it will be in any case."""
        gate.is_compared = False
        if gate.state is GateState.SHUT:
            self._shut_again(gate, now)
            self._active.add(gate.box)
        elif gate.state is GateState.OPEN:
            gate.has_changed = True

    def next_deadline(self, now: float) -> float:
        if self._over:
            return now
        is_parting = not self._has_lock_files and not self._parting.is_parted
        at = self._parting.patient_until if is_parting else float("inf")
        for guid in self._active:
            gate = self._gates[guid]
            at = min(at, gate.again_at)
            if gate.state is GateState.OPEN:
                at = min(at, max(gate.enter_until, now) if self._must_close(gate) else gate.idle_at)
        return at

    # How it does that

    def _add(self, box: str) -> None:
        if box not in self._gates:
            gate = self._gates[box] = Gate(box)
            gate.news = self.count_news()
            self._active.add(box)

    def _drop(self, box: str) -> None:
        if self._gates.pop(box, None) is not None:
            self._active.discard(box)
            self._unlooked.discard(box)
            self._awaited.drop(box)
            self.allowed.discard(box)
            self._over.add(box)

    def _review(self, gate: Gate, now: float) -> None:
        if gate.state is GateState.LOOSE:
            if self._has_lock_files and gate.box in self._unlooked and self._mastering.is_arriving(gate.box):
                # What a Dovecot did before the start goes out before the mastership does.
                self._lock(gate, now)
            gate.move(GateTrigger.BEGIN)
            gate.again_at = now
        elif gate.state is GateState.SHUT and gate.again_at <= now and self._is_standing(gate):
            gate.again_at = now + RETRY_S
        elif gate.state is GateState.SHUT and gate.again_at <= now:
            self._ask(gate, now) if self._has_lock_files else gate.move(GateTrigger.LOOK)
        elif gate.state is GateState.WANTED:
            self._hear(gate, now)
        elif gate.state is GateState.OPENING:
            self._review_opening(gate, now)
        elif gate.state is GateState.OPEN:
            self._review_open(gate, now)

    def _has_left_block(self, gate: Gate) -> bool:
        """Is the next UID one that others give out, as messages came that they saved apart? The store has shut such a
        gate behind them: it is opened again when the next UID is raised, behind all that they saved."""
        box, token = self._core.rows.box(gate.box), self._token(gate.box)
        if box is None or token is None:
            return False
        next_uid = max(self._core.merger.least_uid(box), gate.raised_to)
        return self._mastering.first_uid(box._replace(uidnext=next_uid), token) != next_uid

    def _ask(self, gate: Gate, now: float) -> None:
        gate.again_at = float("inf")
        gate.wanted_at = min(gate.wanted_at, now)
        gate.move(GateTrigger.WANT)
        self._lock(gate, now)
        self._hear(gate, now)

    def _lock(self, gate: Gate, now: float) -> None:
        box = self._core.rows.box(gate.box)
        assert box is not None
        self._saving.lock(CLIENT, UNTAGGED, box, Lock(user=box.user, box=by_guid(box), ascending=True), now)

    def _hear(self, gate: Gate, now: float) -> None:
        """Was the LOCK granted, or refused?"""
        token = self._token(gate.box)
        if token is not None and token.term == APART and now < self._parting.patient_until:
            self._saving.unlock(CLIENT, gate.box, now)
        if self._saving.lock_of(CLIENT, gate.box) is None:
            gate.again_at = now + RETRY_S
            self._refuse(gate, now)
        elif token is not None:
            gate.move(GateTrigger.GRANTED)
            gate.again_at = now

    def _count_wait(self, gate: Gate, now: float) -> None:
        self._core.count(Counted.GATE_WAIT)
        self._core.count(Counted.GATE_WAIT_MS, int((now - gate.wanted_at) * 1000))
        gate.wanted_at = float("inf")

    def _review_opening(self, gate: Gate, now: float) -> None:
        """A mastership that ended since it was granted is asked for again: others may have gone on."""
        token = self._token(gate.box)
        if not gate.is_asked and (token is None or not self._mastering.tracker.stands(gate.box, token)):
            self._saving.unlock(CLIENT, gate.box, now)
            gate.again_at = now
            self._refuse(gate, now)

    def _review_open(self, gate: Gate, now: float) -> None:
        if now >= gate.idle_at or (now >= gate.enter_until and self._must_close(gate)):
            gate.move(GateTrigger.CLOSE)
            gate.again_at = now
        elif gate.has_changed or gate.again_at <= now:
            gate.has_changed = False
            gate.move(GateTrigger.LOOK)
            gate.again_at = now

    def _must_close(self, gate: Gate) -> bool:
        """Does anybody else want the mailbox, or may nobody here give out UIDs under this LOCK any more? Where files
        lag behind the rows, a Dovecot does not know which ones are free."""
        is_ours = self._token(gate.box) == self._mastering.tracker.token_now(gate.box)
        is_wanted = self._saving.is_wanted(CLIENT, gate.box)
        return not is_ours or is_wanted or self._is_standing(gate) or self._has_left_block(gate)

    def _token(self, box: str) -> Token | None:
        """Of the LOCK of a mailbox's gate; None without one that was granted."""
        lock = self._saving.lock_of(CLIENT, box)
        return None if lock is None else self._saving.token_of(lock)

    def _order(self, gate: Gate, box: BoxRow) -> GateOrder:
        work, token = WORKS[gate.state], self._token(box.guid)
        if work is GateWork.OPEN:
            assert token is not None
            gate.raised_to = self._mastering.first_uid(box, token)
            return GateOrder(work, box.user, box.guid, uidnext=gate.raised_to)
        gate.asked_news = self.news
        # The next UID of a gate that was not opened under this LOCK may be one that others give out.
        may_list = token is not None and gate.box not in self._unlooked and not self._has_left_block(gate)
        is_whole = not gate.is_compared or box.guid in self.allowed or box.guid in self._core.merger.kept
        if work is GateWork.LOOK and not is_whole and not gate.is_unsure:
            work = GateWork.GLANCE
        return GateOrder(work, box.user, box.guid, box.uidnext, may_list, is_whole=is_whole, wanted=gate.wanted)

    def _adopt(self, gate: Gate, box: BoxRow, found: FoundBox, now: float) -> bool:
        """What Dovecot did becomes ops. Has more to be told first: of new messages, or of all, as many are gone?"""
        gate.is_compared = False
        if not found.is_whole and len(found.gone) > self._guard:
            return True
        token = self._token(box.guid)
        guard = len(found.messages) + 2**32 if box.guid in self.allowed else self._guard
        token_found = token or Token(self._mastering.root.epoch, APART)
        awaited, doubts = self._awaited.compare(box.guid), self._core.doubts
        doubts.review(box.guid, ((each.guid, each.flags) for each in found.messages))
        is_guarded = gate.missing > 0 and box.guid not in self.allowed
        doubt = doubts.of(box.guid)
        differs = difference(self._core.rows, box, found, token_found, guard, awaited, doubt, is_guarded=is_guarded)
        gate.wanted = differs.late
        gate.is_compared = not (awaited or differs.missing or found.untold or differs.late)
        if not differs.late:
            self.allowed.discard(box.guid)
        tell_differences(self._core, gate, box, differs)
        tell_odd(self._core, gate, box, found)
        refused = partial(self._core.refused, box.user, box.name)
        self._core.do(sayable(differs.expunges, refused), is_tx=False)
        for save in sayable(differs.saves, refused):
            self._saving.adopt(CLIENT if token is not None else "", box, save, now)
        self._core.adopt_flags(sayable(differs.stores, refused))
        is_told = not (differs.late or awaited or found.untold)
        # A crash may have left a line of a message that another node saves: its UID is that message's.
        if is_told and (token is not None or self._mastering.is_arriving(box.guid)):
            self._pass(box, found.next_uid)
        return bool(differs.late)

    def _pass(self, box: BoxRow, next_uid: int) -> None:
        """A message that came and went before it was looked has shown its UID: nobody else is to get it."""
        now = self._core.rows.box(box.guid)
        if now is not None and next_uid > self._core.merger.least_uid(now):
            self._core.pass_uids(now, next_uid - 1)
