"""LOCK, SAVE and UNLOCK of mail processes: who holds a LOCK, in which order SAVEs go out, and who waits for acks.

Not here: the other commands (mail_side.py), the order itself (order.py), who may lock (mastering.py).

A SAVE with a UID needs a LOCK: its holder gives out UIDs under the store's own lock. One with `uid=*` needs none: the
node takes the mastership itself and gives a UID. In synchronous mode (a tag) a SAVE is answered when another node has
it on disk; if none can be reached, at once, with acks=0 and the notice `single_copy`.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.codec import UNTAGGED
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.mastership import Granted, Refused
from pyrepl.mailbox.order import SaveOrder
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.tasks import Tasks
from pyrepl.mailbox.verbs import Lock, Save
from pyrepl.mailbox.words import Dot, Token

ACK_TIMEOUT_S: Final = 5.0


class _Holder(NamedTuple):
    """A LOCK of a mail process."""

    client: str
    tag: str
    box: str
    ascending: bool


class _Saved(NamedTuple):
    """A SAVE on its way out."""

    client: str
    tag: str
    save: Save
    text: str
    token: Token


class _Ack(NamedTuple):
    """Somebody waits until another node has an op."""

    client: str
    tag: str
    at: Dot
    answer: Ok
    until: float


@final
class Saving:
    """All mail processes' LOCKs and SAVEs."""

    def __init__(self, core: Core, mastering: Mastering) -> None:
        self.core: Final = core
        self.mastering: Final = mastering
        self.tasks: Final = Tasks(mastering, lambda box: self.order(box).is_idle)
        self._orders: Final[dict[str, SaveOrder[_Saved]]] = {}
        self._holders: Final[dict[str, _Holder]] = {}
        self._tokens: Final[dict[str, Token]] = {}
        """LOCK that was granted -> its token."""
        self._deferred: list[tuple[BoxRow, str, float | None]] = []
        """LOCKs that wait behind a task."""
        self._acks: list[_Ack] = []
        self._made = 0
        mastering.on_lock = self._on_lock

    def order(self, box: str) -> SaveOrder[_Saved]:
        return self._orders.setdefault(box, SaveOrder())

    def lock_of(self, client: str, box: str) -> str | None:
        return next((lock for lock, held in self._holders.items() if (held.client, held.box) == (client, box)), None)

    # LOCK and UNLOCK

    def lock(self, client: str, tag: str, box: BoxRow, lock: Lock, now: float) -> None:
        if self.lock_of(client, box.guid) is not None:
            self.core.reply(client, tag, Bad(why="LOCK of a mailbox that this connection has locked"))
            return
        self._made += 1
        name = f"m{self._made}"
        self._holders[name] = _Holder(client, tag, box.guid, lock.ascending)
        wait_s = None if lock.wait is None else lock.wait / 1000
        if self.tasks.wants(box.guid):
            self._deferred.append((box, name, wait_s))
        else:
            self.mastering.lock(box, name, now, wait_s)

    def unlock(self, client: str, box: str, now: float) -> None:
        lock = self.lock_of(client, box)
        if lock is not None:
            self._unlock(lock, now)

    def client_gone(self, client: str, now: float) -> None:
        """As by UNLOCK: SAVEs that were whole stand."""
        for lock, held in list(self._holders.items()):
            if held.client == client:
                self._unlock(lock, now)
        self._acks = [ack for ack in self._acks if ack.client != client]

    def _unlock(self, lock: str, now: float) -> None:
        held = self._holders.pop(lock)
        self._deferred = [waiting for waiting in self._deferred if waiting[1] != lock]
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
        self._tokens[event.lock] = event.token
        order = self.order(event.box)
        order.passed(box.uidnext - 1) if order.is_idle else None
        order.lock(event.lock, ascending=held.ascending)
        self.core.reply(held.client, held.tag, Ok(uid=self.mastering.first_uid(box, event.token)))

    def go_on(self, now: float) -> None:
        """Tasks and LOCKs that waited for each other."""
        self.tasks.go_on(now)
        waiting, self._deferred = self._deferred, []
        for box, lock, wait_s in waiting:
            if self.tasks.wants(box.guid):
                self._deferred.append((box, lock, wait_s))
            elif lock in self._holders:
                self.mastering.lock(box, lock, now, wait_s)

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
                self._unlock(lock, now)
            tag = UNTAGGED
        self._save_anywhere(client, tag, box.guid, save, text, now)

    def _save_anywhere(self, client: str, tag: str, guid: str, save: Save, text: str, now: float) -> None:
        """The node gives the UID."""

        def run(tokens: dict[str, Token], now: float) -> None:
            box = self.core.rows.box(guid)
            assert box is not None
            uid = self.mastering.first_uid(box, tokens[guid])
            self.order(guid).passed(uid)
            self._send(_Saved(client, tag, save.replaced(uid=uid), text, tokens[guid]), now)

        def fail(reason: Reason) -> None:
            self.core.reply(client, tag, No(reason=reason))

        self.tasks.add({guid}, run, fail, now)

    def _send(self, saved: _Saved, now: float) -> None:
        """A SAVE's turn has come: it is an op."""
        box = self.core.rows.box(saved.save.box.text)
        assert box is not None
        op = saved.save.replaced(box=by_guid(box), token=saved.token, modseq=None)
        [made] = self.core.do([op], saved.text, self.ask_tag(saved.tag))
        self.answer_when_kept(saved.client, saved.tag, made.at, Ok(uid=made.uid, at=made.at), now)

    # Acks

    def ask_tag(self, tag: str) -> str:
        """The tag for an op to other nodes: one if its mail process waits."""
        if tag == UNTAGGED:
            return UNTAGGED
        self._made += 1
        return f"o{self._made}"

    def answer_when_kept(self, client: str, tag: str, at: Dot | None, answer: Ok, now: float) -> None:
        """Answer when another node has the op `at`."""
        assert at is not None
        if tag != UNTAGGED:
            self._acks.append(_Ack(client, tag, at, answer, now + ACK_TIMEOUT_S))

    def acked(self, peer: str, at: Dot) -> None:
        """`peer` answered that it has an op on disk, and so all before it of this origin."""
        held = self.core.peers[peer].held
        held[at.origin] = max(at.seq, held.get(at.origin, 0))

    def tick(self, now: float) -> None:
        """Answer those whose op another node has, and those for whom none can be reached."""
        left: list[_Ack] = []
        for ack in self._acks:
            acks = sum(peer.held.get(ack.at.origin, 0) >= ack.at.seq for peer in self.core.peers.values())
            can_wait = any(peer.is_up for peer in self.core.peers.values()) and now < ack.until
            if not acks and can_wait:
                left.append(ack)
                continue
            if not acks and self.core.peers:
                self.core.note("single_copy", f"{ack.at.origin}:{ack.at.seq}")
            self.core.reply(ack.client, ack.tag, ack.answer.replaced(acks=acks))
        self._acks = left

    def next_deadline(self) -> float:
        return min((ack.until for ack in self._acks), default=float("inf"))
