"""What the machines of this room tell their shells: plain records, and the states that they speak of.

There are three sets, listed in the unions LinkEvent (replica's side), SessionEvent and RosterEvent (master's side). A
shell takes them out by `events()` and does what each record's docstring says, in the order of the list. A record "for
the log" asks for nothing else.

Not here: how a record is worded for people and programs (observability/events.py, observability/eventlog).
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from pyrepl.frozen import Frozen
from pyrepl.replication.dialects import Dialect
from pyrepl.replication.psync import Reason, Request
from pyrepl.units import Offset, ReplId


class LinkState(enum.StrEnum):
    """Where the link to a master stands. The value is the phase named in timeouts and logs."""

    IDLE = "idle"
    WAITING = "waiting"
    CONNECTING = "connecting"
    HANDSHAKE = "handshake"
    PAIRING = "pairing"
    """Two channels: the second connection is made, or stands and waits for the master to begin its snapshot."""
    TRANSFER = "transfer"
    """The snapshot's cut is known; its bytes are awaited or come."""
    LOADING = "loading"
    """The snapshot is whole, and the shell still loads it."""
    CATCHING_UP = "catching_up"
    """Two channels: the snapshot is loaded, and the stream that came meanwhile is applied slice by slice."""
    CONNECTED = "connected"
    """The stream is applied as it comes."""


class Connect(Frozen):
    """Open a connection to the master; then call `connected`, or `lost` when it cannot be made."""

    host: str
    port: int


class Disconnect(Frozen):
    """Close the first connection at once. `lost` need not be called for it."""


class StateChanged(Frozen):
    """For the log: the link went from one phase to the next."""

    before: LinkState
    state: LinkState


class Tolerated(Frozen):
    """For the log: the master answered a step of the handshake with an error that does no harm."""

    step: str
    text: str


class SyncAsked(Frozen):
    """For the log: PSYNC was sent with this request."""

    request: Request


class OpenRdbChannel(Frozen):
    """Open a second connection to the same master, for the snapshot; then call `rdb_connected`, or `rdb_lost`.

    Its bytes go through `rdb_receive` and `rdb_data_to_send`. `dialect` is for the log.
    """

    host: str
    port: int
    dialect: Dialect


class SnapshotAsked(Frozen):
    """The request for the snapshot is the next that `rdb_data_to_send` returns; DEBUG REPL-PAUSE may wait here."""


class CloseRdbChannel(Frozen):
    """Close the second connection, or give up opening it, at once. `rdb_lost` need not be called for it."""


class SyncBufferFull(Frozen):
    """For the log: the buffered stream has reached `limit_bytes`, so the first connection is not read for now."""

    limit_bytes: int


class CatchUpBegins(Frozen):
    """For the log: the snapshot is loaded, and the `buffered_bytes` of stream that came meanwhile are applied next."""

    buffered_bytes: int


class FullResyncAnnounced(Frozen):
    """For the log: the master has stated the snapshot's cut, in `+FULLRESYNC`; its bytes follow, maybe much later.

    On two connections that line comes on the second one, in Valkey's dialect as `$ENDOFF:`. `reason` is as below.
    """

    replid: ReplId
    cut: Offset
    reason: Reason


class FullResyncBegins(Frozen):
    """The snapshot's first bytes follow: choose now how to load them, and call `Link.keep_old_data`. Ignore this event
    and the two below if `Link.may_load` is False.

    `total_bytes` is None for a diskless master. `reason` is why the master did not continue us, as far as we can tell.
    """

    replid: ReplId
    cut: Offset
    reason: Reason
    total_bytes: int | None


class SnapshotBytes(Frozen):
    """The next bytes of the snapshot: to an RdbReader, or to a file."""

    data: bytes


class SnapshotEnds(Frozen):
    """The snapshot is whole, `size_bytes` long. Finish loading, then call `loaded` or `load_failed`."""

    size_bytes: int


class LoadsOn(Frozen):
    """For the log: the first connection is gone, but the snapshot is whole. The load goes on to its end; then Lost
    follows, and the next PSYNC asks for the stream behind the snapshot."""

    reason: Reason
    text: str


class Continued(Frozen):
    """A partial resync is granted: the stream goes on at the cut `held`. `new_replid` is set if the stream has another
    id from there on: then our own id has to change (Role.continued)."""

    replid: ReplId
    held: Offset
    new_replid: ReplId | None


class Apply(NamedTuple):
    """Whole units of the stream: apply `commands`, append `raw` to our backlog, call `link.applied(end)`.

    `commands[i]` ends at byte `ends[i]` of `raw`. Never ends inside MULTI ... EXEC. REPLCONF, which is for the link
    alone, is in `raw` but not in `commands`, which may be empty. If command i cannot be applied:
    `link.applied(start + (ends[i-1] if i else 0))`, then `link.apply_failed`.
    """

    commands: list[list[bytes]]
    ends: list[int]
    raw: bytes
    start: int

    @property
    def end(self) -> int:
        """The cut behind these bytes."""
        return self.start + len(self.raw)


class LinkUp(Frozen):
    """The stream flows: after a full resync (`full`), or a partial one."""

    full: bool


class Lost(Frozen):
    """The link broke in phase `state`. Throw away a half-loaded snapshot. `text` is for people."""

    reason: Reason
    state: LinkState
    text: str


class TryAgain(Frozen):
    """For the log: the next Connect comes at `at` (monotonic seconds), `in_s` from now."""

    at: float
    in_s: float


