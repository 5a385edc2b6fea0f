"""What must hold whatever the network does. Each check raises Broken with what it saw."""

from __future__ import annotations

from pyrepl.replication.backlog import BLOCK_SIZE, Backlog
from pyrepl.replication.events import Apply
from pyrepl.replication.history import History
from pyrepl.replication.psync import Reason, Request
from pyrepl.replication.session import Session
from tests.simulation.data import Data
from tests.simulation.ledger import Ledger


class Broken(AssertionError):
    """A property does not hold."""


def check_prefix(ledger: Ledger, who: str, replid: str, apply: Apply) -> None:
    """What is applied is exactly what the master wrote at that place of that stream."""
    truth = ledger.bytes_of(replid, apply.start, apply.end)
    if truth != apply.raw:
        raise Broken(f"prefix: {who} applies {apply.raw!r} at {apply.start} of {replid[:8]}, written was {truth!r}")


def check_units(who: str, apply: Apply) -> None:
    """A transaction is applied as a whole."""
    names = [command[0] for command in apply.commands]
    if names.count(b"MULTI") != names.count(b"EXEC"):
        raise Broken(f"units: {who} applies {names} at {apply.start}")


def check_economy(who: str, request: Request, reason: Reason | None, history: History, backlog: Backlog) -> None:
    """No full resync while the name was ours up to there and the backlog covered it; no continuation otherwise."""
    known = request.replid == history.replid or (
        request.replid == history.replid2 and history.fork is not None and request.held <= history.fork
    )
    can = known and backlog.active and backlog.start <= request.held <= backlog.end
    if can != (reason is None):
        raise Broken(f"economy: {who} answered {request} with {reason}, held is [{backlog.start}, {backlog.end})")


class AckWatch:
    """Acknowledged cuts never fall, and never pass what was sent."""

    def __init__(self) -> None:
        self._seen: dict[Session, int] = {}

    def check(self, who: str, session: Session, end: int) -> None:
        before = self._seen.get(session, 0)
        if not before <= session.ack_cut <= end:
            raise Broken(f"ack: {who} had {before}, now {session.ack_cut}, the stream ends at {end}")
        self._seen[session] = session.ack_cut


def check_memory(who: str, backlog: Backlog, hard_limit_bytes: int, slack_bytes: int) -> None:
    """A backlog is bounded by its size, or by what the slowest replica may pin."""
    most = max(backlog.capacity, hard_limit_bytes) + slack_bytes
    if backlog.held_bytes > most:
        raise Broken(f"memory: {who} holds {backlog.held_bytes} stream bytes, allowed are {most}")
    if backlog.memory_bytes > most + 3 * BLOCK_SIZE + 64 * (BLOCK_SIZE + most):
        raise Broken(f"memory: {who} needs {backlog.memory_bytes} bytes for {backlog.held_bytes}")


def check_convergence(
    master: str, truth: Data, place: tuple[str, int], who: str, data: Data, at: tuple[str, int]
) -> None:
    """Quiet replicas hold the master's data at the master's place."""
    if place != at or truth.databases != data.databases:
        raise Broken(
            f"convergence: {master} is at {place}, {who} at {at}; equal data: {truth.databases == data.databases}"
        )
