"""Every record of the event log: what happened, with the numbers that tell what it cost.

What a field means and its unit stand once for all records in fields.py. A new field or record needs nothing else; one
that changes its meaning or goes raises schema.VERSION.

One sync, seen from both ends (`end` says from which), in this order; from psync_asked on all carry the same `sync`:

    replica   link_connecting  psync_asked  psync_decided  delivery_started  delivery_ended  load_started  load_ended
              (catch_up_started  catch_up_ended)  buffer_peak  online  link_up
    master    psync_asked  psync_decided  delivery_started  delivery_ended  online  catch_up_ended  buffer_peak

`psync_decided` is the verdict; a partial resync goes from there to online at once. A sync on two connections has
rdb_channel_opened at both ends. One that fails ends in link_down on the replica, in replica_down on the master.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.observability.eventlog.record import Note, Record, State


@final
class Head(Record):
    """What stands on every line, whatever happened."""

    v: int
    at_us: int
    mono_us: int
    seq: int
    node: str
    run: str
    role: str
    replid: str
    offset: int


# --- the node ------------------------------------------------------------------------------------------------------


@final
class NodeStarted(Record):
    """The process began; `seq` is 1."""

    version: str
    pid: int
    port: int


@final
class SettingsInForce(State):
    """The settings that decide what a sync costs: after the start, and whenever CONFIG SET changed something."""

    backlog_size_bytes: int
    backlog_ttl_s: int
    output_hard_bytes: int
    output_soft_bytes: int
    output_soft_s: int
    sync_buffer_limit_bytes: int
    repl_timeout_s: int
    diskless: bool
    diskless_delay_s: int
    diskless_load: str
    rdb_channel: bool
    dual_channel: bool
    max_concurrent_syncs: int
    sync_max_bytes_per_s: int
    maxmemory_bytes: int
    sample_period_s: int


@final
class NodeReady(Record):
    """What was on disk is loaded, clients are served."""

    keys: int
    startup_ms: int


@final
class NodeStopped(Record):
    """The last line of a run that ended in order."""

    uptime_s: float


@final
class RoleChanged(Record):
    """Master or replica, or a replica of another master; `role` is the new one, `peer` the new master."""

    role_before: str
    cause: str
    peer: str | None = None


@final
class ReplidChanged(Note):
    """The node's stream has another replication id, `replid`. `replid2` is the old one, good up to `fork_offset`."""

    replid_before: str
    replid2: str | None = None
    fork_offset: int | None = None


@final
class FailoverStep(Record):
    """FAILOVER: requested, begun, done, given_up; taken_over at the other end."""

    step: str
    peer: str | None = None
    error: str | None = None


# --- the link to our master ----------------------------------------------------------------------------------------


@final
class LinkConnecting(Record):
    """A connection to the master is tried."""

    peer: str
    attempt: int


@final
class LinkUp(Record):
    """The stream flows."""

    peer: str
    sync: str
    mode: str
    down_ms: int


@final
class LinkDown(Record):
    """The link broke, in the stream or on the way to it."""

    peer: str
    phase: str
    cause: str
    detail: str | None = None
    by_bytes: int | None = None
    sync: str | None = None
    up_ms: int | None = None
    error: str | None = None


@final
class RetryPlanned(Record):
    """A try that failed; in `retry_ms` the node connects to its master again."""

    peer: str
    retry_ms: int
    failures: int
    error: str


# --- a sync, at either end -----------------------------------------------------------------------------------------


@final
class PsyncAsked(Record):
    """The replica asks for a partial resync, or a full one. The first line of a sync at either end, with its name."""

    end: str
    sync: str
    peer: str
    replica: str
    conn: str
    asked_replid: str | None = None
    asked_offset: int | None = None
    handshake_ms: int | None = None
    peer_version: str | None = None


@final
class PsyncDecided(Record):
    """The master's verdict. On the replica, `cause` is what can be told from the answer."""

    end: str
    sync: str
    peer: str
    verdict: str
    cause: str | None = None
    detail: str | None = None
    by_bytes: int | None = None
    missing_bytes: int | None = None
    wait: str | None = None
    snapshot_offset: int | None = None
    backlog_start_offset: int | None = None
    backlog_bytes: int | None = None
    backlog_size_bytes: int | None = None
    error: str | None = None


@final
class RdbChannelOpened(Record):
    """The sync takes a second connection, for the snapshot."""

    end: str
    sync: str
    peer: str
    dialect: str | None = None
    conn: str | None = None


@final
class DeliveryStarted(Record):
    """The snapshot is on its way to this replica. A snapshot in a file: the child is done, and the file is sent."""

    end: str
    sync: str
    peer: str
    mode: str
    snapshot_offset: int
    wait_ms: int
    snapshot: int | None = None
    total_bytes: int | None = None


