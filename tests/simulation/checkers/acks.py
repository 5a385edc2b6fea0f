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


def check_honest(who: str, session: Session, replica: str, held_peak: int) -> None:
    """What a master believes to be acknowledged was held by the replica at some time: WAIT counts nothing else."""
    if session.has_acked and session.ack_cut > held_peak:
        raise Broken(f"ack: {who} believes that {replica} holds {session.ack_cut}, it never held more than {held_peak}")
