"""A member's machine that loses power, for test_mailbox_power.py: what the real `Keeping` keeps, on a disk in memory
for the mail, and in a real database.

The mail is on a ModelDisk, which loses what was not synced. Of the database a cut leaves what SQLite says: all that was
committed, and any part of what a commit that has not ended was writing behind it. The files are taken as they are, so
whoever uses this has to look at `durability` too: without its synchronous=FULL the files may be more than a disk has.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Final, cast, final

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.mailbox import keeping as room
from pyrepl.daemon.mailbox import uidlist_lock
from pyrepl.daemon.mailbox.configured import configured
from pyrepl.daemon.mailbox.driver import Job
from pyrepl.daemon.mailbox.keeping import Keeping
from pyrepl.daemon.mailbox.maildir_store import TROUBLE, MaildirStore
from pyrepl.daemon.mailbox.maildirs_place import MaildirsPlace
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.uidlist_lock import LocksHere
from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.outgoing import overtakes
from pyrepl.mailbox.sending import Counted, Notice, Reply, Send
from pyrepl.mailbox.store import Work
from pyrepl.mailbox.told import Row
from pyrepl.mailbox.verbs import Command
from pyrepl.mailbox.words import Box, Dot
from tests.unit.daemon.mailbox.model_disk import OWNER, Died
from tests.unit.daemon.mailbox.store_rig import PATTERN, new_disk

UNIX_S: Final = 1_795_000_000
NEVER: Final = float("inf")
_ENDINGS: Final = ("", "-wal")
"""Of the names of a database's files."""