@final
class DeliveryEnded(Record):
    """All of the snapshot was sent or received, or no more of it will be."""

    end: str
    sync: str
    peer: str
    ok: bool
    delivery_ms: int
    delivered_bytes: int | None = None
    error: str | None = None


@final
class LoadStarted(Record):
    """The replica reads the snapshot into its data set: from the file that came, or while it comes."""

    sync: str
    peer: str
    how: str


@final
class LoadEnded(Record):
    """The snapshot is the replica's data, or it could not be loaded."""

    sync: str
    peer: str
    ok: bool
    load_ms: int
    keys: int | None = None
    expired_keys: int | None = None
    detail: str | None = None
    error: str | None = None


@final
class BufferFull(Record):
    """The replica holds so much of the stream while its snapshot loads that it reads no more of it for now."""

    sync: str
    peer: str
    limit_bytes: int


@final
class BufferPeak(Record):
    """The most that was held for this sync: `sync` buffer on the replica, `output` buffer on the master."""

    end: str
    sync: str
    peer: str
    buffer: str
    peak_bytes: int
    limit_bytes: int


@final
class CatchUpStarted(Record):
    """The snapshot is loaded, what came of the stream meanwhile is applied."""

    sync: str
    peer: str
    buffered_bytes: int


@final
class CatchUpEnded(Record):
    """The replica has all that the stream had when its snapshot was loaded (on the master: acknowledged it)."""

    end: str
    sync: str
    peer: str
    catch_up_ms: int
    applied_bytes: int


@final
class Online(Record):
    """The sync is done: the stream flows behind the snapshot, or goes on where it was cut."""

    end: str
    sync: str
    peer: str
    mode: str
    sync_ms: int


# --- our replicas, our snapshots, our backlog ----------------------------------------------------------------------


@final
class ReplicaDown(Record):
    """The connection of a replica ended: cut by us (`by_us`), or gone. `phase` is where its sync stood."""

    peer: str
    phase: str
    cause: str
    by_us: bool
    lag_bytes: int
    output_bytes: int
    detail: str | None = None
    by_bytes: int | None = None
    sync: str | None = None
    online_ms: int | None = None


@final
class SnapshotStarted(Record):
    """A child was forked that writes a snapshot. The delivery_started lines with its number tell for whom."""

    snapshot: int
    purpose: str
    target: str
    child_pid: int
    keys: int
    fork_us: int
    snapshot_offset: int


@final
class SnapshotEnded(Record):
    """The child is done. `private_bytes` is what copy-on-write cost."""

    snapshot: int
    purpose: str
    target: str
    ok: bool
    snapshot_ms: int
    keys: int
    written_bytes: int
    private_bytes: int
    signal: int | None = None
    error: str | None = None


@final
class BacklogCreated(Record):
    """The node keeps its stream in a backlog from now on."""

    backlog_size_bytes: int


@final
class BacklogResized(Record):
    """repl-backlog-size was changed."""

    backlog_size_bytes: int
    backlog_size_before_bytes: int
    backlog_start_offset: int


@final
class BacklogFreed(Record):
    """The backlog is freed: no replica for repl-backlog-ttl (ttl), or a full resync replaces the data (full_resync)."""

    cause: str


# --- samples -------------------------------------------------------------------------------------------------------


@final
class Sample(State):
    """The state of the node, each event-log-sample-period."""

    backlog_start_offset: int
    backlog_bytes: int
    backlog_size_bytes: int
    replicas: int
    output_bytes: int
    sync_buffer_bytes: int
    rss_bytes: int
    keys: int
    clients: int
    writes_per_s: float
    stream_bytes_per_s: float
    link_up: bool | None = None
    link_idle_s: float | None = None


@final
class ReplicaSample(State):
    """The state of one replica, with each `sample`."""

    peer: str
    phase: str
    lag_bytes: int
    lag_s: float
    output_bytes: int
    sync: str | None = None


@final
class StreamSample(State):
    """The subscribers of change streams, with each `sample` of a node that has a stream port."""

    subscribers: int
    subscribers_ever: int
    subscribers_rejected: int
    subscribers_cut: int
    rows_per_s: float
    unread_bytes: int


# --- mailboxes that several nodes keep -----------------------------------------------------------------------------


@final
class MailboxNoted(Record):
    """Something happened to mailboxes; `cause` is [its word](mailbox-words.md), `detail` the mailbox or the node."""

    cause: str
    detail: str


@final
class MailboxLinkUp(Record):
    """Another member is linked; `peer` is its name."""

    peer: str


@final
class MailboxLinkDown(Record):
    """Another member is linked no more; `peer` is its name."""

    peer: str
    error: str


@final
class EventsDropped(Note):
    """So many records before this one were not written: the disk was full or slow. Their `seq` are missing."""

    dropped: int


RECORDS: Final[tuple[type[Record], ...]] = tuple(
    kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Record) and kind not in (Record, State, Note, Head)
)
"""Every record above, in order."""
