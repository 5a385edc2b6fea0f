"""MAILBOX JOIN of all users whose Maildirs are on this node: some at a time, so that the others' mail goes on.

| a user | then |
|---|---|
| without mailboxes here | those of the Maildir are kept from now on (folders.py), and compared (gates.py) |
| with two mailboxes of one name | they become one (uniting.py) |
| with neither | nothing is to be done |

A user is done when nothing is left to be compared and no two mailboxes have one name, or when nobody's mailbox was
compared for too long or a mastership cannot be had: then the user has failed, and JOIN says so of this user alone when
it is asked again.

Not here: which users there are (the store knows).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple, final

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
"""After so long without one mailbox more that is compared, of whatever user, a user has failed."""


class _Turn(NamedTuple):
    """Since when; `unlooked` mailboxes of the user were not compared yet when it was looked last."""

    since: float
    unlooked: int


@final
class Joins:
    """Users that wait, and those whose turn it is."""

    def __init__(self, core: Core, folders: Folders, gates: Gates, uniting: Uniting) -> None:
        self._core: Final = core
        self._folders: Final = folders
        self._gates: Final = gates
        self._uniting: Final = uniting
        self._waiting: deque[str] = deque()
        self._turns: Final[dict[str, _Turn]] = {}
        """Those whose turn it is."""
        self._moved_at = float("-inf")
        """When one mailbox more was compared."""
        self._uniting_now: Final[set[str]] = set()
        self.done = 0
        self.failed: Final[list[str]] = []

    @property
    def left(self) -> int:
        """So many users are not done yet."""
        return len(self._waiting) + len(self._turns)

    def add(self, users: Iterable[str]) -> None:
        """Have these joined as well; what is told of those before is told no more when all of them are done."""
        if not self.left:
            self.done = 0
            self.failed.clear()
        self._waiting.extend(sorted(set(users) - self._turns.keys() - set(self._waiting)))

    def tick(self, now: float) -> None:
        """Bring them on, as far as that can be now."""
        before = -1
        while self.left != before:
            before = self.left
            self._begin(now)
            for user, turn in list(self._turns.items()):
                if user not in self._uniting_now:
                    self._go_on(user, turn, now)

    def _begin(self, now: float) -> None:
        while self._waiting and len(self._turns) < MOST_AT_ONCE:
            user = self._waiting.popleft()
            self._turns[user] = _Turn(now, 0)
            if not view(self._core.rows, user):
                self._folders.join(user, now)

    def _go_on(self, user: str, turn: _Turn, now: float) -> None:
        unlooked = self._gates.count_unlooked(user)
        if not self._folders.is_known(user):
            self._end(user, has_failed=True)
        elif not self._folders.is_busy(user) and not unlooked:
            if self._uniting.doubles(user):
                self._uniting_now.add(user)
                self._uniting.unite_then(user, lambda answer: self._united(user, answer), now)
            else:
                self._end(user, has_failed=not view(self._core.rows, user))
        elif unlooked != turn.unlooked:
            self._moved_at = now
            self._turns[user] = turn._replace(unlooked=unlooked)
        elif now >= max(turn.since, self._moved_at) + PATIENCE_S:
            self._end(user, has_failed=True)

    def _united(self, user: str, answer: Command) -> None:
        self._uniting_now.discard(user)
        if not isinstance(answer, Ok):
            self._end(user, has_failed=True)

    def _end(self, user: str, *, has_failed: bool) -> None:
        del self._turns[user]
        if has_failed:
            self.failed.append(user)
        else:
            self.done += 1
        if not self.left:
            self._core.note("joined", f"{self.done} users, {len(self.failed)} failed")
