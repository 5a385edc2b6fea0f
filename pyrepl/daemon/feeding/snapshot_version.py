"""Which RDB version the snapshot for some replicas is written in.

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
    """None: what `rdb-version` says. Otherwise the lowest version that holds the data, which every reader knows.

    Two kinds of data need more, and the vendors part there: field TTLs, where a Valkey 9, known by its `REPLCONF
    version`, refuses Redis's version 12; and idempotency ids of streams, which only version 13 holds: who is not
    known to read that gets the streams without them, as it would refuse the whole snapshot. `log` is told of either.
    A snapshot without keys needs no such version; `sessions` all want the same left out.
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
