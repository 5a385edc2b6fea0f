"""Nothing is kept for those that are gone."""

from __future__ import annotations

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.roster import Roster
from tests.simulation.checkers.broken import Broken


def check_left_overs(who: str, roster: Roster, backlog: Backlog, followers: int) -> None:
    """After a long quiet each replica has a session, online; there is no snapshot, no pair, no other pinned stream."""
    sessions = [session.state.wire_name for session in roster.sessions.values()]
    if sessions != ["online"] * followers:
        raise Broken(f"left over: {who} has {followers} replicas and the sessions {sessions}")
    if roster.rdb_channels or roster.pairs.waits or roster.running is not None:
        raise Broken(f"left over: {who}: {roster.rdb_channels}, {roster.pairs.waits}, {roster.running}")
    if len(backlog._cursors) != followers:
        raise Broken(f"left over: {who} pins its stream at {len(backlog._cursors)} cuts for {followers} replicas")
