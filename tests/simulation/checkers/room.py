"""No more full syncs at a time than allowed."""

from __future__ import annotations

from pyrepl.replication.roster import Roster
from tests.simulation.checkers.broken import Broken


def check_room(who: str, roster: Roster) -> None:
    """repl-max-concurrent-syncs is an inclusive bound for replicas whose snapshot is made or sent."""
    limit = roster.options.max_concurrent_syncs
    served = sum(session.takes_snapshot for session in [*roster.sessions.values(), *roster.rdb_channels.values()])
    if limit and served > limit:
        raise Broken(f"room: {who} serves {served} full syncs at a time, allowed are {limit}")
