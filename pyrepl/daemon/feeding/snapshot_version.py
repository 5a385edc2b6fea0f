"""Decides which RDB version the snapshot for a group of replicas is written in; `replicas` asks before each fork.

Not here: which versions there are (rdb/versions), what a replica told of itself (replication/session).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyrepl.keyspace.snapshot import needs_version
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.rdb.types.stream import IDMP_VERSIONS
from pyrepl.rdb.versions import DEFAULT_VERSION, Vendor, Version
from pyrepl.replication.dialects import Capability, common_capabilities
from pyrepl.replication.replconf import Exclusion
from pyrepl.replication.session import Session


def version_for(node: Node, sessions: Sequence[Session], log: Callable[[Event], None]) -> Version | None:
    """The version to write, or None for the one that the directive `rdb-version` sets.

    Without the directive this is the lowest version that can hold the data, as every reader knows low versions. Two
    kinds of data need a higher one, and Redis and Valkey differ there. Field TTLs: a Valkey 9, which is known by its
    `REPLCONF version`, refuses Redis's version 12, and gets Valkey's own. Idempotency ids of streams: only version 13
    holds them; a replica that did not say that it reads 13 would refuse the whole snapshot, so it gets the streams
    without the ids. `log` is told in both cases. A snapshot without keys needs no such version.

    `sessions` are the replicas that the snapshot is for, at least one; all want the same left out.
    """
    if node.settings.rdb_version is not None:
        return None
    if Exclusion.DATA in sessions[0].told.excluded:
        return DEFAULT_VERSION
    common = common_capabilities(session.told.capabilities for session in sessions)
    reader = Vendor.VALKEY if Capability.READS_80 in common else Vendor.REDIS
    version = needs_version(node.keyspace, reader=reader, idmp=Capability.READS_13 in common)
    if reader is Vendor.VALKEY and version != DEFAULT_VERSION:
        log(events.SnapshotVersionChosen(sessions[0].address, version.number, "it said that it is a Valkey 9"))
    elif version in IDMP_VERSIONS:
        log(events.SnapshotVersionChosen(sessions[0].address, version.number, "it said that it reads this"))
    elif needs_version(node.keyspace, idmp=True) in IDMP_VERSIONS:
        log(events.IdempotencyIdsLeftOut(sessions[0].address))
    return version
