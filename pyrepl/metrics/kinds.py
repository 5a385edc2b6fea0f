"""The vocabulary of canonical events: what can happen, whose part speaks, and the order of what bears one time.

The sentences of text logs that mean each kind are in sentences.py, the records of pyrepl's event log in records.py.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from pyrepl.replication.psync import Cause


class End(enum.StrEnum):
    """Whose part of replication an event belongs to."""

    MASTER = "master"
    REPLICA = "replica"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind: who speaks, and its meaning. Its rank is its place in KINDS."""

    name: str
    end: End
    meaning: str


_M, _R, _N = End.MASTER, End.REPLICA, End.NODE

KINDS: Final[tuple[EventKind, ...]] = (
    EventKind("start", _N, "the process begins; version"),
    EventKind("listening", _N, "port and mode are known"),
    EventKind("link_lost", _R, "the link to the master ended; cause"),
    EventKind("replica_cut", _M, "a replica's connection is being cut by us; cause, output_buffer_bytes"),
    EventKind("replica_lost", _M, "a replica's connection ended; cause"),
    EventKind("role_master", _N, "became a master"),
    EventKind("role_replica", _N, "became a replica; peer"),
    EventKind("ids_changed", _N, "a new replication id; replid, offset where the old one ends"),
    EventKind("connecting", _R, "the link to the master is opened; peer"),
    EventKind("sync_started", _R, "the handshake begins"),
    EventKind("connect_failed", _R, "the master could not be reached, or refused; cause, detail"),
    EventKind("asked", _M, "a replica asks for synchronization; peer, and what it asked for where told"),
    EventKind("asks", _R, "the PSYNC that was sent; asked_replid, asked_offset"),
    EventKind("asks_without_id", _R, "the same without a position to continue from"),
    EventKind("refused_id", _M, "not continued: another history; asked_replid"),
    EventKind("refused_fork", _M, "not continued: past the fork of the former id; asked_offset, offset"),
    EventKind("refused_backlog", _M, "not continued: not, or not any more, in the backlog; asked_offset, gap_bytes"),
    EventKind("refused_ahead", _M, "not continued: the replica is ahead of the master"),
    EventKind("not_served", _M, "neither continued nor synchronized now; detail"),
    EventKind("continued", _M, "verdict: goes on; bytes of backlog sent, offset of the first"),
    EventKind("two_channels", _M, "verdict: full resync with a second connection"),
    EventKind("full", _M, "verdict: full resync; cause where told"),
    EventKind("got_full", _R, "verdict: full resync; replid, offset"),
    EventKind("got_two_channels", _R, "verdict: full resync with a second connection"),
    EventKind("got_continue", _R, "verdict: goes on"),
    EventKind("backlog_created", _N, "a backlog was made; replid, backlog_size"),
    EventKind("backlog_resized", _N, "backlog_size"),
    EventKind("backlog_freed", _N, "the backlog was given back"),
    EventKind("bgsave_wait", _M, "the snapshot for a sync is put off: delay, or it must wait for another"),
    EventKind("bgsave_shared", _M, "the sync takes a snapshot that is under way"),
    EventKind("bgsave_for_sync", _M, "a snapshot for waiting replicas; target, channel"),
    EventKind("child_start", _N, "a snapshot child was forked; pid, target"),
    EventKind("delivery_start", _M, "a replica is being sent its snapshot; bytes"),
    EventKind("receiving", _R, "the snapshot begins to come; bytes (null when not known before), target"),
    EventKind("receiving_both", _R, "two channels: the stream is held while the snapshot comes"),
    EventKind("child_memory", _N, "memory_bytes of a child"),
    EventKind("child_end", _N, "a snapshot child ended well; bytes, keys, duration_ms"),
    EventKind("child_failed", _N, "a snapshot child failed; detail"),
    EventKind("delivered", _M, "a replica has its whole snapshot; bytes"),
    EventKind("flushing", _R, "old data goes"),
    EventKind("load_start", _R, "the snapshot is being loaded"),
    EventKind("load_version", _R, "version of the one who made it"),
    EventKind("loaded", _R, "it is loaded; keys"),
    EventKind("buffer_full", _R, "the limit of what is held of the stream is reached; bytes"),
    EventKind("catch_up", _R, "what was held of the stream is applied now; bytes"),
    EventKind("catch_up_end", _R, "it is applied; bytes"),
    EventKind("load_failed", _R, "the snapshot could not be loaded; cause, detail"),
    EventKind("sync_failed", _R, "the sync ended before the stream began; cause, detail"),
    EventKind("synced", _R, "the stream flows after a full resync"),
    EventKind("online", _M, "the replica is fed the stream"),
    EventKind("buffer_peak", _N, "largest output buffer (master) or held stream (replica) of a sync"),
    EventKind("sample", _N, "state now and then: offset, backlog, rates"),
    EventKind("replica_sample", _M, "state of one replica: lag, output buffer"),
    EventKind("failover", _N, "a failover begins, ends or is given up; detail"),
    EventKind("dropped", _N, "the event log lost events, its queue was full; keys: how many"),
    EventKind("stop", _N, "the process ends"),
)

RANK: Final[dict[str, int]] = {kind.name: place for place, kind in enumerate(KINDS)}
END: Final[dict[str, str]] = {kind.name: kind.end.value for kind in KINDS}

RDB_VERSION: Final = "rdb_version"
"""A snapshot of a version that the replica does not read: the one failure told apart from load_failed."""

CAUSES: Final[dict[str, str]] = {
    **{cause.value: "as the daemon's own code" for cause in Cause},
    RDB_VERSION: "the replica does not read the snapshot's RDB version",
    "role_change": "REPLICAOF, a failover or a new master",
    "shutdown": "one of the ends was ended in order",
    "killed": "cut by CLIENT KILL",
    "unknown": "the log does not tell",
}
"""Every code that a column `cause` or `failure` can hold."""
