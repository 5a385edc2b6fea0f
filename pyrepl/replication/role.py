"""Master or replica: the only place that branches on it, and on what a change of it means for our stream.

Not here: the link to our master (link.py), its replicas one by one (session.py, roster.py), commands and their texts.

    who is our master  what we write     sub-replicas' PSYNC
    nobody (master)    our own stream    decided
    another node       its bytes, as     decided while the link is up, else -NOMASTERLINK
                       they came

What else follows from the role is asked here, one question for each rule, so that no reader concludes it by itself:

    question           master                           replica
    makes_stream       yes                              no: its stream is its master's, byte for byte
    deletes_expired    yes, unless its stream has to    no: it hides what has expired, until its master's DEL
                       stand still                      takes it
    evicts             yes                              no: it would lack what its master has
    guards_writes      yes: by min-replicas-to-write    no: it follows its master, whatever its own disk and its
                       and by a disk that fails         own replicas are like
    refuses_writes     no                               of clients, with replica-read-only yes
    refuses_stale      no                               while the link is down, with replica-serve-stale-data no

Changes of the stream's name cut the sub-replicas, so that they learn the new one at once; they are continued by
PSYNC, since the old name stays valid up to the fork. Source: Redis 7.0 `replicationSetMaster`,
`replicationUnsetMaster`, `replicationAttachToNewMaster`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final, final

from pyrepl.config.kinds import MasterAddress
from pyrepl.replication.backlog import Backlog
from pyrepl.replication.events import Continued
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.replication.psync import ASK_FOR_ALL, FAILOVER_TO_MASTER, Cause, Reason, Request
from pyrepl.replication.roster import Roster
from pyrepl.units import Offset, ReplId

FAILOVER_TO_STRANGER: Final = "ERR PSYNC FAILOVER replid must match my replid."
FOLLOWS_ITSELF: Final = (
    "ERR This node is told to follow itself: REPLICAOF names its own address. Name another one, or use REPLICAOF NO ONE"
)
NO_MASTER_LINK: Final = "NOMASTERLINK Can't SYNC while not connected with my master"


MASTER: Final = "master"
REPLICA: Final = "replica"


class Holder(enum.Enum):
    """The purposes for which writes are held, and the end of our stream, until the purpose is over."""

    FAILOVER = "failover"
    SHUTDOWN = "shutdown"


@final
class Role:
    """Whether we are a master or a replica, and our stream through all changes of that.

    Invariants: a replica's backlog is active while it holds a stream; `roster.makes_stream` is True exactly on a
    master; `roster.refusal` is empty exactly on a master or while the link is up.
    """

    def __init__(self, history: History, backlog: Backlog, feed: Feed, roster: Roster) -> None:
        """A master, to begin with."""
        self.master: MasterAddress | None = None
        self.holds_stream = False
        """Our data is the stream `history.replid` up to `backlog.end`, so that one may ask to continue there."""
        self._history: Final = history
        self._backlog: Final = backlog
        self._feed: Final = feed
        self._roster: Final = roster
        self._keeping: Final = roster.keeping
        self._watchers: Final[list[Callable[[], None]]] = []
        self._holders: Final[set[Holder]] = set()
        """For whom the end of our stream stands still."""

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed()` whenever an answer to one of our questions may have changed."""
        self._watchers.append(changed)

    # ------------------------------------------------------------------ questions

    @property
    def is_replica(self) -> bool:
        """For who shows the role. Who derives a rule from it asks one of the questions below, or adds one."""
        return self.master is not None

    @property
    def name(self) -> str:
        """`master` or `replica`."""
        return MASTER if self.master is None else REPLICA

    @property
    def makes_stream(self) -> bool:
        """Do our own writes go into our stream? Only then somebody can acknowledge them."""
        return self.master is None

    @property
    def deletes_expired(self) -> bool:
        """Do we delete what has expired, and tell our replicas by a DEL? Else it is hidden from clients and stays."""
        return self.master is None and not self._roster.is_quiet

    @property
    def evicts(self) -> bool:
        """Do we make room by deleting keys when maxmemory is reached?"""
        return self.master is None

    @property
    def guards_writes(self) -> bool:
        """Are writes refused with too few replicas, and while our disk fails?"""
        return self.master is None

    def refuses_writes(self, read_only: bool) -> bool:
        """Do clients' writes get -READONLY? `read_only` is replica-read-only."""
        return self.master is not None and read_only

    def refuses_stale(self, serves_stale: bool, *, link_is_up: bool) -> bool:
        """Do clients get -MASTERDOWN, as our data may be old? `serves_stale` is replica-serve-stale-data."""
        return self.master is not None and not link_is_up and not serves_stale

    # ------------------------------------------------------------------ changes

    def stand_still(self, holder: Holder) -> None:
        """Keep the end of our stream where it is, until this holder and all others let it go on."""
        self._holders.add(holder)
        self._roster.is_quiet = True
        self._tell()

    def go_on(self, holder: Holder) -> None:
        """For this holder our stream may go on. Harmless if it did not stand still for it."""
        self._holders.discard(holder)
        self._roster.is_quiet = bool(self._holders)
        self._tell()

    @property
    def has_stream(self) -> bool:
        """Is there a stream that our own file or a subscriber can follow? A master's always is, once `keep_stream` was
        called; a replica has one while it holds its master's."""
        return self.master is None or (self.holds_stream and self._backlog.active)

    def keep_stream(self) -> None:
        """Somebody else than a replica wants to follow our stream. On a replica, whose stream comes and goes with its
        data, this has no effect."""
        if self.master is None:
            self._keeping.begin()

    @property
    def position(self) -> Request:
        """What a link to a new master asks to continue."""
        if not self.holds_stream:
            return ASK_FOR_ALL
        return Request(self._history.replid, self._backlog.end)

    def restore(self, replid: ReplId, held: Offset) -> None:
        """A snapshot file was loaded at start that states its place in a stream (AUX repl-id and repl-offset)."""
        assert self.master is None and not self._backlog.active
        self._history.restart(replid)
        self._backlog.restart(held)
        self.holds_stream = True
        self._keeping.begin()

    def follow(self, host: str, port: int, now: float, *, at_start: bool = False) -> Request:
        """Become a replica of host:port (REPLICAOF, or `at_start` by configuration); the position for a new Link.

        Sub-replicas stay attached: they are cut when our stream's name or content really changes. A master offers
        its own stream to be continued, which a promoted replica of ours can grant. At start there is nothing to
        offer unless `restore` was called.
        """
        if self.master is None and not at_start:
            self.holds_stream = True
        self.master = MasterAddress(host, port)
        self._roster.makes_stream = False
        self._roster.refusal = NO_MASTER_LINK
        self._roster.failover_refusal = FAILOVER_TO_STRANGER
        self._tell()
        return self.position

    def why_not_take_over(self, request: Request) -> str | None:
        """The error for a PSYNC ... FAILOVER that we cannot obey, None if we can: then `promote`, and decide on it."""
        if self.master is None:
            return FAILOVER_TO_MASTER
        return None if request.replid == self._history.replid else FAILOVER_TO_STRANGER

    def promote(self, new_replid: ReplId, now: float) -> None:
        """Become a master (REPLICAOF NO ONE). No effect on a master.

        Our stream goes on under a new name; the old one stays valid up to here, for our siblings and sub-replicas.
        """
        if self.master is None:
            return
        self.master = None
        if self.holds_stream:
            self._history.shift(new_replid, Offset(self._backlog.end))
        else:
            self._history.restart(new_replid)
        self.holds_stream = True
        self._feed.forget_db()
        roster = self._roster
        roster.makes_stream = True
        roster.refusal = ""
        roster.failover_refusal = FAILOVER_TO_MASTER
        roster.close_all(Reason(Cause.STOPPED, detail="promoted"), "we are a master now, under a new id", now)
        roster.no_replicas_since = now
        self._tell()

    def link_up(self) -> None:
        """LinkUp: sub-replicas may sync with us."""
        assert self.master is not None
        self._roster.refusal = ""

    def link_lost(self) -> None:
        """Lost: sub-replicas that are attached stay, others are told to come later."""
        if self.master is not None:
            self._roster.refusal = NO_MASTER_LINK

    def continued(self, event: Continued, now: float) -> None:
        """Our master continued us. Under a new name, our sub-replicas are cut to learn it."""
        assert self.master is not None and self.holds_stream
        if event.new_replid is not None:
            self._history.shift(event.new_replid, Offset(self._backlog.end))
            self._roster.close_all(Reason(Cause.STOPPED, detail="new_id"), "our stream has a new id", now)
        self._keeping.begin()

    def stream_lost(self, new_replid: ReplId, now: float) -> None:
        """Our data is about to be destroyed by a full resync: nobody can be continued from us until it is loaded."""
        assert self.master is not None
        self._roster.close_all(Reason(Cause.STOPPED, detail="full_resync"), "we need a full resync ourselves", now)
        self.holds_stream = False
        self._keeping.end(new_replid)

    def snapshot_loaded(self, replid: ReplId, cut: Offset, now: float) -> None:
        """A full resync was loaded: our stream is our master's from `cut` on."""
        assert self.master is not None
        self._roster.close_all(Reason(Cause.STOPPED, detail="full_resync"), "our data was replaced", now)
        self._history.restart(replid)
        self._backlog.restart(cut)
        self.holds_stream = True
        self._keeping.begin()

    def receive_stream(self, raw: bytes) -> None:
        """Bytes of our master were applied: they are our stream too, unchanged."""
        assert self.master is not None and self._backlog.active
        self._backlog.append(raw)

    def _tell(self) -> None:
        for changed in self._watchers:
            changed()