@final
class HandClock:
    """Time that a test moves by hand; of all machines."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> float:
        return self.seconds

    def unix_ms(self) -> int:
        return UNIX_S * 1000 + int(self.seconds * 1000)


def stand_in(patch: pytest.MonkeyPatch) -> None:
    """A seed is one history, wherever it runs: nobody sleeps, a store settles its works before the round goes on, and
    the process and the host have one name, as they stand in files of which a part may be lost."""
    patch.setattr(room, "time", SimpleNamespace(time=lambda: float(UNIX_S), sleep=lambda _: None))
    patch.setattr(room, "socket", SimpleNamespace(gethostname=lambda: "host"))
    patch.setattr(uidlist_lock, "os", SimpleNamespace(getpid=lambda: 4711, fsdecode=os.fsdecode, kill=os.kill))
    patch.setattr(Workers, "settle", _settle_at_once)


def _settle_at_once(workers: Workers, works: Sequence[Work]) -> None:
    """As `Workers.settle` with one thread. What fails there, nobody hears of."""
    [store] = workers.stores
    workers.run("", lambda _: store.settle(works)).exception()


@final
class Machine:
    """One member. `keeping` is what runs there; None while it is off.

    The power goes at the call of the disk with the number `dies_at`; or within the last of `commits_left` commits, if
    that is above 0; then `is_off`, and nothing is done any more before `lose_power`.
    """

    def __init__(
        self, settings: Settings, folder: Path, clock: HandClock, chance: random.Random, patch: pytest.MonkeyPatch
    ) -> None:
        """`folder` gets the files of the database, those of each life anew; it is the machine's alone."""
        self.name: Final = settings.mailbox_node
        self.disk: Final = new_disk()
        self.disk.before_call = self._before_call
        self.keeping: Keeping | None = None
        self.is_off = False
        self.dies_at = NEVER
        self.commits_left = 0
        self.sends: list[Send] = []
        self.replies: list[Reply] = []
        self.lives = 0
        self._settings: Final = settings
        self._folder: Final = folder
        self._clock: Final = clock
        self._chance: Final = chance
        self._patch: Final = patch
        self._left: dict[str, bytes] | None = None
        """What a cut within a commit left of the database's files; None for all that they hold."""
        self._unneeded: list[str] = []
        self._came = 0
        place = MaildirsPlace(self.disk, PATTERN, OWNER)
        self._conf: Final = configured(settings, chance.random())._replace(place=place)

    # Its life

    def open(self) -> None:
        """The process begins."""
        self._patch.setattr(room, "DiskFiles", lambda: self.disk)
        conf = self._conf._replace(database=self._database)
        self._came = 0
        self.keeping = Keeping(conf, self._settings, cast(Clock, self._clock), self, LocksHere())
        vars(self.rows)["commit"] = partial(self._commit, self.rows)

    async def settle(self) -> None:
        """What a crash left is dealt with."""
        assert self.keeping is not None
        await self.keeping.settle()
        self._end_round()

    async def round(self) -> None:
        assert self.keeping is not None
        await self.keeping.driver.round()
        self._end_round()

    def lose_power(self) -> None:
        """The machine is off, and nothing is left but what its disk has."""
        left = self._files() if self._left is None else self._left
        if self.keeping is not None:
            self.keeping.stop()
        self.keeping, self._left = None, None
        self.lives += 1
        for ending, data in left.items():
            Path(f"{self._database}{ending}").write_bytes(data)
        self.disk.lose_power(self._chance)
        self.is_off, self.dies_at, self.commits_left = False, NEVER, 0
        for said in (self.sends, self.replies, self._unneeded):
            said.clear()

    # What is asked of it

    @property
    def node(self) -> Node:
        assert self.keeping is not None
        return self.keeping.driver.node

    @property
    def rows(self) -> SqliteRows:
        assert self.keeping is not None
        return self.keeping.driver.rows

    @property
    def store(self) -> MaildirStore:
        assert self.keeping is not None and self.keeping.workers is not None
        [store] = self.keeping.workers.stores
        assert isinstance(store, MaildirStore)
        return store

    @property
    def durability(self) -> tuple[object, object]:
        """Of the open database: the mode of its journal, and how commits are synced."""
        [mode], [synchronous] = (self.rows._database.row(f"PRAGMA {what}") for what in ("journal_mode", "synchronous"))
        return mode, synchronous

    def tell(self, job: Job, *, first: bool = False) -> None:
        assert self.keeping is not None
        self.keeping.driver.tell(job, first=first)

    def ask(self, tag: str, command: Command, text: bytes | None = None) -> None:
        """A mail process says this, with this text. As Conns and TalkConn do it."""
        command, name = self._taken(command, text)
        self.tell(lambda node, now: node.hear_mail("client", tag, command, name, now))

    def hear(self, peer: str, tag: str, command: Command, text: bytes | None) -> None:
        """A member says this, with this text."""
        command, name = self._taken(command, text)

        def hear(node: Node, now: float) -> None:
            assert node.why_not(peer, command) is None
            node.hear(peer, tag, command, name, now)

        self.tell(hear, first=overtakes(command))

    def said(self, send: Send) -> tuple[Command, bytes | None]:
        """What is said to a member, with the text as it is when its turn has come. As Outgoing does it."""
        command = send.command
        if send.text_of is None:
            return command, None
        box = command.__dict__.get("box")
        reason = Reason.NOUID
        try:
            path = self.store.readable_text(*send.text_of, box.text if isinstance(box, Box) and box.is_guid else "")
        except TROUBLE:
            path, reason = None, Reason.FAILED
        text = None if path is None else self.disk.read(path)
        if text is not None and command.__dict__["size"] in (None, len(text)):
            return command, text
        return (No(reason=reason) if isinstance(command, Ok) else command), None

    def _taken(self, command: Command, text: bytes | None) -> tuple[Command, str]:
        """A text that has come is in the drop folder: the command with its checksums, and its name there. Raises
        WrongText if it is not what the command says."""
        if text is None:
            return command, ""
        self._came += 1
        words = command.__dict__
        coming = self.store.drop.begin(
            words.get("at") or Dot(self.node.core.origin, self._came), words.get("guid") or "text"
        )
        coming.write(text)
        sums = coming.finish(words.get("received") or 0, words.get("size") or 0, words.get("sum") or ())
        return (command if words.get("sum") else command.replaced(sum=sums)), coming.name

    # What its driver tells (Hearers)

    listens = False

    def send(self, send: Send) -> None:
        self.sends.append(send)

    def reply(self, reply: Reply) -> None:
        self.replies.append(reply)

    def note(self, notice: Notice) -> None: ...

    def count(self, counted: Counter[Counted]) -> None: ...

    def told(self, row: Row) -> None: ...

    def unneeded(self, texts: Sequence[str]) -> None:
        self._unneeded += texts

    def stopped(self, user: str, reason: str) -> None:
        raise AssertionError(f"{self.name}: the mailboxes of {user} stand still: {reason}")

    def resumed(self, user: str) -> None: ...

    # Inside

    def _end_round(self) -> None:
        """Only what is done beside the rounds may have found the power gone: what was said has left before."""
        unneeded, self._unneeded = self._unneeded, []
        if not self.is_off:
            self.store.drop.remove(unneeded)
        if self.is_off:
            raise Died("beside the round")

    def _before_call(self, number: int, what: str, path: bytes) -> None:
        if self.is_off or number >= self.dies_at:
            self.is_off = True
            raise Died(f"{self.name}, call {number}: {what} {path!r}")

    def _commit(self, rows: SqliteRows) -> None:
        """The commit of these rows; in the one that is chosen, the power goes."""
        self.commits_left -= 1
        before = self._files() if self.commits_left == 0 else {}
        SqliteRows.commit(rows)
        if before:
            self._left = before | {"-wal": self._torn(before.get("-wal", b""), self._files()["-wal"])}
            self.is_off = True
            raise Died(f"{self.name}, within a commit")

    def _torn(self, before: bytes, after: bytes) -> bytes:
        """The log with a part of what a commit has written, or all of it: behind what it held, or over that from its
        beginning."""
        least = len(before) if after.startswith(before) else 0
        # How much SQLite writes must not change what is drawn next.
        written = least + round(min(1.0, self._chance.uniform(0.0, 1.3)) * (len(after) - least))
        return after[:written] + before[written:]

    @property
    def _database(self) -> Path:
        return self._folder / f"{self.lives}.db"

    def _files(self) -> dict[str, bytes]:
        """What each of the database's files holds."""
        paths = {ending: Path(f"{self._database}{ending}") for ending in _ENDINGS}
        return {ending: path.read_bytes() for ending, path in paths.items() if path.exists()}
