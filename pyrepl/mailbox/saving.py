"""LOCK, SAVE and UNLOCK of mail processes: who holds a LOCK, and in which order SAVEs go out.

Not here: the other commands (mail_side.py), the order itself (order.py), who may lock (mastering.py), and when a SAVE
is answered (acks.py).

A SAVE with a UID needs a LOCK: its holder gives out UIDs under the store's own lock. One with `uid=*` needs none: the
node takes the mastership itself and gives a UID. A SAVE without a tag is never
refused, as nobody would know: one that could not have the mastership in time waits for it anew.

A LOCK means the mailbox that had the name when it was asked for, until UNLOCK, whatever becomes of the name meanwhile.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.acks import AckOptions, Acks
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.bounds import MOST_DOTS, WHY_MANY_DOTS, WHY_MANY_KEYWORDS, has_room
from pyrepl.mailbox.clashes import are_two, guid_of_other
from pyrepl.mailbox.codec import UNTAGGED
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.mastership import Granted, Refused
from pyrepl.mailbox.order import SaveOrder
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.sayable import UnsayableOp
from pyrepl.mailbox.tasks import Tasks
from pyrepl.mailbox.uids import NO_UID, WHY_NO_UID
from pyrepl.mailbox.verbs import Lock, Save
from pyrepl.mailbox.words import APART, Box, Token

RETRY_S: Final = 1.0
"""After so long a SAVE without a tag waits for the mastership anew."""
MOST_AGAIN: Final = 10_000
"""So many of them may wait so."""
WHY_GIVEN_UP: Final = "its mail process went on before it was granted"
_NOBODY: Final = "*"
"""Who is waited for by nobody."""


class _Holder(NamedTuple):
    """A LOCK of a mail process."""

    client: str
    tag: str
    named: tuple[str, Box]
    """The user and the mailbox, as the mail process names it."""
    box: str
    ascending: bool


class _Deferred(NamedTuple):
    """A LOCK that waits behind tasks."""

    box: BoxRow
    lock: str
    until: float
    newest: int
    """The newest task that it waits behind."""


class _Saved(NamedTuple):
    """A SAVE on its way out."""

    client: str
    tag: str
    save: Save
    text: str
    token: Token
    is_there: bool = False
    """A mail program has put it into the store already."""


@final
class Saving:
    """All mail processes' LOCKs and SAVEs."""

    def __init__(self, core: Core, mastering: Mastering, acks: AckOptions) -> None:
        self.core: Final = core
        self.mastering: Final = mastering
        self.tasks: Final = Tasks(mastering, lambda box: self.order(box).is_idle)
        self._orders: Final[dict[str, SaveOrder[_Saved]]] = {}
        self._holders: Final[dict[str, _Holder]] = {}
        self._tokens: Final[dict[str, Token]] = {}
        """LOCK that was granted -> its token."""
        self._deferred: list[_Deferred] = []
        self._again: list[tuple[float, str, Save, str]] = []
        """SAVEs that nobody would miss: when to try again, the mailbox's GUID, and the name of the text."""
        self.acks: Final = Acks(core, acks)
        self._made = 0
        mastering.on_lock = self._on_lock

    def order(self, box: str) -> SaveOrder[_Saved]:
        return self._orders.setdefault(box, SaveOrder())

    def lock_of(self, client: str, box: str) -> str | None:
        return next((lock for lock, held in self._holders.items() if (held.client, held.box) == (client, box)), None)

    def may_read(self, client: str) -> bool:
        """May more be read of a mail process? Of those that send in order, the one whose next SAVE is the smallest is
        read, and not who has a SAVE that waits for it [V6]. Who has two LOCKs is read always: it may have to let go of
        one for the other."""
        locks = [(lock, held.box) for lock, held in self._holders.items() if held.client == client]
        return len(locks) != 1 or self.order(locks[0][1]).may_read(locks[0][0])

    def token_of(self, lock: str) -> Token | None:
        """Under which a LOCK was granted; None while it waits."""
        return self._tokens.get(lock)

    def is_wanted(self, client: str, box: str) -> bool:
        """Does anybody here but this mail process want a mailbox?"""
        is_of_other = any(held.box == box and held.client != client for held in self._holders.values())
        return is_of_other or self.tasks.wants(box, self.tasks.newest)

    def locked(self, client: str, user: str, box: Box) -> BoxRow | None:
        """The mailbox that this connection has a LOCK of, under the name by which it asked for it."""
        found = (held.box for held in self._holders.values() if (held.client, held.named) == (client, (user, box)))
        guid = next(found, None)
        return None if guid is None else self.core.rows.box(guid)

    # LOCK and UNLOCK

    def lock(self, client: str, tag: str, box: BoxRow, lock: Lock, now: float) -> None:
        if self.lock_of(client, box.guid) is not None or self.locked(client, lock.user, lock.box) is not None:
            self.core.reply(client, tag, Bad(why="LOCK of a mailbox that this connection has locked"))
            return
        self._made += 1
        name = f"m{self._made}"
        self._holders[name] = _Holder(client, tag, (lock.user, lock.box), box.guid, lock.ascending)
        most_s = self.mastering.options.tracker.lock_timeout_s
        until = now + (most_s if lock.wait is None else min(most_s, lock.wait / 1000))
        self._deferred.append(_Deferred(box, name, until, self.tasks.newest))
        self._pass_on(now)

    def unlock(self, client: str, box: str, now: float) -> None:
        lock = self.lock_of(client, box)
        if lock is not None:
            self._give_up(lock)
            self._unlock(lock, now)

    def _give_up(self, lock: str) -> None:
        """A LOCK ends: if it was not granted yet, it will not be, which its tag is answered."""
        if lock not in self._tokens:
            held = self._holders[lock]
            self.core.reply(held.client, held.tag, No(reason=Reason.FAILED, why=WHY_GIVEN_UP))

    def client_gone(self, client: str, now: float) -> None:
        """As by UNLOCK: SAVEs that were whole stand."""
        for lock, held in list(self._holders.items()):
            if held.client == client:
                self._unlock(lock, now)
        self.acks.client_gone(client)

    def _unlock(self, lock: str, now: float) -> None:
        held = self._holders.pop(lock)
        self._deferred = [waiting for waiting in self._deferred if waiting.lock != lock]
        if self._tokens.pop(lock, None) is not None:
            for saved in self.order(held.box).unlock(lock):
                self._send(saved, now)
        if self.mastering.tracker.knows(held.box):
            self.mastering.unlock(held.box, lock, now)
        self.go_on(now)

    def _on_lock(self, event: Granted | Refused, now: float) -> None:
        if self.tasks.on_lock(event, now) or event.lock not in self._holders:
            return
        held = self._holders[event.lock]
        if isinstance(event, Refused):
            del self._holders[event.lock]
            self.core.reply(held.client, held.tag, No(reason=event.reason))
            return
        box = self.core.rows.box(event.box)
        assert box is not None
        uid = self.mastering.first_uid(box, event.token)
        if uid == NO_UID:
            self._unlock(event.lock, now)
            self.core.reply(held.client, held.tag, No(reason=Reason.FAILED, why=WHY_NO_UID))
            return
        if uid > self.core.merger.least_uid(box) and event.token.term != APART:
            # In another block than the rows know: after a crash the store goes on there, and apart it must not.
            self.core.pass_uids(box, uid - 1, event.token)
            box = box._replace(uidnext=uid)
        self._tokens[event.lock] = event.token
        order = self.order(event.box)
        order.passed(box.uidnext - 1) if order.is_idle else None
        order.lock(event.lock, ascending=held.ascending)
        self.core.reply(held.client, held.tag, Ok(uid=uid))

    def go_on(self, now: float) -> None:
        """Tasks and LOCKs that waited for each other."""
        self.tasks.go_on(now)
        if self._deferred:
            self._pass_on(now)

    def _pass_on(self, now: float) -> None:
        """LOCKs that no task is before any more wait for the mastership; those whose time is over are refused."""
        waiting, self._deferred = self._deferred, []
        for each in waiting:
            if each.lock not in self._holders:
                continue
            if not self.tasks.wants(each.box.guid, each.newest):
                self.mastering.lock(each.box, each.lock, now, each.until - now)
            elif each.until <= now:
                self._on_lock(Refused(each.box.guid, each.lock, self.mastering.tracker.why_late), now)
            else:
                self._deferred.append(each)

    # SAVE

    def save(self, client: str, tag: str, box: BoxRow, save: Save, text: str, now: float) -> None:
        if save.uid:
            lock = self.lock_of(client, box.guid)
            why = "SAVE with a UID needs a LOCK that was answered OK"
            if lock is not None and lock in self._tokens:
                why = self.order(box.guid).why_not(lock, save.uid) or ""
            if not why and lock is not None:
                saved = _Saved(client, tag, save, text, self._tokens[lock])
                for out in self.order(box.guid).save(lock, save.uid, saved):
                    self._send(out, now)
                return
            self.core.reply(client, tag, Bad(why=why))
            self.core.note("faulty_mail_process", why)
            if lock is not None:
                self._give_up(lock)
                self._unlock(lock, now)
            tag = UNTAGGED
        self._save_anywhere(client, tag, box.guid, save, text, now)

    def adopt(self, client: str, box: BoxRow, save: Save, now: float) -> None:
        """A message that a mail program has put into the store: under a LOCK of this client, or without anybody's."""
        lock = self.lock_of(client, box.guid)
        saved = _Saved(client, UNTAGGED, save, "", save.token or Token(0, 0), is_there=True)
        if lock is None or self.order(box.guid).why_not(lock, save.uid):
            self._send(saved, now)
            return
        for out in self.order(box.guid).save(lock, save.uid, saved):
            self._send(out, now)

    def _save_anywhere(self, client: str, tag: str, guid: str, save: Save, text: str, now: float) -> None:
        """The node gives the UID."""

        def run(tokens: dict[str, Token], now: float) -> None:
            box = self.core.rows.box(guid)
            assert box is not None
            uid = self.mastering.first_uid(box, tokens[guid])
            if uid == NO_UID:
                refuse(No(reason=Reason.FAILED, why=WHY_NO_UID), now)
                return
            self.order(guid).passed(uid)
            self._send(_Saved(client, tag, save.replaced(uid=uid), text, tokens[guid]), now)

        def fail(reason: Reason, now: float) -> None:
            refuse(No(reason=reason), now)

        def refuse(answer: No, now: float) -> None:
            if tag == UNTAGGED and len(self._again) < MOST_AGAIN:
                self._again.append((now + RETRY_S, guid, save, text))
                return
            self.core.let_go(text)
            self.core.reply(client, tag, answer)
            if tag == UNTAGGED:
                self.core.note("faulty_mail_process", f"more than {MOST_AGAIN} SAVEs without a tag wait: one is lost")

        self.tasks.add({guid}, run, fail, now, client)

    def _send(self, saved: _Saved, now: float) -> None:
        """A SAVE's turn has come: it is an op."""
        box = self.core.rows.box(saved.save.box.text)
        assert box is not None
        op = saved.save.replaced(box=by_guid(box), token=saved.token, modseq=None)
        if saved.is_there:
            self.core.adopt(op)
            return
        if are_two(self.core.sums_of(box.guid, op.guid), op.sum):
            op = op.replaced(guid=guid_of_other(op.guid, op.sum))
        why = self._why_full(box, op)
        if why:
            self._refuse(saved, box, why)
            return
        try:
            [made] = self.core.do([op], saved.text, self.acks.ask_tag(saved.tag))
        except UnsayableOp as error:
            self._refuse(saved, box, str(error))
            return
        self.acks.wait(saved.client, saved.tag, made.at, Ok(uid=made.uid, at=made.at), now)

    def _why_full(self, box: BoxRow, op: Save) -> str:
        """Why no more can be known of a message, "" if it can."""
        known = self.core.rows.message(box.guid, op.guid)
        if known is not None and len(known.dots) >= MOST_DOTS:
            return WHY_MANY_DOTS
        return "" if has_room((), op.flags) else WHY_MANY_KEYWORDS

    def _refuse(self, saved: _Saved, box: BoxRow, why: str) -> None:
        """A SAVE that cannot be an op. Who gave it no tag hears nothing: it is told to the operator."""
        self.core.let_go(saved.text)
        self.core.reply(saved.client, saved.tag, No(reason=Reason.FAILED, why=why))
        if saved.tag == UNTAGGED:
            self.core.refused(box.user, box.name, why)

    # Time

    def tick(self, now: float) -> None:
        """End what has waited long enough, and begin anew what may not end."""
        self.tasks.tick(now)
        self.go_on(now)
        if self._again:
            due = [again for again in self._again if again[0] <= now]
            self._again = [again for again in self._again if again[0] > now]
            for _, guid, save, text in due:
                self._save_anywhere(_NOBODY, UNTAGGED, guid, save, text, now)
        self.acks.tick(now)

    def next_deadline(self) -> float:
        at = min(self.tasks.next_deadline(), self.acks.next_deadline())
        if self._deferred:
            at = min(at, *(each.until for each in self._deferred))
        if self._again:
            at = min(at, *(again[0] for again in self._again))
        return at
