"""The works that follow from what was applied, until the shell does them.

A mailbox may be renewed or become one with another, with tens of thousands of works in one step, so none of them is
looked for among all others. Not here: what works are (store.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, final

from pyrepl.mailbox.store import REMOVALS, AddMessage, MakeBox, RemoveBox, RemoveMessage, SetFlags, Work

_Key: TypeAlias = tuple[bool, str, str]
"""Is something taken away, a mailbox, and a message in it, "" for the mailbox itself."""


@final
class PendingWorks:
    """All of a node, in the order in which they came.

    Invariant: `_named` has the places of works in `_works` that another one may take back: those that add a message,
    or take away a message or a mailbox.
    """

    def __init__(self) -> None:
        self._works: Final[dict[int, Work]] = {}
        self._named: Final[dict[_Key, list[int]]] = {}
        self._count = 0

    def add(self, work: Work) -> None:
        """What comes back is not taken away any more."""
        if isinstance(work, MakeBox):
            self._drop((True, work.box, ""))
        elif isinstance(work, AddMessage):
            self._drop((True, work.box, work.guid))
        self._put(work)

    def extend(self, works: Iterable[Work]) -> None:
        """Those that speak of nothing that is pending."""
        for work in works:
            self._put(work)

    def was_added(self, box: str, guid: str) -> None:
        """A mail program has put a message into the store: it need not be added."""
        self._drop((False, box, guid))

    def keep(self) -> list[Work]:
        """All that is to be done before the commit; they are pending no more."""
        places = [place for place, work in self._works.items() if not isinstance(work, REMOVALS)]
        for key in [key for key in self._named if not key[0]]:
            del self._named[key]
        return [self._works.pop(place) for place in places]

    def take_away(self) -> list[Work]:
        """What is left, to be done after the commit; nothing is pending any more."""
        left = list(self._works.values())
        self._works.clear()
        self._named.clear()
        return left

    def forget_flags(self, since: int) -> None:
        """Those that came since there were so many, all of which set flags, need not be done."""
        for place in list(self._works)[since:]:
            work = self._works.pop(place)
            assert isinstance(work, SetFlags)

    def __len__(self) -> int:
        return len(self._works)

    def _put(self, work: Work) -> None:
        self._count += 1
        self._works[self._count] = work
        if isinstance(work, AddMessage | RemoveMessage):
            self._named.setdefault((isinstance(work, RemoveMessage), work.box, work.guid), []).append(self._count)
        elif isinstance(work, RemoveBox):
            self._named.setdefault((True, work.box, ""), []).append(self._count)

    def _drop(self, key: _Key) -> None:
        for place in self._named.pop(key, ()):
            del self._works[place]
