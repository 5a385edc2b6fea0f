"""Model mail processes: they lock, save, flag, expunge, copy, make folders, and remember what they were told."""

from __future__ import annotations

import random
from typing import Any

from pyrepl.mailbox.answers import No, Ok
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.sending import Reply
from pyrepl.mailbox.verbs import (
    Check,
    Command,
    Copy,
    Create,
    Delete,
    Expunge,
    Lock,
    Rename,
    Save,
    Store,
    Subscribe,
    TxBegin,
    TxEnd,
    Unlock,
    Unsubscribe,
)
from pyrepl.mailbox.words import Box, Dot, ranges
from tests.simulation.mailbox.memory_rows import touched
from tests.simulation.mailbox.violation import Violation
from tests.simulation.mailbox.world import USER, World

FLAGS = ("\\Seen", "\\Flagged", "\\Deleted", "work", "$Junk")
OTHERS = 0.5
"""Of the messages that somebody saved before, those that are other ones, where GUIDs clash."""
OTHER = 1_000_000
"""Their checksums are so much higher."""
LOCK_S = 10.0
MOST_S = 2 * LOCK_S + 10.5
"""What asks for several things one after the other, as a COPY does, is answered in so long."""


class Books:
    """What all clients were told, to be compared at the end."""

    def __init__(self) -> None:
        self.saved: dict[tuple[str, str], Dot] = {}
        """(mailbox, GUID) of SAVEs that were answered OK -> dot."""
        self.appended: dict[tuple[str, str], str] = {}
        """(mailbox, GUID) of what a Dovecot has stored -> whose."""
        self.copied_to: dict[Dot, int] = {}
        """SAVE that was answered OK -> how many other nodes have it, as the answer said."""
        self.expunged: set[tuple[str, str]] = set()
        """(mailbox, GUID) of EXPUNGEs that were asked for, answered or not."""
        self.copied: set[tuple[str, str]] = set()
        """(mailbox, GUID) that COPYs were asked to bring, or a SAVE that was not the first of its GUID."""
        self.again: set[str] = set()
        """GUIDs that were saved more than once."""
        self.number = 0
        self.forgotten = 0
        """No message up to this number is saved again: a node may have forgotten that it went, before others heard."""
        self.twins: random.Random | None = None
        """Whether a message is saved that somebody saved before, on whatever node; None if none is."""
        self.often = 0.08
        """So often."""
        self.first_in: dict[str, str] = {}
        """GUID -> the mailbox in which it was saved first."""
        self.do_clash = False
        """Some of these are other messages of the same GUID."""
        self.texts: dict[Dot, tuple[str, str, int]] = {}
        """SAVE that was answered OK -> mailbox, GUID and checksum."""

    def lose(self, lost: set[Dot]) -> None:
        """Ops were on one disk alone, which is gone. Those that another node was told to have are not (I12)."""
        for where, dot in list(self.saved.items()):
            if dot in lost:
                if self.copied_to[dot]:
                    raise Violation("I12", f"{where}, saved by {dot}, was on {self.copied_to[dot]} more, and is lost")
                del self.saved[where]
        self.texts = {dot: text for dot, text in self.texts.items() if dot not in lost}

    def guid_to_save(self, box: str) -> str:
        """A new one, but for twins. Other messages of one GUID are told from copies in one mailbox alone."""
        if self.twins is not None and self.number > self.forgotten and self.twins.random() < self.often:
            numbers = range(max(self.forgotten + 1, self.number - 15), self.number + 1)
            guids = [f"G{number}" for number in numbers if not self.do_clash or self.first_in.get(f"G{number}") == box]
            if guids:
                guid = guids[self.twins.randint(0, len(guids) - 1)]
                self.copied.add((box, guid))
                self.again.add(guid)
                return guid
        return self.new_guid(box)

    def new_guid(self, box: str) -> str:
        self.number += 1
        self.first_in[f"G{self.number}"] = box
        return f"G{self.number}"

    def text_to_save(self, guid: str) -> int:
        """Its checksum; by the GUID, but for those that clash."""
        number = int(guid.removeprefix("G"))
        is_other = self.do_clash and self.twins is not None and self.twins.random() < OTHERS
        return number + OTHER if is_other and number < self.number else number


