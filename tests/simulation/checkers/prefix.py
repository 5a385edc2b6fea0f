"""What is applied is exactly what the master wrote there."""

from __future__ import annotations

from pyrepl.replication.events import Apply
from tests.simulation.checkers.broken import Broken
from tests.simulation.ledger import Ledger


def check_prefix(ledger: Ledger, who: str, replid: str, apply: Apply) -> None:
    """What is applied is exactly what the master wrote at that place of that stream."""
    truth = ledger.bytes_of(replid, apply.start, apply.end)
    if truth != apply.raw:
        raise Broken(f"prefix: {who} applies {apply.raw!r} at {apply.start} of {replid[:8]}, written was {truth!r}")
