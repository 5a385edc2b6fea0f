"""A model of the Dovecot of one node: it knows nothing of nodes, and changes a mailbox while it has its lock.

It acts between any two of the node's steps. Who finds the lock taken looks at it again and again, which the file system
tells; but a delivery only tries, and leaves its mail without a UID.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, NamedTuple

from pyrepl.mailbox.gate_states import Seen
from pyrepl.mailbox.rows import UNPLACED
from tests.simulation.mailbox.clients import FLAGS, Books
from tests.simulation.mailbox.gated_store import GatedStore
from tests.simulation.mailbox.violation import Violation
from tests.simulation.mailbox.world import World

LOCK_WAIT_S: Final = 30.0
"""`mail_max_lock_timeout`, as is told to set it."""
LOOKS_S: Final = 0.5
"""So often a waiting one looks at the lock file."""
CALM_S: Final = 5.0
"""So long it waits at most while nothing breaks."""


class Session(NamedTuple):
    """Someone who wants the lock, to do one thing."""

    what: str
    since: float
    work: Callable[[], None]


class Dovecot:
    """One node's. It outlives its node."""

    def __init__(self, world: World, books: Books, host: str, rng: random.Random, *, calm: bool) -> None:
        self._world: Final = world
        self._books: Final = books
        self._host: Final = host
        self._rng: Final = rng
        self._calm: Final = calm
        self._waiting: dict[str, list[Session]] = {}
        self._at_it: dict[str, Session] = {}
        self._follow()

    @property
    def is_idle(self) -> bool:
        return not any(self._waiting.values()) and not self._at_it and not any(self._store.unlisted.values())

    def lose_disk(self) -> None:
        """It is another machine's from now on."""
        self._waiting, self._at_it = {}, {}
        self._follow()

    def stop(self) -> None:
        """No client asks for anything any more; who waits for UIDs has them when there are some."""
        self._waiting = {}

    def act(self) -> None:
        """The next thing that a client might do."""
        boxes = sorted(self._store.names)
        if not boxes:
            return
        box = self._rng.choice(boxes)
        what = self._rng.choices(
            (self._append, self._deliver, self._flag, self._expunge, self._copy), (30, 12, 16, 8, 6)
        )[0]
        what(box)

    def slip_in(self) -> None:
        """Who has a lock is done with it at this moment, perhaps."""
        for box in list(self._at_it):
            if self._rng.random() < 0.3:
                self.hurry(box)

    def hurry(self, box: str) -> None:
        session = self._at_it.get(box)
        if session is not None:
            self._finish(box, session)

    # What its clients do

    def _append(self, box: str) -> None:
        def append() -> None:
            for _ in range(self._rng.randint(1, 3)):
                self._save(box, self._new_guid(), self._flags())

        self._want(box, "append", append)

    def _deliver(self, box: str) -> None:
        if self._store.has_lock(box):
            guid = self._new_guid()
            self._store.unlisted.setdefault(box, {})[guid] = ()
            self._books.appended[box, guid] = self._host
            self._world.seen["dovecot delivered"] += 1
            self._tell(box, Seen(brought=True))
        else:
            self._want(box, "deliver", lambda: self._save(box, self._new_guid(), ()))

    def _flag(self, box: str) -> None:
        guids, flag = self._some(box), self._rng.choice(FLAGS)
        is_added = self._rng.random() < 0.6

        def change() -> None:
            for guid in self._there(box, guids):
                had = frozenset(self._store.boxes[box][guid][1])
                self._store.set_flags(box, guid, had | {flag} if is_added else had - {flag})

        self._want(box, "flag", change)

    def _expunge(self, box: str) -> None:
        guids = self._some(box)

        def expunge() -> None:
            for guid in self._there(box, guids):
                self._books.expunged.add((box, guid))
                self._store.expunge(box, guid)

        self._want(box, "expunge", expunge)

    def _copy(self, box: str) -> None:
        target = self._rng.choice(sorted(self._store.names))
        guids = self._some(box)

        def copy() -> None:
            for guid in self._there(box, guids):
                if guid not in self._store.boxes[target] and guid not in self._store.unlisted.get(target, {}):
                    self._books.copied.add((target, guid))
                    self._save(target, guid, self._store.boxes[box][guid][1])

        self._want(target, "copy", copy)

    def _save(self, box: str, guid: str, flags: tuple[str, ...]) -> None:
        self._store.save(box, guid, flags)
        self._books.appended[box, guid] = self._host

    def _new_guid(self) -> str:
        self._books.number += 1
        return f"G{self._books.number}"

    def _flags(self) -> tuple[str, ...]:
        return tuple(sorted(self._rng.sample(FLAGS, self._rng.randint(0, 2))))

    def _some(self, box: str) -> list[str]:
        guids = [guid for guid, (uid, _) in self._store.boxes[box].items() if uid != UNPLACED]
        return self._rng.sample(guids, min(len(guids), self._rng.randint(1, 3)))

    def _there(self, box: str, guids: list[str]) -> list[str]:
        """Those that clients still see."""
        here = self._store.boxes.get(box, {})
        return [guid for guid in guids if guid in here and here[guid][0] != UNPLACED]

    # Locks

    @property
    def _store(self) -> GatedStore:
        store = self._world.hosts[self._host].store
        assert isinstance(store, GatedStore)
        return store

    def _follow(self) -> None:
        self._store.hurry, self._store.freed = self.hurry, self._freed

    def _want(self, box: str, what: str, work: Callable[[], None]) -> None:
        session = Session(what, self._world.now, work)
        if self._store.has_lock(box):
            self._waiting.setdefault(box, []).append(session)
            self._look(box, session)
        else:
            self._take(box, session)

    def _take(self, box: str, session: Session) -> None:
        self._store.take(box)
        self._at_it[box] = session
        self._world.at(self._world.now + self._rng.expovariate(1 / 0.003), lambda: self._finish(box, session))

    def _finish(self, box: str, session: Session) -> None:
        if self._at_it.get(box) is not session:
            return
        del self._at_it[box]
        if box in self._store.boxes:
            self._store.list_all(box)
            session.work()
        self._world.seen[f"dovecot {session.what}"] += 1
        self._store.release(box)
        self._tell(box, Seen(released=True))

    def _freed(self, box: str) -> None:
        self._world.at(self._world.now + self._rng.expovariate(1 / 0.001), lambda: self._next(box))

    def _next(self, box: str) -> None:
        waiting = self._waiting.get(box)
        if waiting and not self._store.has_lock(box) and box in self._store.boxes:
            self._take(box, waiting.pop(self._rng.randrange(len(waiting))))

    def _look(self, box: str, session: Session) -> None:
        """At who has the lock."""
        if session not in self._waiting.get(box, ()):
            return
        waited_s = self._world.now - session.since
        if self._calm and waited_s > CALM_S:
            raise Violation("I11", f"the Dovecot of {self._host} has waited for {box[:6]} since {session.since:.3f}")
        if waited_s > LOCK_WAIT_S:
            self._waiting[box].remove(session)
            self._world.seen["dovecot NO"] += 1
        elif self._store.has_lock(box):
            self._tell(box, Seen(reads=True))
            self._world.at(self._world.now + LOOKS_S, lambda: self._look(box, session))
        else:
            self._next(box)

    def _tell(self, box: str, seen: Seen) -> None:
        """What the file system tells, to whoever listens then."""

        def tell() -> None:
            self._world.call(self._host, lambda node, now: node.gates.seen(box, seen, now) if node.gates else None)

        self._world.at(self._world.now + self._rng.expovariate(1 / 0.001), tell)