class StoreUids:
    """The UIDs of one node's store, under its own lock: holders of a LOCK take the next one."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def lose_disk(self) -> None:
        self._next.clear()

    def take(self, box: str, least: int) -> int:
        uid = max(self._next.get(box, 0), least)
        self._next[box] = uid + 1
        return uid


class Client:
    """One connection. It asks one thing at a time, but for what needs no answer."""

    def __init__(self, world: World, books: Books, host: str, name: str, rng: random.Random) -> None:
        self.world = world
        self.books = books
        self.host = host
        self.name = name
        self.rng = rng
        self.uids = StoreUids()
        self.waits_for = ""
        self.since = 0.0
        self.patience_s = MOST_S
        self.then: dict[str, Any] = {}
        self.tags = 0
        self.life = 0
        self.locked: BoxRow | None = None
        self.to_save: list[int] = []

    # Asking

    def say(self, command: Command, then: Any = None, text: str = "", *, waits: bool = True) -> None:
        patience_s = (LOCK_S + 0.1 if isinstance(command, Lock) else MOST_S) if waits else 0.0
        tag = "*" if then is None else self._await(then, patience_s)
        self.world.call(self.host, lambda node, now: node.hear_mail(self.name, tag, command, text, now))

    def _await(self, then: Any, patience_s: float) -> str:
        """The tag of a question; whose answer is waited for so long, and 0.0: nobody waits for it."""
        self.tags += 1
        tag = f"t{self.tags}"
        self.then[tag] = then
        if patience_s:
            self.waits_for, self.since, self.patience_s = tag, self.world.now, patience_s
        return tag

    def hear(self, reply: Reply) -> None:
        if reply.tag == self.waits_for:
            self.waits_for = ""
        then = self.then.pop(reply.tag, None)
        if then is not None:
            then(reply.answer)

    def reset(self) -> None:
        """Its node is gone, and so is what it waited for."""
        self.world.watch.lock_over(self.name, granted=False)
        self.waits_for, self.locked = "", None
        self.then.clear()
        self.life += 1

    def check_patience(self) -> None:
        """I11: whatever was asked is answered in time."""
        if not self.waits_for:
            return
        host = self.world.hosts[self.host]
        waited_s = self.world.now - max(self.since, host.thawed_at)
        if host.frozen is None and waited_s * host.rate > self.patience_s:
            raise Violation("I11", f"{self.name} has waited for {self.waits_for} since {self.since:.3f}")

    # What it does

    def may_act(self) -> bool:
        """Does it wait for nothing?"""
        return self.world.hosts[self.host].node is not None and not self.waits_for and self.locked is None

    def some_message(self) -> tuple[str, str] | None:
        """The GUIDs of a mailbox and of a message in it."""
        node = self.world.hosts[self.host].node
        assert node is not None
        found = [(box.guid, row.guid) for box in self._boxes(node) for row in self._messages(node, box)]
        return self.rng.choice(found) if found else None

    def store_if_unchanged(self, box: str, guid: str) -> None:
        """STORE unchangedsince what this node knows of a message."""
        row = self.world.hosts[self.host].rows.message(box, guid)
        if row is not None and row.uid:
            store = Store(user=USER, box=Box(box, True), uids=((row.uid, row.uid),), add=(self.name,))
            store = store.replaced(unchangedsince=row.modseq)
            self.say(store, lambda answer: self._conditional(answer, row.modseq))

    def store_ahead(self, rng: random.Random) -> bool:
        """STORE to a message that came by state before the ops that brought it; was there one?"""
        rows, ahead = self.world.hosts[self.host].rows, []
        held = rows.held()
        for box in rows.boxes(USER):
            for row in rows.messages(box.guid):
                if row.uid and any(held.get(dot.origin, 0) < dot.seq for dot in row.dots):
                    ahead.append((box, row.uid))
        if ahead:
            box, uid = rng.choice(ahead)
            self.say(Store(user=USER, box=Box(box.guid, True), uids=((uid, uid),), add=("ahead",)))
        return bool(ahead)

    def renew(self, rng: random.Random) -> None:
        """An operator gives a mailbox a new UIDVALIDITY."""
        node = self.world.hosts[self.host].node
        boxes = [] if node is None or not self.may_act() else self._boxes(node)
        if boxes:
            box, tag = rng.choice(boxes), self._await(lambda answer: self._renewed(answer), MOST_S)
            self.world.call(self.host, lambda node, now: node.renew(self.name, tag, box, now))

    def _renewed(self, answer: Command) -> None:
        self._copied(answer, "renew")
        if isinstance(answer, Ok) and answer.at is not None:
            made = self.world.watch.transaction(answer.at)
            self.books.copied |= {where for op in made if isinstance(op, Copy) for where in touched(op)}

    def act(self) -> None:
        """The next thing that a mail process might do."""
        host = self.world.hosts[self.host]
        if host.node is None or not self.may_act():
            return
        boxes = self._boxes(host.node)
        if not boxes:
            self._create("INBOX")
            return
        box = self.rng.choice(boxes)
        # A COPY does not say of which of two mails of one GUID it is.
        copies = not self.books.do_clash
        what = self.rng.choices(
            (self._save, self._lock, self._store, self._expunge, self._copy, self._list, self._condstore, self._tx),
            # Beside a Dovecot no client gives out UIDs under a LOCK.
            (20, 0 if self.world.gates else 14, 16, 7, 6 * copies, 4, 3, 3 * copies),
        )[0]
        what(host.node, box)

    def _boxes(self, node: Node) -> list[BoxRow]:
        from pyrepl.mailbox.boxes import is_visible

        return [box for box in node.core.rows.boxes(USER) if is_visible(node.core.rows, box)]

    def _messages(self, node: Node, box: BoxRow) -> list[MessageRow]:
        rows = [row for row in node.core.rows.messages(box.guid) if row.uid]
        return self.rng.sample(rows, min(len(rows), self.rng.randint(1, 3)))

    def _new_save(self, box: BoxRow, uid: int) -> Save:
        flags = tuple(self.rng.sample(FLAGS, self.rng.randint(0, 2)))
        guid = self.books.guid_to_save(box.guid)
        host = self.world.hosts[self.host]
        if self.books.do_clash and host.rows.gone(box.guid, guid) is not None:
            # No host makes a GUID again that it knows.
            guid = self.books.new_guid(box.guid)
        where = Box(box.guid, True)
        text = self.books.text_to_save(guid)
        return Save(user=USER, box=where, uid=uid, guid=guid, size=9, received=1, flags=flags, sum=(text,))

    def _send_save(self, box: BoxRow, uid: int) -> None:
        save = self._new_save(box, uid)

        def done(answer: Command) -> None:
            if isinstance(answer, Ok):
                assert answer.at is not None
                self.books.saved[box.guid, save.guid] = answer.at
                self.books.copied_to[answer.at] = answer.acks or 0
                self.books.texts[answer.at] = (box.guid, save.guid, save.sum[0])
                self._check_copies(answer)

        self.say(save, done if self.rng.random() < 0.7 else None, f"text{save.sum[0]}", waits=not uid)

    def _check_copies(self, answer: Ok) -> None:
        """I12: as many other nodes as were told have it on disk; if none has, that is told to operators as well."""
        assert answer.at is not None
        at = answer.at
        if not answer.acks and f"{at.origin}:{at.seq}" not in self.world.single:
            raise Violation("I12", f"{answer} came without single_copy")
        # A disk may have been lost while the answer was on its way.
        disks = [*((h.name, h.rows.held()) for h in self.world.hosts.values()), *self.world.lost_disks]
        have = [name for name, held in disks if held.get(at.origin, 0) >= at.seq]
        if len(have) < 1 + (answer.acks or 0):
            raise Violation("I12", f"{answer} is on {have}")

    def _save(self, node: Node, box: BoxRow) -> None:
        self._send_save(box, 0)

    def _lock(self, node: Node, box: BoxRow) -> None:
        def granted(answer: Command) -> None:
            self.world.watch.lock_over(self.name, granted=isinstance(answer, Ok))
            if isinstance(answer, Ok):
                self._check_grant(box.guid, answer)
                self.locked = box
                # As at a commit: all UIDs are given out before the first SAVE.
                least, count = answer.uid or 0, self.rng.randint(0, 3)
                self.to_save = [self.uids.take(box.guid, least) for _ in range(count)]
                self.rng.shuffle(self.to_save)
                self.world.seen["lock"] += 1
                self._soon()
            elif isinstance(answer, No):
                self.world.seen[f"lock {answer.reason}"] += 1

        self.world.watch.lock_asked(self.name, box.guid)
        self.say(Lock(user=USER, box=Box(box.guid, True)), granted)

    def _check_grant(self, box: str, answer: Ok) -> None:
        host = self.world.hosts[self.host]
        assert host.node is not None and answer.uid is not None
        saving = host.node.saving
        lock = saving.lock_of(self.name, box)
        token = None if lock is None else saving.token_of(lock)
        self.world.watch.check_grant(host.node, self.world.clock(host), answer.uid, token, host.lease_end)

    def _soon(self) -> None:
        """A LOCK is held for a short time, and nothing is waited for under it."""
        life = self.life
        delay = self.rng.expovariate(1 / 0.01)
        self.world.at(self.world.now + delay, lambda: self._under_lock() if self.life == life else None)

    def _under_lock(self) -> None:
        if self.locked is None:
            return
        if self.to_save:
            self._send_save(self.locked, self.to_save.pop())
            self._soon()
        else:
            self.say(Unlock(user=USER, box=Box(self.locked.guid, True)))
            self.locked = None

    def _flags(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        flags = self.rng.sample(FLAGS, 2)
        return ((flags[0],), (flags[1],)) if self.rng.random() < 0.5 else ((), (flags[0],))

    def _store(self, node: Node, box: BoxRow) -> None:
        rows = self._messages(node, box)
        add, remove = self._flags()
        uids = ranges(sorted(row.uid for row in rows))
        self.say(Store(user=USER, box=Box(box.guid, True), uids=uids, add=add, remove=remove), self._any())

    def _any(self) -> Any:
        return (lambda answer: None) if self.rng.random() < 0.5 else None

    def _condstore(self, node: Node, box: BoxRow) -> None:
        rows = self._messages(node, box)
        uids = ranges(sorted(row.uid for row in rows))
        since = max((row.modseq for row in rows), default=0)
        store = Store(user=USER, box=Box(box.guid, True), uids=uids, add=("\\Seen",), unchangedsince=since)
        self.say(store, lambda answer: self._conditional(answer, since))

    def _conditional(self, answer: Command, since: int) -> None:
        self._count(answer, "condstore")
        if isinstance(answer, Ok) and answer.at is not None:
            self.world.watch.check_condition(answer.at, since, self.world.hosts[self.host].rows)

    def _count(self, answer: Command, what: str) -> None:
        self.world.seen[f"{what} {answer.VERB}"] += 1

    def _expunge_of(self, node: Node, box: BoxRow) -> Expunge:
        rows = self._messages(node, box)
        self.books.expunged |= {(box.guid, row.guid) for row in rows}
        guids = tuple(row.guid for row in rows)
        return Expunge(user=USER, box=Box(box.guid, True), uids=ranges(sorted(row.uid for row in rows)), guids=guids)

    def _expunge(self, node: Node, box: BoxRow) -> None:
        self.say(self._expunge_of(node, box), self._any())

    def _copy(self, node: Node, box: BoxRow) -> None:
        target = self.rng.choice(self._boxes(node))
        rows = self._messages(node, box)
        self.books.copied |= {(target.guid, row.guid) for row in rows}
        uids = ranges(sorted(row.uid for row in rows))
        copy = Copy(user=USER, box=Box(box.guid, True), to=Box(target.guid, True), uids=uids)
        self.say(copy, lambda answer: self._copied(answer, "copy"))

    def _tx(self, node: Node, box: BoxRow) -> None:
        """A move: COPY and EXPUNGE as one."""
        target = self.rng.choice(self._boxes(node))
        expunge = self._expunge_of(node, box)
        self.books.copied |= {(target.guid, guid) for guid in expunge.guids}
        self.say(TxBegin(user=USER, tx="x"))
        self.say(Copy(user=USER, box=expunge.box, to=Box(target.guid, True), uids=expunge.uids, tx="x"))
        self.say(expunge.replaced(tx="x"))
        self.say(TxEnd(user=USER, tx="x"), lambda answer: self._copied(answer, "tx"))

    def _copied(self, answer: Command, what: str) -> None:
        """What COPYs have brought is as good as saved, but for what a Dovecot had expunged here already, unseen."""
        self._count(answer, what)
        if isinstance(answer, Ok) and answer.at is not None:
            store = self.world.hosts[self.host].store
            for copy in self.world.watch.transaction(answer.at):
                assert copy.at is not None
                for where in touched(copy) if isinstance(copy, Copy) else ():
                    if store.has_text(USER, where[1]):
                        self.books.saved[where] = copy.at
                    self.books.copied_to[copy.at] = answer.acks or 0

    def _create(self, name: str) -> None:
        self.say(Create(user=USER, box=Box(name)), lambda answer: self._count(answer, "create"))

    def _list(self, node: Node, box: BoxRow) -> None:
        where = Box(box.guid, True)
        name = Box(self.rng.choice(("Work", "Work/2026", "Old", "Archive", "Sent")))
        what = self.rng.random()
        if what < 0.4:
            self._create(name.text)
        elif what < 0.6:
            self.say(Rename(user=USER, box=where, to=name), self._any())
        elif what < 0.7:
            self.say(Delete(user=USER, box=where), self._any())
        elif what < 0.8:
            self.say(Check(user=USER), lambda answer: self._count(answer, "check"))
        else:
            kind = Subscribe if what < 0.9 else Unsubscribe
            self.say(kind(user=USER, box=where), self._any())
