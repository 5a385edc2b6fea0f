"""A node's replication state in one place: our stream, our replicas, our role, and the link to a master.

The machines are in the room `replication`; the daemon makes the connections and children that they ask for. What
differs between a master and a replica is decided by `replication.role`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from pyrepl.node.client import Client
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.failover import Failover
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.replication.link import Link
from pyrepl.replication.role import Role
from pyrepl.replication.roster import Roster, RosterOptions
from pyrepl.replication.stream_place import StreamPlace
from pyrepl.replication.syncbuffer import BufferUse
from pyrepl.resp.encoder import encode_command
from pyrepl.units import Offset, ReplId


@final
class Replication:
    """Invariant: `link` and `link_client` are set exactly while we are a replica."""

    def __init__(self, backlog_size: int, options: RosterOptions, new_replid: Callable[[], ReplId], now: float) -> None:
        """`backlog_size` in bytes; `new_replid()` gives a random id."""
        self.history = History(new_replid())
        self.backlog = Backlog(backlog_size)
        self.feed = Feed()
        self.roster = Roster(self.history, self.backlog, self.feed, options, new_replid, now)
        self.role = Role(self.history, self.backlog, self.feed, self.roster)
        self.buffer_use = BufferUse()
        """Counts the stream bytes that our link holds while a snapshot comes over a second connection."""
        self.failover = Failover(self.roster, self.backlog)
        self.link: Link | None = None
        self.link_client: Client | None = None
        """The client that executes our master's commands."""

    @property
    def link_is_up(self) -> bool:
        return self.link is not None and self.link.is_up

    @property
    def master_host(self) -> str:
        """Empty on a master."""
        return self.role.master.host if self.role.master is not None else ""

    @property
    def master_port(self) -> int:
        """0 on a master."""
        return self.role.master.port if self.role.master is not None else 0

    def feed_one(self, db_index: int, raw: bytes) -> int:
        """Put one command's bytes into the stream, and return the cut behind them. No effect while the backlog is not
        active, as nobody follows the stream then."""
        backlog = self.backlog
        if backlog.active:
            backlog.append(self.feed.feed_one(db_index, raw))
        return backlog.end

    def feed_unit(self, unit: list[tuple[int, bytes]]) -> int:
        """Put commands that take effect together into the stream, and return the cut behind them."""
        backlog = self.backlog
        if backlog.active:
            backlog.append(self.feed.feed_unit(unit))
        return backlog.end

    @property
    def stream_db(self) -> int:
        """The database that the stream has selected at its end, NO_DB if its next command selects one anyway. A replica
        proxies its master's bytes, so it is the one that its master's stream has selected."""
        return self.feed.db if self.link_client is None else self.link_client.db_index

    @property
    def next_db(self) -> int:
        """The database in which a reader that begins at the stream's end must execute the next command; 0 where the
        stream selects one anyway."""
        return max(0, self.stream_db)

    @property
    def select_next_db(self) -> bytes:
        """The SELECT that a reader in database 0 needs before it goes on at the stream's end; empty if none is
        needed."""
        return encode_command([b"SELECT", b"%d" % self.next_db]) if self.next_db else b""

    def snapshot_fields(self) -> list[tuple[bytes, bytes]]:
        """The aux fields that state the place of a snapshot of this moment in our stream; none without a stream."""
        if not self.backlog.active:
            return []
        return StreamPlace(self.history.replid, Offset(self.backlog.end), self.next_db).fields()
