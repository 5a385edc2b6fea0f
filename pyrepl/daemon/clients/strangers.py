"""Who had not logged in when they came, and which of them makes room for others when there are too many: of clients
when maxclients is reached, and of connections to mailbox-port.

So nobody can keep others out by connections that say nothing, where a password is needed: among the oldest ones it is
the address with most of them that loses its oldest. A newcomer with one connection keeps it, though it is slow to log
in, while somebody else has two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Final, Generic, TypeVar, final

from pyrepl.acl.addresses import place_of

LOOKED_AT: Final = 100
"""How many of the oldest ones are compared: each new connection beyond the limit costs that much."""

Conn = TypeVar("Conn")


@final
class Strangers(Generic[Conn]):
    """Connections by a number of each, the oldest first. Some may have logged in since, or be closing: `take_one`
    passes over them, and forgets them."""

    def __init__(self, is_stranger: Callable[[Conn], bool]) -> None:
        """`is_stranger`: has it not logged in, and is it there still?"""
        self._is_stranger = is_stranger
        self._waiting: dict[int, tuple[bytes, Conn]] = {}
        """With the place that each comes from (`place_of`)."""

    def add(self, number: int, addr: str, conn: Conn) -> None:
        self._waiting[number] = (place_of(addr), conn)

    def drop(self, number: int) -> None:
        """This connection has ended; one that is not known is passed over."""
        self._waiting.pop(number, None)

    def count(self) -> int:
        """How many there are now."""
        for number in [number for number, (_, conn) in self._waiting.items() if not self._is_stranger(conn)]:
            self.drop(number)
        return len(self._waiting)

    def take_one(self) -> Conn | None:
        """The connection to be cut, which is forgotten here; None if all have logged in."""
        oldest = self._oldest()
        if not oldest:
            return None
        crowds = Counter(place for _, place, _ in oldest)
        # The first of equals, so the oldest one.
        number, _, conn = max(oldest, key=lambda one: crowds[one[1]])
        self.drop(number)
        return conn

    def _oldest(self) -> list[tuple[int, bytes, Conn]]:
        """LOOKED_AT of those that have not logged in, or all, if there are fewer."""
        while True:
            looked_at = list(islice(self._waiting.items(), LOOKED_AT))
            gone = [number for number, (_, conn) in looked_at if not self._is_stranger(conn)]
            if not gone:
                return [(number, place, conn) for number, (place, conn) in looked_at]
            for number in gone:
                self.drop(number)
