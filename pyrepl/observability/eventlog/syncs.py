"""What both ends of a sync know of it, each by itself: its name, and how it goes.

The name is made of the replica's end of the (first) connection, which the master sees as its other end, and of what
was asked. Where addresses are translated in between, the two names differ; then replid, snapshot_offset and the
announced address of the replica tell what belongs together.
"""

from __future__ import annotations

from typing import Final

from pyrepl.replication.psync import Reason, Request

MASTER: Final = "master"
REPLICA: Final = "replica"

CONTINUE: Final = "continue"
FULL_DISK: Final = "full_disk"
FULL_DISKLESS: Final = "full_diskless"

_ID_DIGITS: Final = 8


def sync_name(conn: str, request: Request) -> str:
    """`10.0.0.2:43122/8371445e:1034`, or `10.0.0.2:43122/?` for a request without an id. Unique as long as the system
    does not use the replica's port again."""
    if request.replid is None:
        return f"{conn}/?"
    return f"{conn}/{request.replid[:_ID_DIGITS].lower()}:{request.held}"


def parts(reason: Reason | None) -> tuple[str | None, str | None, int | None]:
    """A reason as the fields cause, detail and by_bytes; what says nothing is None."""
    if reason is None:
        return None, None, None
    return reason.cause.value, reason.detail or None, reason.by_bytes or None


def in_ms(since: float | None, now: float) -> int:
    """Whole milliseconds between two points of the monotonic clock; 0 if nobody noted the first."""
    return 0 if since is None else max(0, round((now - since) * 1000))
