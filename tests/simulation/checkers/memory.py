"""Backlogs are bounded, and so is what a replica holds of the stream while a snapshot comes."""

from __future__ import annotations

from pyrepl.replication.backlog import BLOCK_SIZE, Backlog
from pyrepl.replication.link import Link
from tests.simulation.checkers.broken import Broken


def check_memory(who: str, backlog: Backlog, hard_limit_bytes: int, slack_bytes: int) -> None:
    """A backlog is bounded by its size, or by what the slowest replica may pin."""
    most = max(backlog.capacity, hard_limit_bytes) + slack_bytes
    if backlog.held_bytes > most:
        raise Broken(f"memory: {who} holds {backlog.held_bytes} stream bytes, allowed are {most}")
    if backlog.memory_bytes > most + 3 * BLOCK_SIZE + 64 * (BLOCK_SIZE + most):
        raise Broken(f"memory: {who} needs {backlog.memory_bytes} bytes for {backlog.held_bytes}")


def check_buffer(who: str, link: Link, slack_bytes: int) -> None:
    """At its limit a replica stops reading; one read may go beyond. What is counted is what is held."""
    held, limit = link.sync_buffer_bytes, link.options.sync_buffer_limit_bytes
    if held > limit + slack_bytes:
        raise Broken(f"memory: {who} holds {held} bytes of stream for later, allowed are {limit}")
    if held != link.buffer_use.size_bytes:
        raise Broken(f"memory: {who} holds {held} bytes of stream for later and counts {link.buffer_use.size_bytes}")
