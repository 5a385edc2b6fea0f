"""Mailboxes that several nodes made under one name at the same time become one, without an operator.

Each node shows such a mailbox as `name (2)` until then (boxes.py). The root has them made one (uniting.py), when
nothing has changed in either for a while: whoever makes a folder mostly puts mail into it at once. So it is with an
INBOX that each node's Dovecot made for a new user, and with what is left of a deleted mailbox whose name another one
has by now.

A mailbox that got its name by a rename is left alone: somebody gave it that name though it had another one, and takes
it for another mailbox.

Not here: how two become one.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, final

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.root_states import RootState
from pyrepl.mailbox.uniting import Pair, Uniting
from pyrepl.mailbox.verbs import Command

LOOK_S: Final = 2.0
"""Between two looks at whether anything has changed."""
MOST_AT_ONCE: Final = 100
"""Users that are looked at in one step."""


@final
class Doubles:
    """All users whose lists of mailboxes changed, until they have no two of one name.

    Invariant: `_look_at` is infinity exactly while there are none.
    """

    def __init__(self, core: Core, mastering: Mastering, uniting: Uniting, now: float) -> None:
        self._core: Final = core
        self._mastering: Final = mastering
        self._uniting: Final = uniting
        self._users: Final = dict.fromkeys(core.rows.users())
        """In the order in which they are looked at."""
        self._look_at = now + LOOK_S if self._users else float("inf")
        self._before: Final[dict[Pair, tuple[int, int]]] = {}
        """Two of one name -> their highest modseqs, as seen last."""
        self._under_way: Final[set[str]] = set()
        """Users of whom two are being made one."""

    @property
    def is_idle(self) -> bool:
        return not self._users and not self._core.relisted

    def finish(self, now: float) -> None:
        """Something came, or its time."""
        relisted = self._core.relisted
        if relisted:
            self._users.update(dict.fromkeys(sorted(relisted)))
            relisted.clear()
            self._look_at = min(self._look_at, now + LOOK_S)

    def tick(self, now: float) -> None:
        if now < self._look_at:
            return
        for user in list(islice(self._users, MOST_AT_ONCE)):
            del self._users[user]
            if user in self._under_way or self._look(user, now):
                self._users[user] = None
        self._look_at = now + LOOK_S if self._users else float("inf")

    def next_deadline(self) -> float:
        return self._look_at

    def _look(self, user: str, now: float) -> bool:
        """Are there two of one name? If nothing has changed in them, they are made one."""
        found = self._uniting.doubles(user, made_so=True)
        is_still = False
        for pair in found:
            is_still |= self._is_still(pair)
        if is_still and self._mastering.root.state is RootState.ROOT and self._mastering.tracker.has_lease:
            for pair in found:
                self._before.pop(pair, None)
            self._under_way.add(user)
            self._uniting.unite_then(user, lambda answer: self._united(user, answer), now, made_so=True)
        return bool(found)

    def _is_still(self, pair: Pair) -> bool:
        one, other = (self._core.rows.box(guid) for guid in pair)
        assert one is not None and other is not None
        highest = one.highest, other.highest
        before, self._before[pair] = self._before.get(pair), highest
        return before == highest

    def _united(self, user: str, answer: Command) -> None:
        """Or not, as a mastership could not be had: then it is tried again."""
        self._under_way.discard(user)
