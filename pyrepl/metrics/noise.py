"""Which lines of text logs speak of replication, and which of those tell nothing that is counted.

A line that speaks of it and is neither a sentence (sentences.py) nor one of these is one that a newer server words
anew, or that nobody has met: it is kept and counted apart, as what it tells may be missing in every number. Lines that
speak of other things are ignored.
"""

from __future__ import annotations

import re
from typing import Final

SPEAKS: Final = (
    r"(?i)\b(?:master|primary|replicas?|replicaof|slaves?|psync|re-?sync\w*|sync|synchroniz\w+|replication|backlog"
    r"|failover|(?:rdb|main|dual)[ -]?channel|bgsave for)\b"
)
"""RE2: the words by which a line speaks of replication."""

_NOISE: Final = (
    # The process and its neighbours.
    "WARNING ", "Warning: no config file", "Configuration loaded", "DB loaded from", "DB saved on disk",
    "Possible SECURITY ATTACK",
    # Mailboxes have members and resyncs of their own.
    "Mailboxes: ",
    # A sync under way, between two steps that are counted.
    "MASTER <-> REPLICA sync started", "MASTER <-> REPLICA sync: Flushing old data",
    "MASTER <-> REPLICA sync: Swapping active DB", "MASTER <-> REPLICA sync: Discarding",
    "MASTER <-> REPLICA sync: Skipping flush", "MASTER <-> REPLICA sync: RDB version or signature",
    "MASTER <-> REPLICA sync: Starting AOF", "Master <-> REPLICA sync: Master accepted a Partial Resynchronization",
    "Non blocking connect for SYNC fired", "Master replied to PING", "(Non critical) Master does not understand",
    "Master does not understand REPLCONF", "Master answers PING with", "Master does not support PSYNC",
    "Unexpected reply to PSYNC from master", "Retrying with SYNC", "Trying MASTER ", "After loading RDB, replica will",
    "Received first reply from master", "Aborting rdb channel sync while loading", "Psync established after rdb load",
    "Dual channel sync - psync established",
    "Replica main thread ", "Error downloading RDB", "Loading the RDB and finalizing master-replica sync",
    "Replica is about to load the RDB",
    "Removing the RDB file", "Reused RDB file from master", "Sending RDB version ", "Skipping diskless-load because",
    "Failed to stream local replication buffer", "Restarting AOF after becoming master", "Dual channel capability",
    # A master that makes and sends a snapshot.
    "Delay next BGSAVE for", "Current BGSAVE has socket target", "Can't attach the replica to the current BGSAVE",
    "No BGSAVE in progress, but", "BGSAVE for replication", "SYNC failed. ", "Diskless rdb transfer, ",
    "RDB transfer completed, rdb only", "Background saving, persistence disabled, last replica", "Add rdb replica ",
    "Attach replica rdb client", "Remove psync waiting replica", "Postpone RDB client", "Replica main channel failed",
    "The replica of client ", "Write error sending ", "Read error sending DB to replica", "Sending replica ",
    "Replica connected, will", "Lagging replica ",
    # A stream that flows.
    "Caching the disconnected master", "Discarding previously cached master", "Discarding the cached master",
    "Before turning into a replica", "Changing replication IDs", "Master sent the ", "== CRITICAL == ",
    "This replica panicked", "Replica generated a reply", "Replica is applying a command", "Replica was unable to",
    "REPLICAOF would result", "Unblocking master client",
    # Roles, failover, the end.
    "Stop replication and turning", "Failover aborted", "Failover finished", "Failover target rejected",
    "FAILOVER to any replica aborted", "Perform auto failover", "Unable to find a replica to perform",
    "Unable to perform auto failover", "Unpaused before failover", "Waiting for replicas before",
    "Waiting for master", "Wait for replicas", "Manual failover ", "Failover auth ", "Failover election ",
    "Start of election", "Starting a failover election", "Configuration change detected",
)  # fmt: skip
"""How such lines begin, in Redis's words; Valkey says PRIMARY where Redis says MASTER."""
_COUNTS: Final = r"\d+ of \d+ replicas are in sync when shutting down|.* clients connected \(\d+ replicas\)"
_PROGRESS: Final = r"(?:MASTER|PRIMARY) <-> REPLICA sync: \d+ of \d+ bytes"
_OFFSET: Final = r"Replica \S+ asks for synchronization but with a wrong offset"


def _all_words() -> tuple[str, ...]:
    theirs = tuple(
        begin.replace("MASTER", "PRIMARY").replace("Master", "Primary").replace("master", "primary") for begin in _NOISE
    )
    return tuple(dict.fromkeys((*_NOISE, *theirs)))


NOISE: Final = rf"^(?:{'|'.join((_COUNTS, _PROGRESS, _OFFSET, *map(re.escape, _all_words())))})"
"""RE2: the lines that tell nothing that is counted."""
