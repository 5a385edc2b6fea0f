"""No full resync that was not needed, and no continuation that was not granted by the bytes."""

from __future__ import annotations

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.history import History
from pyrepl.replication.psync import Reason, Request
from tests.simulation.checkers.broken import Broken


def check_economy(who: str, request: Request, reason: Reason | None, history: History, backlog: Backlog) -> None:
    """No full resync while the name was ours up to there and the backlog covered it; no continuation otherwise."""
    known = request.replid == history.replid or (
        request.replid == history.replid2 and history.fork is not None and request.held <= history.fork
    )
    can = known and backlog.active and backlog.start <= request.held <= backlog.end
    if can != (reason is None):
        raise Broken(f"economy: {who} answered {request} with {reason}, held is [{backlog.start}, {backlog.end})")
