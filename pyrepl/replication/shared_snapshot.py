"""The snapshot that replicas share: for whom the next one is, when it starts, where it goes, when nobody wants it.

The roster (roster.py) tells it what happens and carries its decisions on: StartSnapshot and StopSnapshot go to the
shell. Whether a replica waits is read from its session's state. `now` is monotonic seconds.

Not here: what each replica hears of it (roster.py, session.py), making and sending it (daemon/disk/snapshot.py).

One snapshot at a time, for as many replicas as possible that want the same left out of it (replconf.Exclusion):

    a child for replicas runs, to disk     join it: the stream behind its cut is pinned in the backlog already
    a child for replicas runs, to sockets  wait for the next one: a child gets its sockets when it is forked
    another child runs (BGSAVE, AOF)       wait until it ends
    none, diskless                         wait repl-diskless-sync-delay for more replicas to come, or until there are
                                           repl-diskless-sync-max-replicas
    none, disk                             start now

A replica that cannot read a snapshot without a size (no `capa eof`) makes the next one go to disk for all, unless an
RDB connection waits. An RDB connection reads from its socket alone: then the next snapshot goes to the sockets of all
that can read it so, and the others wait for the one after it.
With repl-max-concurrent-syncs a snapshot serves those that have waited longest, as many as there is room for; the
others wait, kept alive, and share the next child that room allows.
Source: Redis 7.0 `startBgsaveForReplication`, `shouldStartChildReplication`, `replicationCron`.
"""

from __future__ import annotations

import enum
from typing import Final, Protocol, final

from pyrepl.machines import Table
from pyrepl.replication.dialects import Capability, common_versions
from pyrepl.replication.events import (
    OtherChild,
    RosterEvent,
    SessionState,
    SnapshotTarget,
    StartSnapshot,
    StopSnapshot,
)
from pyrepl.replication.session import Session
from pyrepl.units import Offset

MAX_SYNCS: Final = 1 << 30
"""The room for full syncs where repl-max-concurrent-syncs sets no limit: more than there are connections."""


class SnapshotOptions(Protocol):
    """The part of RosterOptions that counts for the snapshot; see there."""

    diskless: bool
    diskless_delay_s: float
    diskless_max_replicas: int
    max_concurrent_syncs: int


class SnapshotState(enum.StrEnum):
    """Where the snapshot for replicas stands."""

    NONE = "none"
    ORDERED = "ordered"
    """StartSnapshot was given to the shell, which has not forked yet."""
    RUNNING = "running"
    """A child is writing the snapshot."""
    UNWANTED = "unwanted"
    """StopSnapshot was given to the shell, and the child has not ended yet."""


class SnapshotTrigger(enum.StrEnum):
    """What moves the snapshot on."""

    ORDER = "order"
    """A snapshot is due."""
    BEGIN = "begin"
    """The shell forks the child."""
    NOBODY_LEFT = "nobody_left"
    """The shell is ready to fork, but nobody waits any more."""
    UNWANT = "unwant"
    """All replicas that the child writes for are gone."""
    END = "end"
    """The child has ended, or could not be forked."""


_S = SnapshotState
_T = SnapshotTrigger
SNAPSHOT: Final = Table(
    "The snapshot that replicas share",
    (_S.NONE,),
    {
        (_S.NONE, _T.ORDER): _S.ORDERED,
        (_S.ORDERED, _T.BEGIN): _S.RUNNING,
        (_S.ORDERED, _T.NOBODY_LEFT): _S.NONE,
        (_S.ORDERED, _T.END): _S.NONE,
        (_S.RUNNING, _T.UNWANT): _S.UNWANTED,
        (_S.RUNNING, _T.END): _S.NONE,
        (_S.UNWANTED, _T.END): _S.NONE,
    },
)


