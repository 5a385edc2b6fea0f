"""What the log says of a request to sync that gets a snapshot, in Redis's lines: why it is not continued, and what it
waits for.

Not here: when it is said (daemon/feeding/replicas).
"""

from __future__ import annotations

from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.replication.events import SessionState, SyncDecided
from pyrepl.replication.history import History
from pyrepl.replication.psync import Cause


def full_resync_lines(replica: str, event: SyncDecided, history: History) -> list[Event]:
    """All lines of a decision for a full resync; `replica` is its address."""
    refusal = _refusal(replica, event, history)
    said: list[Event] = [refusal] if refusal is not None else []
    said.append(events.FullResyncRequested(replica, str(event.reason)))
    if event.wait == "rdb_channel":
        said.append(events.RdbChannelGranted(replica))
    return said + wait_lines(event.wait)


def wait_lines(wait: str) -> list[Event]:
    """What a full resync waits for (see SyncDecided.wait), if Redis has a line for that (`syncCommand`, 8.2)."""
    match wait:
        case "joined":
            return [events.SyncShares()]
        case "next":
            return [events.SyncAfterTransfer()]
        case "next_file":
            return [events.SyncAfterSnapshot()]
        case "other_child":
            return [events.SyncAfterOtherChild()]
        case "delay":
            return [events.SyncDelayed()]
    return []


def rdb_channel_line(replica: str, is_delivered: bool) -> Event:
    """An RDB connection has ended: with the whole snapshot, as it should, or without."""
    return events.RdbChannelDone(replica) if is_delivered else events.RdbChannelLost(replica)


def timed_out_line(replica: str, phase: str) -> Event:
    """A replica is cut for its silence, or for taking nothing; `phase` is the detail of the reason."""
    before_stream = phase in (SessionState.WAIT_SNAPSHOT_END.wire_name, "rdb_channel")
    return events.ReplicaTimedOut(replica, "full sync" if before_stream else "streaming sync")


def _refusal(replica: str, event: SyncDecided, history: History) -> Event | None:
    """Why it is not continued."""
    assert event.reason is not None
    cause = event.reason.cause
    asked = event.request.held + 1
    if cause is Cause.ID_MISMATCH and event.request.replid is not None:
        return events.PartialRefusedById(event.request.replid, history.replid, history.replid2)
    if cause is Cause.PAST_FORK:
        return events.PartialRefusedByFork(asked, (history.fork or 0) + 1)
    if cause in (Cause.OUT_OF_BACKLOG, Cause.NO_BACKLOG):
        return events.PartialRefusedByBacklog(replica, asked)
    return events.ReplicaAheadOfUs(replica) if cause is Cause.ABOVE_OFFSET else None
