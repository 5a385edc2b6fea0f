"""A client with a cache, which it brings up to date by CHANGEDSINCE and VANISHED, on one node or another (I9)."""

from __future__ import annotations

import random
from collections.abc import Callable

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.rows import Rows
from pyrepl.mailbox.verbs import Check, Command
from tests.simulation.mailbox.violation import Violation
from tests.simulation.mailbox.world import USER, World

MOST_S = 30.0
Seen = dict[str, tuple[int, tuple[str, ...]]]
"""GUID -> UID and flags, of one mailbox."""


class Roamer:
    """It comes to a node again as it is, and to another one after CHECK."""

    def __init__(
        self, world: World, rng: random.Random, ask: Callable[[str, Command, Callable[[Command], None]], None]
    ):
        """`ask`: a command for a node, and what is to be done with the answer."""
        self._world = world
        self._rng = rng
        self._ask = ask
        self._host = ""
        self._asked = 0
        self._waits_until = 0.0
        """It does one thing at a time; a node that crashed does not answer."""
        self._cache: dict[str, tuple[int, Seen]] = {}
        """Mailbox -> the highest modseq that it had, and what was in it."""

    def forget(self) -> None:
        """It has no cache any more, as what it saw may be known to nobody."""
        self._cache.clear()
        self._host = ""

    def visit(self) -> None:
        """Log in somewhere."""
        host = self._rng.choice(self._world.members.keepers)
        if self._world.now < self._waits_until:
            return
        if self._world.hosts[host].node is None or self._world.hosts[host].frozen is not None:
            return
        before = self._links()
        if host == self._host:
            self._look(host)
        else:
            self._asked += 1
            asked, self._waits_until = self._asked, self._world.now + MOST_S
            self._ask(host, Check(user=USER), lambda answer: self._checked(host, asked, before, answer))

    def _links(self) -> list[tuple[bool, int]]:
        """CHECK asks members that can be reached; with the others nothing is promised."""
        return [(each.is_up and not each.is_cut, each.number) for each in self._world.network.connections.values()]

    def _checked(self, host: str, asked: int, before: list[tuple[bool, int]], answer: Command) -> None:
        if asked != self._asked:
            return
        self._waits_until = 0.0
        is_whole = all(is_up for is_up, _ in before) and self._links() == before
        if not isinstance(answer, Ok) or not is_whole or self._world.hosts[host].node is None:
            self._cache.clear()
        self._world.seen["roamed" if self._cache else "came anew"] += 1
        if self._world.hosts[host].node is not None:
            self._look(host)

    def _look(self, host: str) -> None:
        rows = self._world.hosts[host].rows
        self._host = host
        shown = view(rows, USER)
        self._cache = {guid: self._updated(rows, guid) for guid in shown}

    def _updated(self, rows: Rows, guid: str) -> tuple[int, Seen]:
        box = rows.box(guid)
        assert box is not None
        now = {row.guid: (row.uid, row.set_flags()) for row in rows.messages(guid) if row.uid}
        if guid in self._cache:
            since, old = self._cache[guid]
            found = _by_changes(rows, guid, since, old)
            if found != now:
                wrong = {name for name in found.keys() | now.keys() if found.get(name) != now.get(name)}
                raise Violation("I9", f"{self._host}, since {since}: {[(n, found.get(n), now.get(n)) for n in wrong]}")
        return box.highest, now


def _by_changes(rows: Rows, guid: str, since: int, old: Seen) -> Seen:
    """What the cache holds when it is told of all changes above `since`."""
    found = dict(old)
    for gone in rows.gone_since(guid, since):
        again = rows.message(guid, gone.guid)
        # One that has come again has another UID than the one that vanished.
        if gone.guid in found and (again is None or found[gone.guid][0] != again.uid):
            del found[gone.guid]
    for row in rows.messages(guid):
        if row.modseq > since:
            found.pop(row.guid, None)
            if row.uid:
                found[row.guid] = (row.uid, row.set_flags())
    return found
