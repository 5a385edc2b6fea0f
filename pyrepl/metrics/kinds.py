"""What happens in the canonical events: the event log's records, what only text logs say, and their order in a cycle.

A link goes round and round: it begins, is decided, delivers, loads, is online, ends, and begins again. RANK is a kind's
place in that round. Events that bear one time are put in order by it, going on from where the link stood (story.py), so
that lines in any order give the same result. The sentences of text logs are in sentences.py.
"""

from __future__ import annotations

from typing import Final

from pyrepl.replication.psync import Cause

JSON: Final = "json"
TEXT: Final = "text"
"""Forms of logs: an event log, and what a server logs for people."""

TEXT_ONLY: Final[dict[str, str]] = {
    "bgsave_for_sync": "a snapshot is begun for all replicas that wait; target, dialect",
    "bgsave_shared": "the replica that asked last takes the snapshot that is under way",
    "child_memory": "copy-on-write of the snapshot child that logs it; child_pid, private_bytes",
    "output_limit": "a client was cut for its output buffer; output_bytes",
    "stopping": "the process was told to end",
}
"""Kinds that pyrepl's event log tells by fields of its records, and text logs by lines of their own."""

CYCLE: Final = (
    "link_connecting",
    "psync_asked",
    "psync_decided",
    "rdb_channel_opened",
    "bgsave_shared",
    "bgsave_for_sync",
    "delivery_started",
    "load_started",
    "load_ended",
    "delivery_ended",
    "buffer_full",
    "catch_up_started",
    "catch_up_ended",
    "buffer_peak",
    "online",
    "link_up",
    "output_limit",
    "link_down",
    "replica_down",
    "role_changed",
)
"""One round of a link, as either end logs it."""

RANK: Final[dict[str, int]] = {kind: place for place, kind in enumerate(CYCLE)}

SAMPLES: Final = frozenset({"sample", "replica_sample", "stream_sample"})
"""Kinds that go into the table samples."""

RDB_VERSION: Final = "rdb_version"
"""A snapshot of a version that the replica does not read: the one failure told apart from load_failed."""

CAUSES: Final[dict[str, str]] = {
    **{cause.value: "as the daemon's own code" for cause in Cause},
    RDB_VERSION: "the replica does not read the snapshot's RDB version",
    "role_change": "REPLICAOF, a failover or a new master",
    "shutdown": "one of the ends was ended in order",
    "unknown": "the log does not tell",
}
"""Every code that a column `cause` or `failure` of a result can hold."""
