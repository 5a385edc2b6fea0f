"""The snapshot that replicas share: for whom the next one is, when it starts, where it goes, when nobody wants it.

Not here: what each replica hears of it (roster.py, session.py), making and sending it (daemon/disk/snapshot).

One snapshot at a time, for as many replicas as possible that want the same left out of it (replconf.Exclusion):

    a child for replicas runs, to disk     join: the same cut, so the same bytes from there on are pinned already
    a child for replicas runs, to sockets  wait for the next; its sockets were given when it was forked
    another child runs (BGSAVE, AOF)       wait for it to end
    none, diskless                         wait repl-diskless-sync-delay for more to come, or until there are
                                           repl-diskless-sync-max-replicas
    none, disk                             start now

A replica that cannot read a snapshot without a size (no `capa eof`) makes the next one go to disk for all, unless an
RDB channel waits: that takes its snapshot from a socket alone, with all that can, and the others wait for the next.
With repl-max-concurrent-syncs a snapshot serves those that have waited longest, as many as there is room for; the
others wait, kept alive, and share the next child that room allows.
Source: Redis 7.0 `startBgsaveForReplication`, `shouldStartChildReplication`, `replicationCron`.
"""

from __future__ import annotations

import enum
from typing import Final, Protocol, final

from pyrepl.machines import Table
from pyrepl.replication.dialects import Capability, common_versions
from pyrepl.replication.events import RosterEvent, SessionState, SnapshotTarget, StartSnapshot, StopSnapshot
from pyrepl.replication.session import Session
from pyrepl.units import Offset

MAX_SYNCS: Final = 1 << 30
"""Room where there is no limit: more than there are connections."""


class SnapshotOptions(Protocol):
    """The part of RosterOptions that counts here."""

    diskless: bool
    diskless_delay_s: float
    diskless_max_replicas: int
    max_concurrent_syncs: int


class SnapshotState(enum.StrEnum):
    """Where the snapshot for replicas stands."""

    NONE = "none"
    ORDERED = "ordered"
    """StartSnapshot is out, and no child was forked yet."""
    RUNNING = "running"
    UNWANTED = "unwanted"
    """StopSnapshot is out, and the child has not ended yet."""


class SnapshotTrigger(enum.StrEnum):
    """What moves it on."""

    ORDER = "order"
    BEGIN = "begin"
    NOBODY_LEFT = "nobody_left"
    UNWANT = "unwant"
    END = "end"


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
    """The one of a node.

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
        """All that may want one, by id; `events` takes StartSnapshot and StopSnapshot."""
        self.state = SnapshotState.NONE
        self.target: SnapshotTarget | None = None
        """Where the child writes to."""
        self.cut: Offset | None = None
        """Where in the stream its data ends."""
        self.other_child_runs = False
        """A child that is not for replicas occupies the place."""
        self._sessions: Final = sessions
        self._rdb_channels: Final = rdb_channels
        self._options: Final = options
        self._events: Final = events
        self._ordered_ids: tuple[int, ...] = ()
        self._ordered_target = SnapshotTarget.DISK
        self._reads = Capability.NONE
        """What all read whom the running snapshot was made for: it may be in no older version."""

    # ------------------------------------------------------------------ who waits for what

    def why_wait(self, session: Session) -> str:
        """What the session's full resync waits for: see events.SyncDecided."""
        capabilities = session.told.capabilities
        joins = not session.needs_socket and self._room() > 0 and self._reads in capabilities
        if joins and self.target is SnapshotTarget.DISK and self.is_awaited:
            return "joined"
        if self.target is not None or self.other_child_runs or session not in self._next_in_line():
            return "next"
        is_free = self.state is SnapshotState.NONE
        if is_free and self._options.diskless and Capability.EOF in capabilities:
            return "delay" if self._options.diskless_delay_s > 0 else "now"
        return "now"

    @property
    def is_awaited(self) -> bool:
        """Does somebody wait for the running child's end?"""
        return any(session.state is SessionState.WAIT_SNAPSHOT_END for session in self._all())

    # ------------------------------------------------------------------ its course

    def plan(self, now: float) -> None:
        """Order the next one, if it is due."""
        due_at = self.due_at()
        if due_at is None or now < due_at:
            return
        target, group = self._next_group(self._next_in_line())
        self._move(SnapshotTrigger.ORDER)
        self._ordered_target, self._ordered_ids = target, tuple(session.id for session in group)
        self._events.append(StartSnapshot(target, self._ordered_ids))

    def due_at(self) -> float | None:
        """When the next one may start; None if none is wanted or the place is taken."""
        waiting = self._next_in_line()
        if not waiting or self.state is not SnapshotState.NONE or self.other_child_runs:
            return None
        options = self._options
        oldest = min(session.waiting_since for session in waiting)
        enough = 0 < options.diskless_max_replicas <= len(waiting) or len(waiting) == self._room()
        if self._next_group(waiting)[0] is SnapshotTarget.DISK or enough or not options.diskless:
            return oldest
        return oldest + options.diskless_delay_s

    def begin(self, cut: Offset) -> list[Session]:
        """The child that was ordered is being forked at `cut`; whom it serves. If that is nobody, there is no child."""
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
        """The child has ended, or could not be forked: where it wrote to, None if it never began, and whom that
        concerns: those it served, or who it was ordered for."""
        target = self.target
        if target is not None:
            concerned = [session for session in self._all() if session.state is SessionState.WAIT_SNAPSHOT_END]
        else:
            concerned = [session for session in self._waiting() if session.id in self._ordered_ids]
        self._move(SnapshotTrigger.END)
        self.target = self.cut = None
        return target, concerned

    def stop_unless(self, is_wanted: bool) -> None:
        """Stop the child if nobody waits for it any more (Redis kills it too); `is_wanted`: somebody does whose
        connection to it is gone."""
        if self.state is SnapshotState.RUNNING and not self.is_awaited and not is_wanted:
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
        """Those of the waiting for whom there is room, longest waiting first, that want what the first wants."""
        waiting = sorted(self._waiting(), key=lambda session: session.waiting_since)
        return [session for session in waiting if session.told.excluded == waiting[0].told.excluded][: self._room()]

    def _next_group(self, waiting: list[Session]) -> tuple[SnapshotTarget, list[Session]]:
        """Where the next snapshot goes, and who of those that wait has it."""
        diskless = self._options.diskless
        fit = [s for s in waiting if s.needs_socket or (diskless and Capability.EOF in s.told.capabilities)]
        if len(fit) == len(waiting) or any(session.is_rdb_channel for session in waiting):
            return SnapshotTarget.SOCKETS, fit
        return SnapshotTarget.DISK, waiting

    def _move(self, trigger: SnapshotTrigger) -> None:
        self.state = SNAPSHOT.after(self.state, trigger)
