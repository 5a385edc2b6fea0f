"""Backlogs are bounded."""

from __future__ import annotations

from pyrepl.replication.backlog import BLOCK_SIZE, Backlog
from tests.simulation.checkers.broken import Broken


def check_memory(who: str, backlog: Backlog, hard_limit_bytes: int, slack_bytes: int) -> None:
    """A backlog is bounded by its size, or by what the slowest replica may pin."""
    most = max(backlog.capacity, hard_limit_bytes) + slack_bytes
    if backlog.held_bytes > most:
        raise Broken(f"memory: {who} holds {backlog.held_bytes} stream bytes, allowed are {most}")
    if backlog.memory_bytes > most + 3 * BLOCK_SIZE + 64 * (BLOCK_SIZE + most):
        raise Broken(f"memory: {who} needs {backlog.memory_bytes} bytes for {backlog.held_bytes}")
