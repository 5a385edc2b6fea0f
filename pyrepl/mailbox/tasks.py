"""What a node does in mailboxes itself under the mastership: one mailbox after the other is locked, then all is done.

Such a task gives out UIDs, or compares modseqs, by the rows, so no LOCK of a mail process may be open beside it: its
holder gives out UIDs that the rows do not show yet. LOCKs that come while a task waits, wait behind it. A mastership
that ended while the task waited for another one is asked for again, with all others: the rows may show by now what was
given out under a newer one.

A task that cannot have all that it needs in the time of a LOCK (`mailbox-lock-timeout`) fails: a LOCK may be open for
longer than that, or somebody else may have the mastership.

Not here: what tasks there are (mail_side.py, settling in node.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pyrepl.mailbox.answers import Reason
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.mastership import Granted, Refused
from pyrepl.mailbox.words import Token

Run = Callable[[dict[str, Token], float], None]
"""Called with the token of each mailbox when all are locked."""
Fail = Callable[[Reason, float], None]
"""Called with the reason if the time is over first; nothing was done then."""
PREFIX: Final = "t"
MOST_OF_CLIENT: Final = 256
"""Tasks that one mail process may have: what each costs, grows with the number of all."""


@final
class Task:
    """Mailboxes that are to be locked, in the order of their GUIDs, so that no two tasks wait for each other."""

    def __init__(self, number: int, client: str, boxes: set[str], run: Run, fail: Fail, until: float) -> None:
        self.number: Final = number
        self.client: Final = client
        self.lock: Final = f"{PREFIX}{number}"
        self.boxes: Final = sorted(boxes)
        self.tokens: Final[dict[str, Token]] = {}
        self.run: Final = run
        self.fail: Final = fail
        self.until: Final = until


@final
class Tasks:
    """All tasks that wait or are under way."""

    def __init__(self, mastering: Mastering, is_idle: Callable[[str], bool]) -> None:
        """`is_idle`: has no mail process an open LOCK of this mailbox?"""
        self._mastering: Final = mastering
        self._is_idle: Final = is_idle
        self._tasks: Final[dict[str, Task]] = {}
        self._made = 0

    def add(self, boxes: set[str], run: Run, fail: Fail, now: float, client: str = "") -> None:
        """`client`: the mail process that waits for it, whose tasks are refused where it has too many; "" for none."""
        if client and sum(task.client == client for task in self._tasks.values()) >= MOST_OF_CLIENT:
            fail(Reason.BUSY, now)
            return
        self._made += 1
        until = now + self._mastering.options.tracker.lock_timeout_s
        task = Task(self._made, client, boxes, run, fail, until)
        self._tasks[task.lock] = task
        self._go_on(task, now)

    @property
    def newest(self) -> int:
        """The number of the newest task."""
        return self._made

    def wants(self, box: str, newest: int) -> bool:
        """Does a task wait for this mailbox that is no newer than this number, so that a LOCK waits behind it?"""
        return any(box in task.boxes for task in self._tasks.values() if task.number <= newest)

    def on_lock(self, event: Granted | Refused, now: float) -> bool:
        """A LOCK was answered; False if it was none of a task."""
        task = self._tasks.get(event.lock)
        if task is None:
            return event.lock.startswith(PREFIX)
        if isinstance(event, Granted):
            task.tokens[event.box] = event.token
            self._go_on(task, now)
        else:
            self._fail(task, event.reason, now)
        return True

    def tick(self, now: float) -> None:
        """End those whose time is over."""
        for task in list(self._tasks.values()) if self._tasks else ():
            if task.until <= now and task.lock in self._tasks:
                self._fail(task, self._mastering.tracker.why_late, now)

    def next_deadline(self) -> float:
        return min(task.until for task in self._tasks.values()) if self._tasks else float("inf")

    def go_on(self, now: float) -> None:
        """A LOCK ended, so a task may have its turn."""
        for task in list(self._tasks.values()) if self._tasks else ():
            self._go_on(task, now)

    def _go_on(self, task: Task, now: float) -> None:
        if task.lock not in self._tasks:
            return
        missing = [box for box in task.boxes if box not in task.tokens]
        if missing:
            row = self._mastering.core.rows.box(missing[0])
            assert row is not None
            if self._may_ask(task, missing[0]):
                self._mastering.lock(row, task.lock, now)
        elif not all(self._mastering.tracker.stands(box, token) for box, token in task.tokens.items()):
            task.tokens.clear()
            self._unlock(task, now)
            self._go_on(task, now)
        elif all(map(self._is_idle, task.boxes)):
            del self._tasks[task.lock]
            task.run(task.tokens, now)
            self._unlock(task, now)

    def _may_ask(self, task: Task, box: str) -> bool:
        mine = self._mastering.tracker.boxes.get(box)
        return mine is None or (task.lock not in mine.waiting and task.lock not in mine.locks)

    def _fail(self, task: Task, reason: Reason, now: float) -> None:
        del self._tasks[task.lock]
        self._unlock(task, now)
        task.fail(reason, now)

    def _unlock(self, task: Task, now: float) -> None:
        for box in task.boxes:
            if self._mastering.tracker.knows(box):
                self._mastering.unlock(box, task.lock, now)
