"""MAILBOX JOIN of all users whose Maildirs are on this node: some at a time, so that the others' mail goes on.

| a user | then |
|---|---|
| without mailboxes here | those of the Maildir are kept from now on (folders.py), and compared (gates.py) |
| with two mailboxes of one name | they become one (uniting.py) |
| with neither | nothing is to be done |

A user is done when nothing is left to be compared and no two mailboxes have one name, or when it has taken too long or
a mastership cannot be had: then the user has failed, and JOIN says so of this user alone when it is asked again.

Not here: which users there are (the store knows).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, final

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.folders import Folders
from pyrepl.mailbox.gates import Gates
from pyrepl.mailbox.uniting import Uniting
from pyrepl.mailbox.verbs import Command

MOST_AT_ONCE: Final = 8
"""Users."""
PATIENCE_S: Final = 120.0
"""After so long a user has failed."""


@final
class Joins:
    """Users that wait, and those whose turn it is."""

    def __init__(self, core: Core, folders: Folders, gates: Gates, uniting: Uniting) -> None:
        self._core: Final = core
        self._folders: Final = folders
        self._gates: Final = gates
        self._uniting: Final = uniting
        self._waiting: deque[str] = deque()
        self._since: Final[dict[str, float]] = {}
        """User whose turn it is -> since when."""
        self._uniting_now: Final[set[str]] = set()
        self.done = 0
        self.failed: Final[list[str]] = []

    @property
    def left(self) -> int:
        """So many users are not done yet."""
        return len(self._waiting) + len(self._since)

    def add(self, users: Iterable[str]) -> None:
        """Have these joined as well; what is told of those before is told no more when all of them are done."""
        if not self.left:
            self.done = 0
            self.failed.clear()
        self._waiting.extend(sorted(set(users) - self._since.keys() - set(self._waiting)))

    def tick(self, now: float) -> None:
        """Bring them on, as far as that can be now."""
        before = -1
        while self.left != before:
            before = self.left
            self._begin(now)
            for user, since in list(self._since.items()):
                if user not in self._uniting_now:
                    self._go_on(user, since, now)

    def _begin(self, now: float) -> None:
        while self._waiting and len(self._since) < MOST_AT_ONCE:
            user = self._waiting.popleft()
            self._since[user] = now
            if not view(self._core.rows, user):
                self._folders.join(user, now)

    def _go_on(self, user: str, since: float, now: float) -> None:
        if not self._folders.is_known(user):
            self._end(user, has_failed=True)
        elif not self._folders.is_busy(user) and not self._gates.is_unlooked(user):
            if self._uniting.doubles(user):
                self._uniting_now.add(user)
                self._uniting.unite_then(user, lambda answer: self._united(user, answer), now)
            else:
                self._end(user, has_failed=not view(self._core.rows, user))
        elif now >= since + PATIENCE_S:
            self._end(user, has_failed=True)

    def _united(self, user: str, answer: Command) -> None:
        self._uniting_now.discard(user)
        if not isinstance(answer, Ok):
            self._end(user, has_failed=True)

    def _end(self, user: str, *, has_failed: bool) -> None:
        del self._since[user]
        if has_failed:
            self.failed.append(user)
        else:
            self.done += 1
        if not self.left:
            self._core.note("joined", f"{self.done} users, {len(self.failed)} failed")