LinkEvent = (
    Connect
    | Disconnect
    | StateChanged
    | Tolerated
    | SyncAsked
    | OpenRdbChannel
    | SnapshotAsked
    | CloseRdbChannel
    | SyncBufferFull
    | CatchUpBegins
    | FullResyncAnnounced
    | FullResyncBegins
    | SnapshotBytes
    | SnapshotEnds
    | LoadsOn
    | Continued
    | Apply
    | LinkUp
    | Lost
    | TryAgain
)


class SessionState(enum.StrEnum):
    """Where a replica stands on its master. The value is what INFO prints, but for the waits (see `wire_name`)."""

    HANDSHAKE = "handshake"
    WAIT_RDB_CHANNEL = "wait_rdb_channel"
    """The main connection of a pair, until the snapshot begins on the other one."""
    WAIT_SNAPSHOT_START = "wait_bgsave_start"
    WAIT_SNAPSHOT_END = "wait_bgsave_end"
    SEND_BULK = "send_bulk"
    SEND_BULK_AND_STREAM = "send_bulk_and_stream"
    """The main connection of a pair: the stream flows here, the snapshot on the other one."""
    ONLINE = "online"
    CLOSED = "closed"

    @property
    def wire_name(self) -> str:
        """As in `slave0:...,state=`: wait_bgsave, send_bulk, send_bulk_and_stream, online."""
        return "wait_bgsave" if self.value.startswith("wait_") else self.value


class Channel(enum.StrEnum):
    """Which part of a sync a replica's connection has. The value is Valkey's `slave0:...,type=`."""

    WHOLE = "replica"
    """All of it: one connection, or the main one of a pair once it is online."""
    MAIN = "main-channel"
    RDB = "rdb-channel"


class SnapshotTarget(enum.StrEnum):
    """Where a snapshot for replicas goes: to a file that is sent afterwards, or straight to their sockets."""

    DISK = "disk"
    SOCKETS = "socket"


class OtherChild(enum.StrEnum):
    """A child process that is not for replicas. They wait for its end, as a node has one child at a time."""

    BGSAVE = "bgsave"
    REWRITE = "rewrite"
    """It writes the base of an append-only file."""


class SyncRequested(Frozen):
    """The replica asks to sync: call `Roster.request_sync(session, request, now)`."""

    request: Request


class WentOnline(Frozen):
    """For the log: the replica is online. `full`: after a snapshot; otherwise it was continued and lacked
    `missing_bytes`."""

    full: bool
    missing_bytes: int = 0


class SendFile(Frozen):
    """The snapshot file is ready: send its `size_bytes` to this replica after `data_to_send`, then call `file_sent`."""

    size_bytes: int


class CloseSession(Frozen):
    """Close this replica's connection (after what is in `data_to_send`, if `flush`)."""

    reason: Reason
    text: str
    flush: bool = False


SessionEvent = SyncRequested | WentOnline | SendFile | CloseSession


class SyncDecided(Frozen):
    """For the log: what the replica with this id asked for, and what was decided. `reason` is None if it is continued,
    with `missing_bytes` of the stream to send; otherwise it is why it needs a full resync."""

    session_id: int
    request: Request
    reason: Reason | None
    missing_bytes: int
    wait: str
    """What a full resync waits for; empty if continued or refused:

        joined       the end of the snapshot that is being written to a file, and serves this replica too
        next         the next snapshot, as a child is writing one to sockets
        next_file    the next snapshot, as a child is writing one to a file, which cannot serve this replica
        other_child  the end of a child that writes no snapshot
        later        a snapshot that has room for it, and leaves out what it wants to be left out
        delay        repl-diskless-sync-delay
        now          nothing
        rdb_channel  its second connection, which then has an RdbChannelAsks of its own
    """


class RdbChannelAsks(Frozen):
    """For the log: the second connection of a replica wants its snapshot, which waits as in SyncDecided.

    `main_id` is the id of the replica's first connection, None in Valkey's dialect, where that is not known yet.
    """

    session_id: int
    dialect: Dialect
    main_id: int | None
    wait: str


class StreamAttached(Frozen):
    """For the log: a replica's main connection gets the stream from `cut` on, where the snapshot that its RDB
    connection takes ends."""

    session_id: int
    cut: Offset


class PsyncWaitOver(Frozen):
    """For the log: the stream behind a snapshot is kept no longer, as the replica did not ask for it in time, or it
    grew too large. `session_id` is that of the RDB connection."""

    session_id: int
    reason: Reason


class StartSnapshot(Frozen):
    """Make a snapshot for these replicas: call `Roster.snapshot_started`, then fork before any command is executed.

    Serve the list that snapshot_started returns, as replicas may have come and gone since. With target SOCKETS each
    replica's `data_to_send` goes out before the child's bytes.
    """

    target: SnapshotTarget
    session_ids: tuple[int, ...]


class StopSnapshot(Frozen):
    """No replica waits for the running child any more: kill it, unless the node itself has a use for what it writes.
    Call `Roster.snapshot_ended` when it is reaped."""


class BacklogCreated(Frozen):
    """The stream is kept from now on. `is_new`: under a new id, since the first replica came."""

    replid: ReplId
    is_new: bool


class BacklogFreed(Frozen):
    """The stream is not kept any more, and has the new id `replid`: no replica was attached for `after_s` seconds
    (repl-backlog-ttl), or, with `after_s` None, our own data is about to be replaced."""

    after_s: int | None
    replid: ReplId


KeepingEvent = BacklogCreated | BacklogFreed

RosterEvent = SyncDecided | RdbChannelAsks | StreamAttached | PsyncWaitOver | StartSnapshot | StopSnapshot
