"""Acknowledged cuts never fall."""

from __future__ import annotations

from pyrepl.replication.session import Session
from tests.simulation.checkers.broken import Broken


class AckWatch:
    """Acknowledged cuts never fall, and never pass what was sent."""

    def __init__(self) -> None:
        self._seen: dict[Session, int] = {}

    def check(self, who: str, session: Session, end: int) -> None:
        before = self._seen.get(session, 0)
        if not before <= session.ack_cut <= end:
            raise Broken(f"ack: {who} had {before}, now {session.ack_cut}, the stream ends at {end}")
        self._seen[session] = session.ack_cut
