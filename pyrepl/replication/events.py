"""What the machines of this room tell their shells. Plain records; how they are worded is the log's business.

The link (replica side) and the sessions and the roster (master side) have separate alphabets. A shell that gets a
record does what the record's docstring says, in the order of the list.
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
    """Two channels: the second connection is made, and the master waits with its snapshot, as for others to come."""
    TRANSFER = "transfer"
    LOADING = "loading"
    CATCHING_UP = "catching_up"
    """Two channels: the snapshot is loaded, and what came of the stream meanwhile is applied slice by slice."""
    CONNECTED = "connected"


class Connect(Frozen):
    """Open a connection to the master; then call `connected`, or `lost` when it cannot be had."""

    host: str
    port: int


class Disconnect(Frozen):
    """Close the connection, at once. `lost` need not be called for it."""


class StateChanged(Frozen):
    """For the log: the link went from one phase to the next."""

    before: LinkState
    state: LinkState


class Tolerated(Frozen):
    """For the log: the master answered a step of the handshake with an error that does no harm."""

    step: str
    text: str


class SyncAsked(Frozen):
    """For the log: the PSYNC that was sent."""

    request: Request


class OpenRdbChannel(Frozen):
    """Open a second connection to the same master, for the snapshot; then call `rdb_connected`, or `rdb_lost`.

    Its bytes go through `rdb_receive` and `rdb_data_to_send`. `dialect` is for the log.
    """

    host: str
    port: int
    dialect: Dialect


class SnapshotAsked(Frozen):
    """The next bytes for the second connection ask for the snapshot there (`rdb_data_to_send`)."""


class CloseRdbChannel(Frozen):
    """Close the second connection, or give up opening it, at once. `rdb_lost` need not be called for it."""


class SyncBufferFull(Frozen):
    """For the log: so much of the stream came while the snapshot does that the main connection is not read for now."""

    limit_bytes: int


class CatchUpBegins(Frozen):
    """For the log: the snapshot is loaded; `buffered_bytes` of the stream that came meanwhile are applied now."""

    buffered_bytes: int


class FullResyncAnnounced(Frozen):
    """`+FULLRESYNC` came: the master will make or is making the snapshot. Nothing is to be done yet.

    On two connections it comes on the second, and in Valkey's dialect as `$ENDOFF:`.
    """

    replid: ReplId
    cut: Offset
    reason: Reason


class FullResyncBegins(Frozen):
    """The snapshot's first bytes follow. Choose how to load now; see `Link.keep_old_data`. This and the two below count
    only while `Link.may_load`.

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
    """For the log: the (main) connection is gone, the snapshot is whole. It is loaded to its end, then we ask for the
    rest; Lost comes once that is done."""

    reason: Reason
    text: str


class Continued(Frozen):
    """Partial resync: the stream goes on at `held`. `new_replid` is set if its name changed (Role.continued)."""

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
    """The stream flows, after a full resync or a partial one."""

    full: bool


class Lost(Frozen):
    """The link broke in phase `state`. Throw away what a snapshot left half-done. `text` is for people."""

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


class SyncRequested(Frozen):
    """The replica asks to sync: call `roster.request_sync(session, request, now)`."""

    request: Request


class WentOnline(Frozen):
    """For the log: the replica is in step from here on. `full`: after a snapshot, `partial` is the bytes it lacked."""

    full: bool
    missing_bytes: int = 0


class SendFile(Frozen):
    """The snapshot file is ready: send its `size_bytes` to this replica after `data_to_send`, then `file_sent`."""

    size_bytes: int


class CloseSession(Frozen):
    """Close this replica's connection (after what is in `data_to_send`, if `flush`)."""

    reason: Reason
    text: str
    flush: bool = False


SessionEvent = SyncRequested | WentOnline | SendFile | CloseSession


class SyncDecided(Frozen):
    """For the log: what the replica with this id asked and got. `reason` None means it was continued."""

    session_id: int
    request: Request
    reason: Reason | None
    missing_bytes: int
    wait: str
    """What a full resync waits for: joined (a running snapshot), delay, next, now, rdb_channel (a second connection,
    which then has an RdbChannelAsks of its own); empty if continued or refused."""


class RdbChannelAsks(Frozen):
    """For the log: the second connection of a replica wants its snapshot, which waits as in SyncDecided.

    `main_id` is the replica's first connection, None where it has not said so yet.
    """

    session_id: int
    dialect: Dialect
    main_id: int | None
    wait: str


class StreamAttached(Frozen):
    """For the log: a replica's main connection has the stream from `cut` on, its RDB connection the snapshot."""

    session_id: int
    cut: Offset


class PsyncWaitOver(Frozen):
    """For the log: a replica took its snapshot and never asked for the stream behind it; it is kept no longer."""

    session_id: int
    reason: Reason


class StartSnapshot(Frozen):
    """Start a child for these replicas: `roster.snapshot_started`, then fork before any command is executed.

    The list that snapshot_started returns counts, as replicas may come and go in between. With target SOCKETS each
    replica's `data_to_send` goes out before the child's bytes.
    """

    target: SnapshotTarget
    session_ids: tuple[int, ...]


class StopSnapshot(Frozen):
    """Nobody waits for the running child any more: kill it (then `roster.snapshot_ended(ok=False)` as it is reaped)."""


class BacklogCreated(Frozen):
    """The stream is kept from now on. `is_new`: under a new id, since the first replica came."""

    replid: ReplId
    is_new: bool


class BacklogFreed(Frozen):
    """The stream is not kept any more, and has a new id: no replica came for `after_s` seconds (repl-backlog-ttl), or
    (None) our own data is about to go."""

    after_s: int | None
    replid: ReplId


KeepingEvent = BacklogCreated | BacklogFreed

RosterEvent = SyncDecided | RdbChannelAsks | StreamAttached | PsyncWaitOver | StartSnapshot | StopSnapshot
