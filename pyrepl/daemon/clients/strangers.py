"""Who had not logged in when they came, and which of them makes room for others when maxclients is reached.

So nobody can keep others out by connections that say nothing, where a password is needed: among the oldest ones it is
the address with most of them that loses its oldest. A newcomer with one connection keeps it, though it is slow to log
in, while somebody else has two.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Final, final

from pyrepl.acl.addresses import place_of
from pyrepl.daemon.clients.client_conn import ClientConn

LOOKED_AT: Final = 100
"""How many of the oldest ones are compared: each new connection beyond maxclients costs that much."""


@final
class Strangers:
    """Connections by the id of their client, the oldest first. Some may have logged in since, or be closing: `take_one`
    passes over them, and forgets them."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[bytes, ClientConn]] = {}
        """With the place that each comes from (`place_of`)."""

    def add(self, conn: ClientConn) -> None:
        self._waiting[conn.client.id] = (place_of(conn.client.addr), conn)

    def drop(self, client_id: int) -> None:
        """This connection has ended; one that is not known is passed over."""
        self._waiting.pop(client_id, None)

    def take_one(self) -> ClientConn | None:
        """The connection to be cut, which is forgotten here; None if all have logged in."""
        oldest = self._oldest()
        if not oldest:
            return None
        crowds = Counter(place for place, _ in oldest)
        # The first of equals, so the oldest one.
        _, conn = max(oldest, key=lambda one: crowds[one[0]])
        self.drop(conn.client.id)
        return conn

    def _oldest(self) -> list[tuple[bytes, ClientConn]]:
        """LOOKED_AT of those that have not logged in, or all, if there are fewer."""
        while True:
            looked_at = list(islice(self._waiting.items(), LOOKED_AT))
            gone = [client_id for client_id, (_, conn) in looked_at if not _is_stranger(conn)]
            if not gone:
                return [one for _, one in looked_at]
            for client_id in gone:
                self.drop(client_id)


def _is_stranger(conn: ClientConn) -> bool:
    return not conn.client.authenticated and not conn.transport.is_closing()
