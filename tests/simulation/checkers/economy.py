"""No full resync that was not needed, and no continuation that was not granted by the bytes."""

from __future__ import annotations

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.history import History
from pyrepl.replication.psync import Reason, Request
from tests.simulation.checkers.broken import Broken
from tests.simulation.ledger import Ledger


def check_economy(
    ledger: Ledger, who: str, request: Request, reason: Reason | None, history: History, backlog: Backlog
) -> None:
    """No full resync while the name was ours up to there and the backlog covered it; no continuation otherwise."""
    known = request.replid == history.replid or (
        request.replid == history.replid2 and history.fork is not None and request.held <= history.fork
    )
    agreed = ledger.agree_up_to(request.replid, history.replid) if request.replid is not None else 0
    if reason is None and request.held > agreed:
        raise Broken(f"economy: {who} continued {request}, but the two streams are one up to {agreed} only")
    can = known and backlog.active and backlog.start <= request.held <= backlog.end
    if can != (reason is None):
        raise Broken(f"economy: {who} answered {request} with {reason}, held is [{backlog.start}, {backlog.end})")