@final
class SharedSnapshot:
    """The snapshot for the replicas of one node: one at a time.

    Invariants: `target` and `cut` are set exactly while a child runs for replicas (RUNNING, UNWANTED); each session in
    WAIT_SNAPSHOT_END is served by that child.
    """

    def __init__(
        self,
        sessions: dict[int, Session],
        rdb_channels: dict[int, Session],
        options: SnapshotOptions,
        events: list[RosterEvent],
    ) -> None:
        """`sessions` and `rdb_channels` are the roster's, by id; all of them may wait for a snapshot. `events` is the
        roster's list, which takes StartSnapshot and StopSnapshot."""
        self.state = SnapshotState.NONE
        self.target: SnapshotTarget | None = None
        """Where the running child writes to."""
        self.cut: Offset | None = None
        """The cut of the stream that the child's data holds."""
        self.other_child: OtherChild | None = None
        """The child that runs and is not for replicas; a node has one child at a time."""
        self._sessions: Final = sessions
        self._rdb_channels: Final = rdb_channels
        self._options: Final = options
        self._events: Final = events
        self._may_be_taken = False
        """Has a client that wanted nothing but the running child's snapshot hung up? It may have all of it."""
        self._ordered_ids: tuple[int, ...] = ()
        self._ordered_target = SnapshotTarget.DISK
        self._reads = Capability.NONE
        """The newer RDB versions that all replicas read for which the running child was started: its snapshot may use
        them, so that only a replica which reads them too may join."""

    # ------------------------------------------------------------------ who waits for what

    def why_wait(self, session: Session) -> str:
        """What the session's full resync waits for, as a word of events.SyncDecided."""
        capabilities = session.told.capabilities
        joins = not session.needs_socket and self._room() > 0 and self._reads in capabilities
        if joins and self.target is SnapshotTarget.DISK and self.is_awaited:
            return "joined"
        if self.target is not None or self.other_child is OtherChild.BGSAVE:
            return "next" if self.target is SnapshotTarget.SOCKETS else "next_file"
        if session not in self._next_in_line():
            return "later"
        is_free = self.state is SnapshotState.NONE
        is_diskless = self._options.diskless and Capability.EOF in capabilities
        if is_free and is_diskless and self._options.diskless_delay_s > 0:
            return "delay"
        return "now" if self.other_child is None else "other_child"

    @property
    def is_awaited(self) -> bool:
        """Does a replica wait for the running child's end?"""
        return any(session.state is SessionState.WAIT_SNAPSHOT_END for session in self._all())

    # ------------------------------------------------------------------ its course

    def plan(self, now: float) -> None:
        """Order the next snapshot, if it is due: StartSnapshot."""
        due_at = self.due_at()
        if due_at is None or now < due_at:
            return
        target, group = self._next_group(self._next_in_line())
        self._move(SnapshotTrigger.ORDER)
        self._ordered_target, self._ordered_ids = target, tuple(session.id for session in group)
        self._events.append(StartSnapshot(target, self._ordered_ids))

    def due_at(self) -> float | None:
        """When the next snapshot may start, maybe in the past; None if nobody waits, or a child runs or is ordered."""
        waiting = self._next_in_line()
        if not waiting or self.state is not SnapshotState.NONE or self.other_child is not None:
            return None
        options = self._options
        oldest = min(session.waiting_since for session in waiting)
        # To wait longer is no use once no more replicas could share the snapshot.
        enough = 0 < options.diskless_max_replicas <= len(waiting) or len(waiting) == self._room()
        if self._next_group(waiting)[0] is SnapshotTarget.DISK or enough or not options.diskless:
            return oldest
        return oldest + options.diskless_delay_s

    def begin(self, cut: Offset) -> list[Session]:
        """The child that was ordered is being forked, and its data ends at `cut`. Returns whom it serves.

        The list may be empty, as replicas may have left since the order: then there is no child. A file serves all that
        wait by now. A child with sockets serves those of the order alone: the shell has waited until their sockets had
        taken everything, so that the child may write to them.
        """
        target = self._ordered_target
        if target is SnapshotTarget.SOCKETS:
            served = [session for session in self._waiting() if session.id in self._ordered_ids]
        else:
            served = [session for session in self._next_in_line() if not session.needs_socket]
        self._move(SnapshotTrigger.BEGIN if served else SnapshotTrigger.NOBODY_LEFT)
        if served:
            self.target, self.cut = target, cut
            self._reads = common_versions(session.told.capabilities for session in served)
        return served

    def end(self) -> tuple[SnapshotTarget | None, list[Session]]:
        """The child has ended, or could not be forked.

        Returns where it wrote to, None if it never began, and whom that concerns: the sessions that it served, or those
        that it was ordered for.
        """
        target = self.target
        if target is not None:
            concerned = [session for session in self._all() if session.state is SessionState.WAIT_SNAPSHOT_END]
        else:
            concerned = [session for session in self._waiting() if session.id in self._ordered_ids]
        self._move(SnapshotTrigger.END)
        self.target = self.cut = None
        self._may_be_taken = False
        return target, concerned

    def hung_up(self, session: Session) -> None:
        """The session has ended while the child was writing to its socket.

        A client that wants the snapshot alone (REPLCONF rdb-only, as `redis-cli --rdb` says) hangs up when it has read
        the end, and we may hear of that before we hear of the child. So that child is left to end by itself: if the
        client had not all of it, the next write to the socket fails, which ends the child as well.
        """
        if session.told.rdb_only and self.target is SnapshotTarget.SOCKETS:
            self._may_be_taken = True

    def stop_unless(self, is_wanted: bool) -> None:
        """Order the child to be stopped if nobody waits for it any more, as Redis does.

        `is_wanted`: a replica needs it although its RDB connection has hung up (Pairs.has_unsettled).
        """
        if self.state is SnapshotState.RUNNING and not self.is_awaited and not is_wanted and not self._may_be_taken:
            self._move(SnapshotTrigger.UNWANT)
            self._events.append(StopSnapshot())

    # ------------------------------------------------------------------ inside

    def _all(self) -> list[Session]:
        return [*self._sessions.values(), *self._rdb_channels.values()]

    def _waiting(self) -> list[Session]:
        return [session for session in self._all() if session.state is SessionState.WAIT_SNAPSHOT_START]

    def _room(self) -> int:
        """How many more replicas may begin a full sync now."""
        limit = self._options.max_concurrent_syncs
        return max(0, limit - sum(session.takes_snapshot for session in self._all())) if limit else MAX_SYNCS

    def _next_in_line(self) -> list[Session]:
        """The waiting sessions that the next snapshot can serve, longest waiting first: as many as there is room for,
        of those that want the same left out as the first one."""
        waiting = sorted(self._waiting(), key=lambda session: session.waiting_since)
        return [session for session in waiting if session.told.excluded == waiting[0].told.excluded][: self._room()]

    def _next_group(self, waiting: list[Session]) -> tuple[SnapshotTarget, list[Session]]:
        """Where the next snapshot goes, and which of the sessions in `waiting` get it."""
        diskless = self._options.diskless
        # Those whose snapshot can go to a socket.
        fit = [s for s in waiting if s.needs_socket or (diskless and Capability.EOF in s.told.capabilities)]
        if len(fit) == len(waiting) or any(session.is_rdb_channel for session in waiting):
            return SnapshotTarget.SOCKETS, fit
        return SnapshotTarget.DISK, waiting

    def _move(self, trigger: SnapshotTrigger) -> None:
        self.state = SNAPSHOT.after(self.state, trigger)
