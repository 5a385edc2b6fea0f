"""Why there were full resyncs on this master: counted by cause for INFO, and remembered for each replica.

A replica that comes back without a position cannot say why it needs a full resync, but we know how its last sync or
link ended: that is the cause. The roster remembers at each end, and recalls when it decides.

Not here: the verdict on a request (psync.py) and when it is asked for (roster.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.replication.events import SessionState
from pyrepl.replication.psync import FULL_RESYNC_CAUSES, Cause, Reason
from pyrepl.replication.session import Session

MAX_REMEMBERED: Final = 1024
"""Replicas whose last failure is kept, at most; the oldest goes first."""
# These ends can be why the next sync is a full one; others, as when we end the session ourselves, say nothing of it.
_WORTH_REMEMBERING: Final = frozenset(
    {Cause.LOAD_FAILED, Cause.TIMEOUT, Cause.OUTPUT_BUFFER, Cause.CONNECTION_LOST, Cause.SNAPSHOT_FAILED}
)


@final
class SyncCounters:
    """INFO stats: sync_full, sync_partial_ok, sync_partial_err as in Redis, and sync_full_<cause>, which is ours."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set all counters to 0: CONFIG RESETSTAT."""
        self.full = 0
        self.partial_ok = 0
        self.partial_err = 0
        self.full_by_cause: dict[Cause, int] = dict.fromkeys(FULL_RESYNC_CAUSES, 0)

    def count_full(self, cause: Cause, *, with_id: bool) -> None:
        """A full resync was decided. `with_id`: the replica named a replication id, so a partial resync has failed."""
        self.full += 1
        self.full_by_cause[cause] += 1
        self.partial_err += with_id


@final
class FailureMemory:
    """How the last sync or link of each replica ended, by the replica's (ip, port).

    Invariant: at most MAX_REMEMBERED are kept, the latest.
    """

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, int], Reason] = {}

    def remember(self, session: Session) -> None:
        """The session has ended: keep why, if that may be the cause of a full resync.

        Of a pair one connection counts: an RDB connection that ended because its main one did is passed over.
        """
        reason = session.end_reason
        if reason is None or reason.cause not in _WORTH_REMEMBERING or reason.detail == "main_channel":
            return
        if reason.cause is Cause.CONNECTION_LOST and reason.detail == SessionState.ONLINE.wire_name:
            # The replica keeps its position after that, and comes back to be continued.
            return
        name = _name(session)
        # Out and in again: the dict is in the order of the ends, so that the first one is the oldest.
        self._reasons.pop(name, None)
        self._reasons[name] = reason
        if len(self._reasons) > MAX_REMEMBERED:
            del self._reasons[next(iter(self._reasons))]

    def recall(self, session: Session, otherwise: Reason) -> Reason:
        """Why this replica needs a full resync; `otherwise` if nothing is remembered. What is told is forgotten."""
        return self._reasons.pop(_name(session), otherwise)

    def forget(self, session: Session) -> None:
        """The replica was continued, so its last failure caused no full resync: forget it."""
        self._reasons.pop(_name(session), None)

    def __len__(self) -> int:
        return len(self._reasons)


def _name(session: Session) -> tuple[str, int]:
    """By what a replica is recognised when it comes back: the address and port that it told."""
    return (session.ip, session.told.listening_port)
