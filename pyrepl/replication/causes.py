"""Why there were full resyncs: counted by cause, and remembered for a replica that comes back without a position.

Not here: the verdict on a request (psync.py) and when it is asked for (roster.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.replication.events import SessionState
from pyrepl.replication.psync import FULL_RESYNC_CAUSES, Cause, Reason
from pyrepl.replication.session import Session

MAX_REMEMBERED: Final = 1024
"""Replicas whose last failure is kept."""
_WORTH_REMEMBERING: Final = frozenset(
    {Cause.LOAD_FAILED, Cause.TIMEOUT, Cause.OUTPUT_BUFFER, Cause.CONNECTION_LOST, Cause.SNAPSHOT_FAILED}
)


@final
class SyncCounters:
    """INFO stats: sync_full, sync_partial_ok, sync_partial_err, and sync_full_<cause>."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """CONFIG RESETSTAT."""
        self.full = 0
        self.partial_ok = 0
        self.partial_err = 0
        self.full_by_cause: dict[Cause, int] = dict.fromkeys(FULL_RESYNC_CAUSES, 0)

    def count_full(self, cause: Cause, *, with_id: bool) -> None:
        """A full resync was decided; `with_id`: the replica had hoped to be continued."""
        self.full += 1
        self.full_by_cause[cause] += 1
        self.partial_err += with_id


@final
class FailureMemory:
    """How the last sync or link of each replica ended. Invariant: at most MAX_REMEMBERED are kept, the latest."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, int], Reason] = {}

    def remember(self, session: Session) -> None:
        """The session has ended. Of a pair only the connection counts that did not end for the other's sake."""
        reason = session.end_reason
        if reason is None or reason.cause not in _WORTH_REMEMBERING or reason.detail == "main_channel":
            return
        if reason.cause is Cause.CONNECTION_LOST and reason.detail == SessionState.ONLINE.wire_name:
            return
        name = _name(session)
        self._reasons.pop(name, None)
        self._reasons[name] = reason
        if len(self._reasons) > MAX_REMEMBERED:
            del self._reasons[next(iter(self._reasons))]

    def recall(self, session: Session, otherwise: Reason) -> Reason:
        """Why this replica needs a full resync, which is told once; `otherwise` if nothing is known."""
        return self._reasons.pop(_name(session), otherwise)

    def forget(self, session: Session) -> None:
        """The replica was continued: what had happened is healed."""
        self._reasons.pop(_name(session), None)

    def __len__(self) -> int:
        return len(self._reasons)


def _name(session: Session) -> tuple[str, int]:
    """By what a replica is recognised when it comes back."""
    return (session.ip, session.told.listening_port)
