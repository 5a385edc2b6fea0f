"""Two members that lose power again and again, with the real driver, database and Maildir store: I12 and I3.

Mail processes save, flag, copy and expunge on both. The power of one goes at a call of its disk, within a commit of its
database, between two rounds, or while it starts again; the other one goes on, and may be the next. Then:

- what was answered OK with acks=n was on n + 1 nodes, and each of them has it after its own power cut, by itself: a row
  in its database, and the message with its text in its store (I12);
- in the end both have all that was answered OK and was not expunged, byte for byte and under equal UIDs, and rows and
  stores agree (I3); no UID ever named two messages (I1).

Not here: sockets (a text comes and goes as a whole), Dovecots and gates, mailboxes that are renamed or deleted, and a
disk that lies. The store alone is cut at every call in test_mailbox_store.py; test_mailbox_killed.py and
test_mailbox_cluster.py kill processes.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, final

import pytest

from pyrepl.config.mailbox_kinds import MailboxMember
from pyrepl.config.settings import Settings
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.sending import Send
from pyrepl.mailbox.store import StoredBox
from pyrepl.mailbox.verbs import Command, Copy, Create, Expunge, Save, Store
from pyrepl.mailbox.words import Box
from tests.fault.mailbox_power import NEVER, HandClock, Machine, stand_in
from tests.unit.daemon.mailbox.model_disk import Died
from tests.unit.daemon.mailbox.store_rig import USER, content
from tests.unit.daemon.rig import in_loop

SEEDS: Final = range(40)
CUTS: Final = 4
"""Of the power, in one history, besides those while a node starts."""
HOMES: Final = {"a": "INBOX", "b": "Work"}
"""Node -> the mailbox that is made there."""
LASTING: Final = ("\\Flagged", "\\Answered", "work")
"""Flags that nobody takes away."""
QUIET_STEPS: Final = 40
PATIENCE_STEPS: Final = 200
"""So long a power cut is waited for that is to come at a call or at a commit."""
MOST_STEPS: Final = 3000
"""Far more than it takes until all is quiet."""


@final
class Books:
    """What mail processes were told, and what was seen."""

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self.kept: dict[tuple[str, str], set[str]] = {}
        """(mailbox, GUID) of SAVEs and COPYs that were answered OK -> the nodes that have it, as the answer said."""
        self.flagged: dict[tuple[str, str, str], set[str]] = {}
        """(mailbox, GUID, flag) of STOREs that were answered OK -> the nodes that have it."""
        self.expunged: dict[tuple[str, str], bool] = {}
        """(mailbox, GUID) of EXPUNGEs that were asked for -> was it answered OK?"""
        self.copied: set[tuple[str, str]] = set()
        """(mailbox, GUID) that COPYs were asked to bring."""
        self.named: dict[tuple[str, int], str] = {}
        """(mailbox, UID) -> the message that it names, for good."""
        self.seen: Counter[str] = Counter()

    def name(self, box: str, uid: int, guid: str) -> None:
        assert uid == 0 or self.named.setdefault((box, uid), guid) == guid, f"UID {uid} names two messages (I1)"

    def look(self, machine: Machine) -> dict[str, StoredBox]:
        """What clients of this node see: its mailboxes by GUID."""
        stored = machine.store.stored(USER)
        for box, there in stored.items():
            for guid, has in there.messages.items():
                self.name(box, has.uid, guid)
        return stored

    def kept_by(self, name: str) -> list[tuple[str, str]]:
        """What this node has, as mail processes were told."""
        return [where for where, nodes in self.kept.items() if name in nodes and where not in self.expunged]

    def check_rows(self, machine: Machine) -> None:
        """The node has the rows of all that."""
        name, rows = machine.name, machine.rows
        for box, guid in self.kept_by(name):
            row = rows.message(box, guid)
            assert row is not None and row.size == len(self.texts[guid]), f"{name} has no row of {guid} (I12)"
        for (box, guid, flag), nodes in self.flagged.items():
            if name in nodes and (box, guid) not in self.expunged:
                row = rows.message(box, guid)
                assert row is not None and flag in row.set_flags(), f"{name} has not the flag {flag} of {guid} (I12)"

    def check(self, machine: Machine) -> None:
        """And it has the messages, with their texts."""
        self.check_rows(machine)
        name, stored = machine.name, self.look(machine)
        for box, there in stored.items():
            wanted = [guid for each, guid in self.kept_by(name) if each == box]
            paths = machine.store.texts(USER, wanted, first=box.encode())
            for guid in wanted:
                assert guid in there.messages and guid in paths, f"{name} has no message {guid} (I12)"
                assert machine.disk.read(paths[guid]) == self.texts[guid], f"{name} has another text of {guid} (I12)"
        assert {box for box, _ in self.kept_by(name)} <= stored.keys(), f"{name} has lost a mailbox (I12)"


@final
class MailProcess:
    """Asks one node for things, and notes what it is answered."""

    def __init__(self, machine: Machine, books: Books, chance: random.Random) -> None:
        self._machine: Final = machine
        self._books: Final = books
        self._chance: Final = chance
        self._waiting: dict[str, Callable[[Ok], None]] = {}
        self._tags = 0

    def act(self) -> None:
        """The next thing that it might do."""
        names = {guid: name for guid, (name, _) in view(self._machine.rows, USER).items()}
        home = HOMES[self._machine.name]
        if home not in names.values():
            self._say(Create(user=USER, box=Box(home)), lambda ok: None)
            return
        box, what = self._chance.choice(sorted(names)), self._chance.random()
        known = list(self._books.kept)
        if what < 0.6 or not known:
            self._save(box)
        elif what < 0.8:
            self._flag(*self._chance.choice(known))
        elif what < 0.92:
            self._copy(*self._chance.choice(known), box)
        else:
            self._expunge(*self._chance.choice(known))

    def hear(self) -> None:
        """Take what the node has answered."""
        for reply in self._machine.replies:
            then, answer = self._waiting.pop(reply.tag), reply.answer
            self._books.seen[answer.VERB] += 1
            if isinstance(answer, Ok) and answer.at is not None:
                self._books.seen[f"acks={answer.acks}"] += 1
                then(answer)
        self._machine.replies.clear()

    def forget(self) -> None:
        """Its node is gone, and so is what it waited for."""
        self._waiting.clear()

    def _say(self, command: Command, then: Callable[[Ok], None], text: bytes | None = None) -> None:
        self._tags += 1
        self._waiting[f"t{self._tags}"] = then
        self._machine.ask(f"t{self._tags}", command, text)

    def _having(self, ok: Ok) -> set[str]:
        return set(HOMES) if ok.acks else {self._machine.name}

    def _save(self, box: str) -> None:
        guid = f"G{len(self._books.texts) + 1}"
        size = self._chance.choice((0, 9, 100, 300, 1000, 70_000))
        text = self._books.texts[guid] = guid.encode() + self._chance.randbytes(size)
        flags = tuple(self._chance.sample(("\\Seen", "\\Draft", "kw"), self._chance.randint(0, 2)))
        save = Save(user=USER, box=Box(box, True), guid=guid, size=len(text), received=1_700_000_000, flags=flags)

        def saved(ok: Ok) -> None:
            self._books.kept[box, guid] = self._having(ok)
            self._books.name(box, ok.uid or 0, guid)

        self._say(save, saved, text)

    def _flag(self, box: str, guid: str) -> None:
        added, removed = self._chance.choice(LASTING), self._chance.choice((("\\Seen",), ("kw",), ()))
        store = Store(user=USER, box=Box(box, True), guids=(guid,), add=(added,), remove=removed)

        def stored(ok: Ok) -> None:
            self._books.flagged.setdefault((box, guid, added), set()).update(self._having(ok))

        self._say(store, stored)

    def _copy(self, box: str, guid: str, target: str) -> None:
        self._books.copied.add((target, guid))

        def copied(ok: Ok) -> None:
            self._books.kept.setdefault((target, guid), set()).update(self._having(ok))

        self._say(Copy(user=USER, box=Box(box, True), to=Box(target, True), guids=(guid,)), copied)

    def _expunge(self, box: str, guid: str) -> None:
        self._books.expunged.setdefault((box, guid), False)

        def expunged(ok: Ok) -> None:
            self._books.expunged[box, guid] = True

        self._say(Expunge(user=USER, box=Box(box, True), guids=(guid,)), expunged)


@final
class History:
    """A seed's: two machines, what is under way between them, and when the power of which goes."""

    def __init__(self, seed: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.chance = random.Random(seed)
        self.books = Books()
        self.clock = HandClock()
        self.is_linked = False
        self.are_asking = True
        self.flying: dict[str, deque[Send]] = {name: deque() for name in HOMES}
        """Sender -> what has not arrived yet."""
        stand_in(patch)
        settings = self._settings()
        self.machines: dict[str, Machine] = {}
        self.processes: dict[str, MailProcess] = {}
        for name in HOMES:
            (folder / name).mkdir()
            own = Settings(**settings, mailbox_node=name, mailbox_dir=str(folder / name))
            machine = self.machines[name] = Machine(own, folder / name, self.clock, self.chance, patch)
            self.processes[name] = MailProcess(machine, self.books, self.chance)

    def _settings(self) -> dict[str, object]:
        return {
            "mailbox_members": tuple(MailboxMember(name, "127.0.0.1", 1, False) for name in HOMES),
            "mailbox_secret": b"0123456789abcdef",
            "mailbox_maildir": "/mail/%u",
            "mailbox_layout": self.chance.choice(("maildir++", "fs")),
            "mailbox_workers": 1,
            "mailbox_lease": 1000,
            "mailbox_root_timeout": 300,
            "mailbox_apart": self.chance.choice(("accept", "accept", "refuse")),
            # With a short journal a node that was away takes whole mailboxes.
            "mailbox_journal_size": self.chance.choice((1 << 20, 1 << 20, 4000)),
        }

    async def run(self) -> None:
        self.are_asking = False
        for name in HOMES:
            await self.start(name)
        await self.steps(60)
        self.are_asking = True
        await self.steps(self.chance.randint(5, 20))
        for _ in range(CUTS):
            await self.cut(self.chance.choice(list(HOMES)))
            await self.steps(self.chance.randint(0, 20))
        await self.end()

    # What happens

    async def steps(self, count: int) -> None:
        for _ in range(count):
            await self.step()

    async def step(self) -> None:
        """A moment passes."""
        self.clock.seconds += self.chance.uniform(0.005, 0.1)
        with self.powered():
            self.ask()
        for name in self.flying:
            with self.powered():
                self.arrive(name, self.chance.randint(0, 12))
        for machine in self.chance.sample(list(self.machines.values()), 2):
            with self.powered():
                if machine.keeping is not None:
                    await machine.round()

    @contextmanager
    def powered(self) -> Iterator[None]:
        """The power of a machine may go within; then it is off behind that, and what it had said is on its way."""
        with suppress(Died):
            yield
        for machine in self.machines.values():
            self.tell(machine)
            if machine.is_off:
                self.lose_power(machine)

    def ask(self) -> None:
        for machine in self.machines.values():
            if self.are_asking and machine.keeping is not None and self.chance.random() < 0.15:
                for _ in range(self.chance.randint(1, 4)):
                    self.processes[machine.name].act()

    def tell(self, machine: Machine) -> None:
        """What a machine has said is on its way."""
        if self.is_linked:
            self.flying[machine.name].extend(machine.sends)
        machine.sends.clear()
        self.processes[machine.name].hear()

    def arrive(self, sender: str, most: int) -> None:
        flying = self.flying[sender]
        for _ in range(min(most, len(flying))):
            send = flying.popleft()
            self.machines[send.peer].hear(sender, send.tag, *self.machines[sender].said(send))

    def connect(self) -> None:
        """Both say HELLO before either hears the other's."""
        roots = {name: machine.node.mastering.root for name, machine in self.machines.items()}
        said = {name: (root.is_fresh, root.epoch) for name, root in roots.items()}
        for name, other in ("ab", "ba"):
            self.machines[name].tell(partial(_link_up, other, *said[other]), first=True)
        self.is_linked = True

    # Power

    async def cut(self, name: str) -> None:
        """The power of this node goes, and for a while the other one is alone; perhaps its power goes as well."""
        await self.cut_off(name)
        await self.steps(self.chance.choice((0, 5, 25)))
        if self.chance.random() < 0.3:
            self.books.seen["both"] += 1
            [other] = HOMES.keys() - {name}
            await self.cut_off(other)
        for each in self.chance.sample(list(HOMES), 2):
            await self.start(each)

    async def cut_off(self, name: str) -> None:
        """The power of this node goes, at a moment that is drawn."""
        machine = self.machines[name]
        what = self.chance.choice(("disk", "disk", "commit", "commit", "between"))
        self.books.seen[what] += 1
        life, patience = machine.lives, PATIENCE_STEPS
        if what == "disk":
            machine.dies_at = machine.disk.calls + self.chance.randint(1, 60)
        elif what == "commit":
            machine.commits_left = self.chance.randint(1, 12)
        else:
            patience = 1
        while machine.lives == life:
            patience -= 1
            machine.is_off |= patience <= 0
            await self.step()

    def lose_power(self, machine: Machine) -> None:
        """What has left before the power went may still arrive."""
        for other in self.machines.values():
            if other is not machine and self.is_linked:
                self.arrive(machine.name, self.chance.randint(0, len(self.flying[machine.name])))
                other.tell(partial(_link_down, machine.name))
        self.is_linked = False
        for flying in self.flying.values():
            flying.clear()
        self.processes[machine.name].forget()
        machine.lose_power()
        for other in self.machines.values():
            if other.keeping is not None:
                self.books.check(other)

    async def start(self, name: str) -> None:
        """It begins again from its disk, if it is off, and its power may go meanwhile; what it has by itself is looked
        at before it meets the other one."""
        machine = self.machines[name]
        if machine.keeping is not None:
            return
        while machine.keeping is None:
            if self.chance.random() < 0.3:
                self.books.seen["start"] += 1
                machine.dies_at = machine.disk.calls + self.chance.randint(1, 20)
            with suppress(Died):
                machine.open()
                assert machine.durability == ("wal", 2), "a commit that has returned is on disk"
                self.books.check_rows(machine)
                with suppress(NotThere):
                    self.books.look(machine)
                await machine.settle()
            if machine.is_off:
                machine.lose_power()
        machine.dies_at = NEVER
        machine.sends.clear()
        if self.books.kept:
            self.books.check(machine)
        if all(each.keeping is not None for each in self.machines.values()):
            self.connect()

    # The end

    async def end(self) -> None:
        """Nobody asks for anything any more, and there is time."""
        self.are_asking = False
        quiet = 0
        for _ in range(MOST_STEPS):
            await self.step()
            quiet = quiet + 1 if self.is_quiet() else 0
            if quiet == QUIET_STEPS:
                break
        assert quiet == QUIET_STEPS, "they do not come to an end"
        one, two = (self.shown(machine) for machine in self.machines.values())
        assert one == two, "the nodes differ (I3)"
        for where, is_told in self.books.expunged.items():
            is_there = where[1] in [guid for guid, _, _ in one[where[0]].values()]
            assert not (is_told and is_there) or where in self.books.copied, f"{where} has come back"
        # By now all is to be on both (I3).
        self.books.kept = {where: set(HOMES) for where in self.books.kept}
        self.books.flagged = {what: set(HOMES) for what in self.books.flagged}
        for machine in self.machines.values():
            self.books.check(machine)

    def stop(self) -> None:
        for machine in self.machines.values():
            machine.lose_power()

    def is_quiet(self) -> bool:
        one, two = (machine.node.core for machine in self.machines.values())
        return one.causal.held == two.causal.held and not any((one.unsettled, two.unsettled, one.missing, two.missing))

    def shown(self, machine: Machine) -> dict[str, dict[int, tuple[str, frozenset[str], bytes]]]:
        """Mailbox -> UID -> GUID, flags, text; in the store, and with the same words in the rows."""
        found = {}
        for box in view(machine.rows, USER):
            there = content(machine.disk, machine.store, box)
            found[box] = {uid: (guid, frozenset(flags), text) for uid, (guid, flags, text) in there.items()}
            rows = [(row.uid, row.guid, frozenset(row.set_flags())) for row in machine.rows.messages(box)]
            stored = sorted((uid, guid, flags) for uid, (guid, flags, _) in found[box].items())
            assert rows == stored, f"rows and store of {machine.name} differ (I3)"
        return found


def _link_up(peer: str, is_fresh: bool, epoch: int, node: Node, now: float) -> None:
    node.link_up(peer, now, is_fresh=is_fresh, epoch=epoch)


def _link_down(peer: str, node: Node, now: float) -> None:
    node.link_down(peer, now)


@in_loop
@pytest.mark.parametrize("seed", SEEDS)
async def test_power_cuts(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(seed, tmp_path, monkeypatch)
    try:
        await history.run()
    finally:
        history.stop()
    assert history.books.seen["acks=1"] > 5, "far too few were saved"
